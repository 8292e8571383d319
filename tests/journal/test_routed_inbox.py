"""The operator's side for a host program: every call returns once it is stored (A1, A5, A6, A10, A12)."""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec
import pytest

from dashboard.core.errors import JournalError, SendRefusedError
from dashboard.core.events import MessageQueued, RunStarted
from dashboard.core.labels import RunRef
from dashboard.core.mail import Boundary, BoundaryKind, RunInbox
from dashboard.core.messages import Lane, MessageState, Preset, Receipt, Refusal, Sender, SenderKind
from dashboard.core.outcomes import Outcome
from dashboard.journal import schema
from dashboard.journal.memory import MemoryWriter
from dashboard.journal.routed_inbox import RoutedInbox
from dashboard.journal.writer import ThreadWriter
from tests.conftest import FakeClock
from tests.journal.conftest import AnyWriter, of, records_of

AFTER_TOOLS = Boundary(BoundaryKind.AFTER_TOOLS, turn=1, round=2, history_index=0)
TURN_OPEN = Boundary(BoundaryKind.TURN_OPEN, turn=1, round=1, history_index=0)


def start(inbox: RoutedInbox, *ordinals: int) -> None:
    for number in ordinals:
        inbox.emit(RunStarted(run_id=f"run_{number}", label="crew", ordinal=number, task="t", max_iterations=3))


async def read(inbox: RoutedInbox, run_id: str, boundary: Boundary = AFTER_TOOLS) -> list[str]:
    return [delivered.text for delivered in await inbox.open_run(run_id).take(boundary)]


async def test_alone_it_keeps_everything_in_memory() -> None:
    inbox = RoutedInbox()
    start(inbox, 1)
    receipt = inbox.steer("crew", "hello")
    assert await read(inbox, "run_1") == ["hello"]
    found = inbox.message(receipt.message_id)
    assert found is not None
    assert (found.state, found.sender) == (MessageState.DELIVERED, Sender(SenderKind.OPERATOR, "operator"))


def test_it_brings_its_runs_mail_itself(inbox: RoutedInbox) -> None:
    assert isinstance(inbox, RunInbox)


class TestSending:
    async def test_the_presets_are_the_lanes_and_wakes_that_they_name(self, inbox: RoutedInbox) -> None:
        start(inbox, 1)
        inbox.steer("crew", "x")
        inbox.followup("crew", "y")
        inbox.inject("crew", "z")
        assert [(message.body, message.lane, message.wake) for message in inbox.messages()] == [
            ("x", Lane.NEXT_STEP, True),
            ("y", Lane.NEXT_TURN, True),
            ("z", Lane.NEXT_STEP, False),
        ]
        assert await read(inbox, "run_1", TURN_OPEN) == ["y", "x", "z"]

    def test_the_primitive_allows_the_fourth_combination_and_a_time(
        self, inbox: RoutedInbox, clock: FakeClock
    ) -> None:
        start(inbox, 1)
        inbox.send("crew", "whenever", Lane.NEXT_TURN, wake=False, expires_at=clock() + 1)
        (message,) = inbox.messages()
        assert (message.lane, message.wake, message.expires_at) == (Lane.NEXT_TURN, False, clock() + 1)
        assert message.sender == Sender(SenderKind.OPERATOR, "ana")

    def test_a_refusal_names_its_reason_and_stores_nothing(self, inbox: RoutedInbox) -> None:
        start(inbox, 1, 2)
        for to, text, refusal in (
            ("nobody", "hello", Refusal.UNKNOWN),
            ("crew", "hello", Refusal.AMBIGUOUS),
            ("crew#1", " \n", Refusal.EMPTY),
        ):
            with pytest.raises(SendRefusedError) as refused:
                inbox.steer(to, text)
            assert refused.value.refusal is refusal
        assert inbox.messages() == ()

    def test_a_broadcast_goes_to_the_runs_that_it_is_given(self, inbox: RoutedInbox) -> None:
        start(inbox, 1, 2, 3)
        shown = inbox.runs()[:2]
        inbox.end_run("run_2", Outcome.ANSWERED)
        one, two = inbox.broadcast(shown, "all of you: stop", Preset.FOLLOWUP)
        assert (one.refusal, two.refusal) == (None, Refusal.RUN_ENDED)
        (message,) = inbox.messages()
        assert (message.to, message.lane) == ("crew#1", Lane.NEXT_TURN)
        assert message.batch_id == one.part.message.batch_id == two.part.message.batch_id


class TestAmending:
    async def test_every_amendment_of_an_open_message_gives_its_receipt(self, inbox: RoutedInbox) -> None:
        start(inbox, 1)
        one, two, three = (inbox.followup("crew", text).message_id for text in ("one", "two", "three"))
        assert inbox.withdraw(one) == Receipt(one, "crew#1", "run_1", MessageState.WITHDRAWN)
        assert inbox.edit(two, "TWO").state is MessageState.QUEUED
        assert inbox.promote(three).state is MessageState.QUEUED
        assert inbox.hold(two).state is MessageState.QUEUED
        assert await read(inbox, "run_1", TURN_OPEN) == ["three"]
        inbox.release(two)
        assert await read(inbox, "run_1", msgspec.structs.replace(TURN_OPEN, history_index=1)) == ["TWO"]

    async def test_what_was_read_is_too_late_to_amend(self, inbox: RoutedInbox) -> None:
        start(inbox, 1)
        message_id = inbox.steer("crew", "hello").message_id
        await read(inbox, "run_1")
        with pytest.raises(SendRefusedError, match="was read in round 2") as refused:
            inbox.withdraw(message_id)
        assert refused.value.refusal is Refusal.TOO_LATE


class TestReading:
    def test_runs_are_given_with_what_can_be_written_to(self, inbox: RoutedInbox) -> None:
        start(inbox, 1, 2)
        inbox.end_run("run_1", Outcome.ANSWERED)
        assert inbox.runs() == [
            RunRef("run_1", "crew", 1, False, True),
            RunRef("run_2", "crew", 2, True, True),
        ]

    def test_messages_are_given_in_the_order_of_acceptance_whatever_became_of_them(
        self, inbox: RoutedInbox
    ) -> None:
        start(inbox, 1)
        for text in ("one", "two"):
            inbox.followup("crew", text)
        first, second = inbox.messages()
        inbox.promote(first.id)
        inbox.withdraw(second.id)
        assert [message.body for message in inbox.messages()] == ["one", "two"]
        assert inbox.message("msg_nobody_knows") is None


class TestAnAgentsSide:
    async def test_its_mail_carries_its_run_and_resets_no_budget(
        self, inbox: RoutedInbox, writer: AnyWriter
    ) -> None:
        start(inbox, 1, 2)
        inbox.as_agent("run_1").steer("crew#2", "from your sister")
        assert [event.sender for event in of(records_of(writer), MessageQueued)] == [
            Sender(SenderKind.AGENT, "crew#1", "run_1")
        ]
        (delivered,) = await inbox.open_run("run_2").take(AFTER_TOOLS)
        assert (delivered.wakes, delivered.resets_budget) == (True, False)

    def test_it_cannot_change_what_an_operator_wrote(self, inbox: RoutedInbox) -> None:
        start(inbox, 1, 2)
        message_id = inbox.steer("crew#2", "stop").message_id
        with pytest.raises(SendRefusedError) as refused:
            inbox.as_agent("run_1").edit(message_id, "go on")
        assert refused.value.refusal is Refusal.UNKNOWN

    def test_a_run_that_never_started_has_none(self, inbox: RoutedInbox) -> None:
        with pytest.raises(SendRefusedError) as refused:
            inbox.as_agent("run_9")
        assert refused.value.refusal is Refusal.UNKNOWN


def test_ordinals_are_counted_once_each_from_any_thread() -> None:
    inbox = RoutedInbox()
    given: list[int] = []

    def count() -> None:
        given.extend(inbox.next_ordinal("crew") for _ in range(200))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(given) == list(range(1, 801))


async def test_a_message_and_a_boundary_race_and_the_message_is_read_or_withdrawn_and_never_both(
    clock: FakeClock,
) -> None:
    inbox = RoutedInbox(MemoryWriter(clock), clock=clock)
    start(inbox, 1)
    outcomes: dict[str, str] = {}
    sent: list[str] = []
    told = threading.Semaphore(0)

    def withdraw_each() -> None:
        for number in range(1_000):
            told.acquire()
            try:
                inbox.withdraw(sent[number])
                outcomes[sent[number]] = "withdrawn"
            except SendRefusedError as refused:
                outcomes[sent[number]] = str(refused.refusal)

    withdrawing = threading.Thread(target=withdraw_each)
    withdrawing.start()
    read_texts: list[str] = []
    for number in range(1_000):
        sent.append(inbox.steer("crew", str(number)).message_id)
        told.release()
        read_texts += await read(inbox, "run_1", msgspec.structs.replace(AFTER_TOOLS, history_index=number))
    withdrawing.join()
    for number, message_id in enumerate(sent):
        was_read = str(number) in read_texts
        assert outcomes[message_id] == ("too_late" if was_read else "withdrawn")


def test_a_call_after_the_writer_has_ended_fails_and_does_not_hang(tmp_path: Path, clock: FakeClock) -> None:
    path = tmp_path / "journal.db"
    schema.create(path).close()
    writer = ThreadWriter(path, clock)
    inbox = RoutedInbox(writer, clock=clock)
    writer.close()
    with pytest.raises(JournalError, match="writer has ended"):
        inbox.messages()
