"""A message is accepted for exactly one run, or refused and not stored (A1, A3, A5, A6, A14)."""

from __future__ import annotations

import msgspec
import pytest

from dashboard.core.errors import SendRefusedError
from dashboard.core.events import HostStarted, MessageBound, MessageQueued, RunFinished, SessionClosed
from dashboard.core.mail import BoundaryKind
from dashboard.core.messages import Edit, MessageState, Preset, Receipt, Refusal, Withdraw
from dashboard.core.outcomes import Outcome
from dashboard.core.sessions import BatchPart, BatchResult
from dashboard.journal import mailroom
from tests.journal.conftest import ANA, Desk

R1, R2 = "run_1", "run_2"
RESEARCHER = "subagent-researcher"


def two_researchers(desk: Desk) -> None:
    desk.start(R1, RESEARCHER, 1)
    desk.start(R2, RESEARCHER, 2)


class TestAddressing:
    def test_a_run_reads_only_its_own_mail(self, desk: Desk) -> None:
        two_researchers(desk)
        desk.send(f"{RESEARCHER}#2", "check worker.log instead")
        assert desk.take(R1) == []
        assert desk.take(R2) == ["check worker.log instead"]

    def test_a_bare_label_with_two_live_runs_is_refused_and_both_are_named(self, desk: Desk) -> None:
        two_researchers(desk)
        with pytest.raises(SendRefusedError) as refused:
            desk.send(RESEARCHER, "hello")
        assert refused.value.refusal is Refusal.AMBIGUOUS
        assert refused.value.candidates == (f"{RESEARCHER}#1", f"{RESEARCHER}#2")
        assert desk.ledger.messages() == []

    def test_a_bare_label_with_one_live_run_is_that_run_for_good(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER, 1)
        receipt = desk.send(RESEARCHER, "hello")
        desk.start(R2, RESEARCHER, 2)
        assert (receipt.run_id, receipt.to) == (R1, f"{RESEARCHER}#1")
        assert desk.take(R2) == []
        assert desk.take(R1) == ["hello"]

    def test_the_event_tells_the_address_as_it_was_written_where_that_is_not_the_name(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        for address in (RESEARCHER, f"{RESEARCHER}#1"):
            desk.send(address, "hello")
        assert [(event.to, event.address) for event in desk.events(MessageQueued)] == [
            (f"{RESEARCHER}#1", RESEARCHER),
            (f"{RESEARCHER}#1", ""),
        ]
        assert [message.address for message in desk.ledger.messages()] == [RESEARCHER, f"{RESEARCHER}#1"]

    def test_a_declared_label_without_a_run_waits_and_binds_to_the_first_that_starts(self, desk: Desk) -> None:
        desk.append(HostStarted(pid=1, version="0", title="t", labels=("subagent-writer", "subagent-other")))
        receipt = desk.send("subagent-writer", "keep it short")
        desk.send("subagent-other", "not for the writer")
        assert receipt == Receipt("msg_001", "subagent-writer", None, MessageState.UNBOUND)
        desk.start("run_w", "subagent-writer")
        assert desk.events(MessageBound) == [
            MessageBound(message_id="msg_001", run_id="run_w", to="subagent-writer#1")
        ]
        assert desk.stored("msg_001").to == "subagent-writer#1"
        assert desk.take("run_w", BoundaryKind.TURN_OPEN) == ["keep it short"]
        assert desk.state("msg_002") == ("unbound", None)

    def test_unbound_mail_passes_a_run_by_that_does_not_read(self, desk: Desk) -> None:
        desk.append(HostStarted(pid=1, version="0", title="t", labels=("subagent-writer",)))
        desk.send("subagent-writer", "keep it short")
        desk.start(R1, "subagent-writer", 1, reading=False)
        assert desk.state("msg_001") == ("unbound", None)

    @pytest.mark.parametrize(
        ("address", "refusal"),
        [
            ("subagent-nobody", Refusal.UNKNOWN),
            (f"{RESEARCHER}#9", Refusal.UNKNOWN),
            ("#2", Refusal.UNKNOWN),
            ("", Refusal.UNKNOWN),
            ("run_ended", Refusal.RUN_ENDED),
            ("subagent-deaf", Refusal.NOT_READING),
        ],
    )
    def test_an_address_that_cannot_be_read_is_refused_and_nothing_is_stored(
        self, desk: Desk, address: str, refusal: Refusal
    ) -> None:
        desk.start("run_ended", "subagent-done")
        desk.append(RunFinished(run_id="run_ended", outcome=Outcome.ANSWERED))
        desk.start("run_deaf", "subagent-deaf", reading=False)
        before = len(desk.events())
        with pytest.raises(SendRefusedError) as refused:
            desk.send(address, "hello")
        assert refused.value.refusal is refusal
        assert len(desk.events()) == before

    def test_a_session_that_is_over_refuses_everything(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        desk.append(SessionClosed(reason="done"))
        with pytest.raises(SendRefusedError, match="closed") as refused:
            desk.send(R1, "hello")
        assert refused.value.refusal is Refusal.RUN_ENDED


class TestAcceptance:
    def test_one_id_sent_twice_is_one_message_and_the_same_receipt(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        message = desk.message("hello")
        assert desk.send(R1, message) == desk.send(R1, message)
        assert desk.take(R1) == ["hello"]

    def test_a_retry_after_the_delivery_says_so_and_delivers_nothing_again(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        message = desk.message("hello")
        first = desk.send(R1, message)
        desk.take(R1)
        assert desk.send(R1, message) == msgspec.structs.replace(first, state=MessageState.DELIVERED)
        assert desk.take(R1) == []

    def test_a_retry_after_an_edit_is_known_by_what_was_sent_first(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        message = desk.message("hello")
        first = desk.send(R1, message)
        desk.amend(message.id, Edit("goodbye"))
        assert desk.send(R1, message) == first
        assert desk.take(R1) == ["goodbye"]

    def test_a_retry_after_a_withdrawal_does_not_bring_the_message_back(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        message = desk.message("hello")
        desk.send(R1, message)
        desk.amend(message.id, Withdraw())
        assert desk.send(R1, message).state is MessageState.WITHDRAWN
        assert desk.take(R1) == []

    def test_a_retry_is_answered_also_after_its_run_has_ended(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        message = desk.message("hello", Preset.INJECT)
        desk.send(R1, message)
        desk.finish(R1)
        assert desk.send(R1, message).state is MessageState.UNDELIVERABLE

    @pytest.mark.parametrize("change", [{"body": "other"}, {"wake": False}, {"expires_at": 1}, {"batch_id": "b"}])
    def test_an_id_with_other_content_is_an_error(self, desk: Desk, change: dict[str, object]) -> None:
        desk.start(R1, RESEARCHER)
        message = desk.message("hello")
        desk.send(R1, message)
        with pytest.raises(SendRefusedError) as refused:
            desk.send(R1, msgspec.structs.replace(message, **change))
        assert refused.value.refusal is Refusal.ID_REUSED

    def test_an_id_with_another_address_is_an_error(self, desk: Desk) -> None:
        two_researchers(desk)
        message = desk.message("hello")
        desk.send(R1, message)
        with pytest.raises(SendRefusedError) as refused:
            desk.send(R2, message)
        assert refused.value.refusal is Refusal.ID_REUSED

    @pytest.mark.parametrize(
        ("body", "refusal"),
        [
            ("", Refusal.EMPTY),
            (" \n\t", Refusal.EMPTY),
            ("x" * 65_537, Refusal.TOO_LARGE),
            ("é" * 32_769, Refusal.TOO_LARGE),
        ],
    )
    def test_a_body_that_is_empty_or_too_large_is_refused(self, desk: Desk, body: str, refusal: Refusal) -> None:
        desk.start(R1, RESEARCHER)
        with pytest.raises(SendRefusedError) as refused:
            desk.send(R1, body)
        assert refused.value.refusal is refusal
        assert desk.ledger.messages() == []

    def test_a_body_of_exactly_64_kib_is_accepted(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        desk.send(R1, "x" * 65_536)
        assert [len(text) for text in desk.take(R1)] == [65_536]

    def test_a_lone_surrogate_is_replaced_and_a_retry_is_still_the_same_message(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        message = desk.message("a\ud800b")
        assert desk.send(R1, message) == desk.send(R1, message)
        assert desk.take(R1) == ["a\ufffdb"]

    def test_the_1001st_open_message_is_refused_and_none_of_the_others_is_evicted(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        for number in range(1_000):
            desk.send(R1, f"m{number}")
        with pytest.raises(SendRefusedError) as refused:
            desk.send(R1, "one more")
        assert refused.value.refusal is Refusal.FULL
        read = [text for _ in range(32) for text in desk.take(R1)]
        assert read == [f"m{number}" for number in range(1_000)]

    def test_a_label_that_waits_for_its_run_is_full_at_1000_too(self, desk: Desk) -> None:
        desk.append(HostStarted(pid=1, version="0", title="t", labels=("subagent-writer",)))
        with desk.ledger.transaction():
            for number in range(1_000):
                message = desk.message(f"m{number}")
                mailroom.accept(desk.ledger, "subagent-writer", message, desk.clock())
        with pytest.raises(SendRefusedError) as refused:
            desk.send("subagent-writer", "one more")
        assert refused.value.refusal is Refusal.FULL

    def test_two_identical_texts_are_two_messages(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        desk.send(R1, "again")
        desk.send(R1, "again")
        assert desk.take(R1) == ["again", "again"]


class TestBroadcast:
    def broadcast(self, desk: Desk, *run_ids: str) -> tuple[BatchResult, ...]:
        batch = [
            BatchPart(
                run_id, run_id, msgspec.structs.replace(desk.message("all of you: stop"), batch_id="batch_1")
            )
            for run_id in run_ids
        ]
        with desk.ledger.transaction():
            return mailroom.broadcast(desk.ledger, batch, desk.clock())

    def test_each_recipient_gets_a_message_of_its_own_under_one_batch_id(self, desk: Desk) -> None:
        two_researchers(desk)
        results = self.broadcast(desk, R1, R2)
        assert [result.receipt for result in results] == [
            Receipt("msg_001", f"{RESEARCHER}#1", R1, MessageState.QUEUED),
            Receipt("msg_002", f"{RESEARCHER}#2", R2, MessageState.QUEUED),
        ]
        assert [event.batch_id for event in desk.events(MessageQueued)] == ["batch_1", "batch_1"]
        assert [message.batch_id for message in desk.ledger.messages()] == ["batch_1", "batch_1"]
        desk.take(R1)
        assert [desk.state(f"msg_00{n}")[0] for n in (1, 2)] == ["delivered", "queued"]

    def test_a_recipient_that_has_ended_is_refused_and_stops_no_other(self, desk: Desk) -> None:
        two_researchers(desk)
        desk.start("run_3", RESEARCHER, 3)
        desk.finish(R2)
        one, two, three = self.broadcast(desk, R1, R2, "run_3")
        assert (one.refusal, two.refusal, three.refusal) == (None, Refusal.RUN_ENDED, None)
        assert two.receipt is None
        assert "has ended" in two.what
        assert [message.run_id for message in desk.ledger.messages()] == [R1, "run_3"]

    def test_a_broadcast_that_is_sent_again_is_stored_once(self, desk: Desk) -> None:
        two_researchers(desk)
        first = self.broadcast(desk, R1, R2)
        with desk.ledger.transaction():
            again = mailroom.broadcast(desk.ledger, [result.part for result in first], desk.clock())
        assert again == first
        assert len(desk.ledger.messages()) == 2


def test_a_message_can_be_read_from_the_ledger_whatever_became_of_it(desk: Desk) -> None:
    desk.start(R1, RESEARCHER)
    desk.send(R1, desk.message("  as typed\n", expires_in=60))
    desk.finish(R1, Outcome.CANCELLED)
    message = desk.stored("msg_001")
    assert (message.body, message.sender, message.composed_at) == ("  as typed\n", ANA, desk.clock())
    assert (message.to, message.label, message.run_id) == (f"{RESEARCHER}#1", RESEARCHER, R1)
    assert message.expires_at == desk.clock() + 60_000_000
    assert desk.state("msg_001") == ("undeliverable", "cancelled")
    assert desk.ledger.message("msg_999") is None
