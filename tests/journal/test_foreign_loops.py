"""``RoutedInbox.reader`` in a loop that is not ours: it knows the protocol alone (P1, P2, P4, A1, A15)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

from dashboard.core.errors import JournalError, SendRefusedError
from dashboard.core.events import HistoryAppended, NoticeRaised, RunFinished, RunStarted
from dashboard.core.history import User
from dashboard.core.inbox import Drain, Inbox, check_inbox
from dashboard.core.labels import RunRef
from dashboard.core.messages import MessageState, Refusal
from dashboard.core.outcomes import Outcome
from dashboard.journal import foreign_drain, mailroom
from dashboard.journal.jobs import Job
from dashboard.journal.ledger import Ledger, StoredMessage
from dashboard.journal.memory import MemoryWriter
from dashboard.journal.routed_inbox import RoutedInbox, foreign_run
from tests.conftest import FakeClock
from tests.journal.conftest import AnyWriter, of, records_of
from tests.journal.fakes import FakeWriter


@contextlib.contextmanager
def bound(run_id: str) -> Iterator[None]:
    """What an adapter does around a loop that it runs."""
    token = foreign_run.set(run_id)
    try:
        yield
    finally:
        foreign_run.reset(token)


def foreign_loop(inbox: Inbox, label: str | None, rounds: int, between: Callable[[int], object]) -> list[str]:
    """Run a loop as the seed has it: a reader, a drain after each tool round, one user message per drain."""
    drain = inbox.reader(label)
    history: list[str] = []
    for number in range(1, rounds + 1):
        history.append(f"round {number}")
        between(number)
        text = "\n\n".join(stripped for text in drain() if (stripped := text.strip()))
        if text:
            history.append(text)
    return history


def message(inbox: RoutedInbox, message_id: str) -> StoredMessage:
    found = inbox.message(message_id)
    assert found is not None
    return found


class TestARunOfItsOwn:
    def test_it_is_an_inbox_as_the_protocol_has_it(self, inbox: RoutedInbox) -> None:
        assert isinstance(inbox, Inbox)
        check_inbox(inbox, "Agent(inbox=...)")

    def test_opening_the_reader_starts_a_run_that_can_be_written_to(self, inbox: RoutedInbox) -> None:
        drain = inbox.reader("researcher")
        (run,) = inbox.runs()
        assert (run.name, run.live, run.reading) == ("researcher#1", True, True)
        inbox.steer("researcher", "check worker.log instead")
        assert drain() == ["check worker.log instead"]

    def test_mail_that_was_sent_before_it_started_is_bound_to_it(self, inbox: RoutedInbox) -> None:
        inbox.reader("researcher")  # let go of at once: the label is known from here on
        receipt = inbox.steer("researcher", "for the next one")
        assert receipt.state is MessageState.UNBOUND
        drain = inbox.reader("researcher")
        assert drain() == ["for the next one"]

    def test_two_runs_of_one_label_read_their_own_mail(self, inbox: RoutedInbox) -> None:
        first, second = inbox.reader("researcher"), inbox.reader("researcher")
        inbox.steer("researcher#2", "for the second")
        assert first() == []
        assert second() == ["for the second"]

    def test_a_loop_without_a_name_is_a_subagent(self, inbox: RoutedInbox) -> None:
        drain = inbox.reader()
        inbox.steer("subagent", "hello")
        assert drain() == ["hello"]

    def test_its_ordinal_is_counted_with_those_of_our_own_runs(self, inbox: RoutedInbox) -> None:
        assert inbox.next_ordinal("crew") == 1
        inbox.emit(RunStarted(run_id="run_1", label="crew", ordinal=1, task="t", max_iterations=1))
        drain = inbox.reader("crew")
        assert inbox.next_ordinal("crew") == 3
        assert [run.name for run in inbox.runs()] == ["crew#1", "crew#2"]
        assert drain() == []

    def test_an_ordinal_that_somebody_else_counted_is_not_given_again(self, inbox: RoutedInbox) -> None:
        inbox.emit(RunStarted(run_id="run_1", label="crew", ordinal=7, task="t", max_iterations=1))
        assert inbox.next_ordinal("crew") == 8

    def test_a_whole_loop_reads_what_comes_between_its_rounds(self, inbox: RoutedInbox) -> None:
        sends = {1: "check worker.log instead", 3: "and be brief"}

        def between(number: int) -> None:
            if number in sends:
                inbox.steer("crew", sends[number])

        assert foreign_loop(inbox, "crew", 4, between) == [
            "round 1", "check worker.log instead", "round 2", "round 3", "and be brief", "round 4",
        ]  # fmt: skip
        assert [(stored.state, stored.round) for stored in inbox.messages()] == [
            (MessageState.DELIVERED, 1),
            (MessageState.DELIVERED, 2),
        ]


class TestItsEnd:
    def test_what_it_took_is_delivered_once_an_adapter_says_that_it_ended_well(
        self, inbox: RoutedInbox, writer: AnyWriter
    ) -> None:
        drain = inbox.reader("crew")
        (run,) = inbox.runs()
        sent = inbox.steer("crew", "hello")
        drain()
        inbox.end_run(run.run_id, Outcome.ANSWERED, "done")
        assert message(inbox, sent.message_id).state is MessageState.DELIVERED
        records = records_of(writer)
        assert of(records, HistoryAppended) == [HistoryAppended(run_id=run.run_id, index=0, entry=User("hello"))]
        assert of(records, RunFinished) == [
            RunFinished(run_id=run.run_id, outcome=Outcome.ANSWERED, answer="done")
        ]
        assert drain() == []

    def test_what_it_took_is_in_doubt_once_an_adapter_says_that_it_failed(self, inbox: RoutedInbox) -> None:
        drain = inbox.reader("crew")
        (run,) = inbox.runs()
        taken = inbox.steer("crew", "taken")
        drain()
        waiting = inbox.steer("crew", "waiting")
        inbox.end_run(run.run_id, Outcome.ERROR, error="it broke")
        assert message(inbox, taken.message_id).reason == "in_doubt"
        assert message(inbox, waiting.message_id).reason == "run_ended"
        with pytest.raises(SendRefusedError) as refused:
            inbox.steer("crew#1", "too late")
        assert refused.value.refusal is Refusal.RUN_ENDED

    def test_a_loop_that_lets_go_of_its_drain_has_ended_and_nobody_knows_how(
        self, inbox: RoutedInbox, writer: AnyWriter
    ) -> None:
        drain: Drain | None = inbox.reader("crew")
        assert drain is not None
        taken = inbox.steer("crew", "taken")
        drain()
        waiting = inbox.inject("crew", "waiting")
        drain = None
        assert [run.live for run in inbox.runs()] == [False]
        assert message(inbox, taken.message_id).reason == "in_doubt"
        assert message(inbox, waiting.message_id).reason == "run_ended"
        (end,) = of(records_of(writer), RunFinished)
        assert (end.outcome, end.error) == (
            Outcome.ERROR,
            "its loop let go of its reader, and did not say how it ended",
        )

    def test_a_run_that_was_ended_does_not_end_again_when_its_drain_is_let_go_of(
        self, inbox: RoutedInbox, writer: AnyWriter
    ) -> None:
        drain: Drain | None = inbox.reader("crew")
        assert drain is not None
        inbox.end_run(inbox.runs()[0].run_id, Outcome.ANSWERED)
        drain = None
        assert len(of(records_of(writer), RunFinished)) == 1

    def test_all_that_live_are_ended_with_the_session(self, inbox: RoutedInbox, writer: AnyWriter) -> None:
        first, second = inbox.reader("crew"), inbox.reader("crew")
        ended = inbox.runs()[0].run_id
        inbox.end_run(ended, Outcome.ANSWERED)
        inbox.end_foreign_runs("the session was closed")
        assert [(end.outcome, end.error) for end in of(records_of(writer), RunFinished)] == [
            (Outcome.ANSWERED, ""),
            (Outcome.ERROR, "the session was closed"),
        ]
        assert first() == second() == []


class TestARunThatAnAdapterBound:
    @pytest.fixture
    def run_id(self, inbox: RoutedInbox) -> str:
        ordinal = inbox.next_ordinal("crew")
        inbox.emit(RunStarted(run_id="run_b", label="crew", ordinal=ordinal, task="look", max_iterations=5))
        return "run_b"

    def test_the_reader_opens_it_whatever_label_the_loop_passes(self, inbox: RoutedInbox, run_id: str) -> None:
        with bound(run_id):
            drain = inbox.reader("whatever the framework calls it")
        assert inbox.runs() == [RunRef(run_id, "crew", 1, True, True)]
        inbox.steer("crew", "hello")
        assert drain() == ["hello"]

    def test_it_outlives_its_drain_because_the_adapter_ends_it(
        self, inbox: RoutedInbox, run_id: str, writer: AnyWriter
    ) -> None:
        with bound(run_id):
            drain: Drain | None = inbox.reader("crew")
        assert drain is not None
        sent = inbox.steer("crew", "hello")
        drain()
        drain = None
        assert inbox.runs()[0].live
        inbox.end_run(run_id, Outcome.ANSWERED)
        assert message(inbox, sent.message_id).state is MessageState.DELIVERED
        assert len(of(records_of(writer), RunFinished)) == 1

    def test_an_adapter_may_end_it_by_its_event_as_well(
        self, inbox: RoutedInbox, run_id: str, writer: AnyWriter
    ) -> None:
        with bound(run_id):
            inbox.reader("crew")
        inbox.emit(RunFinished(run_id=run_id, outcome=Outcome.CANCELLED))
        inbox.end_foreign_runs("the session was closed")
        assert [end.outcome for end in of(records_of(writer), RunFinished)] == [Outcome.CANCELLED]

    def test_one_that_the_adapter_forgot_is_ended_with_the_session(self, inbox: RoutedInbox, run_id: str) -> None:
        with bound(run_id):
            inbox.reader("crew")
        inbox.end_foreign_runs("the session was closed")
        assert not inbox.runs()[0].live


class TestABusyJournal:
    @pytest.fixture(autouse=True)
    def at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(foreign_drain, "DRAIN_SECONDS", 0.0)

    def test_the_drain_gives_nothing_and_calls_its_claim_off(self, clock: FakeClock) -> None:
        stuck = FakeWriter()
        drain = RoutedInbox(stuck, clock=clock).reader("crew")
        assert [type(event) for event in stuck.events] == [RunStarted]  # it started without a wait
        assert drain() == []
        assert stuck.jobs[0].abandon()

    def test_a_claim_that_has_begun_is_waited_for(self, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
        stuck = FakeWriter()
        drain = RoutedInbox(stuck, clock=clock).reader("crew")
        submit = stuck.submit

        def begun(job: Job[Ledger, list[str]]) -> Job[Ledger, list[str]]:
            submitted = submit(job)

            def too_late() -> bool:
                submitted.future.set_result(["hello"])
                return False

            monkeypatch.setattr(submitted, "abandon", too_late)
            return submitted

        monkeypatch.setattr(stuck, "submit", begun)
        assert drain() == ["hello"]

    def test_a_journal_that_cannot_be_written_leaves_the_mail_to_the_next_drain(
        self, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        writer = MemoryWriter(clock)
        inbox = RoutedInbox(writer, clock=clock)
        drain = inbox.reader("crew")
        inbox.steer("crew", "hello")

        def full(*args: object) -> list[str]:
            raise JournalError("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(mailroom, "drain", full)
            assert drain() == []
        assert "stays queued until its next drain" in caplog.text
        assert drain() == ["hello"]


class TestADrainThatIsBroken:
    def fail(self, drain: Drain, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*args: object) -> list[str]:
            raise KeyError("no such thing")

        with monkeypatch.context() as patch:
            patch.setattr(mailroom, "drain", broken)
            with pytest.raises(KeyError):
                drain()

    def test_it_raises_so_that_its_loop_lets_go_of_it_and_the_mail_comes_back(
        self,
        inbox: RoutedInbox,
        writer: AnyWriter,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        drain = inbox.reader("crew")
        taken = inbox.steer("crew", "taken")
        drain()
        waiting = inbox.steer("crew", "waiting")
        self.fail(drain, monkeypatch)
        assert message(inbox, taken.message_id).reason == "in_doubt"
        assert message(inbox, waiting.message_id).reason == "reader_failed"
        assert "the drain of run_" in caplog.text
        records = records_of(writer)
        assert "could not be read" in of(records, NoticeRaised)[0].text
        assert [end.outcome for end in of(records, RunFinished)] == [Outcome.ERROR]

    def test_a_run_that_an_adapter_bound_lives_on_unread(
        self, inbox: RoutedInbox, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        inbox.emit(RunStarted(run_id="run_b", label="crew", ordinal=1, task="look", max_iterations=5))
        with bound("run_b"):
            drain = inbox.reader("crew")
        sent = inbox.steer("crew", "hello")
        self.fail(drain, monkeypatch)
        assert message(inbox, sent.message_id).reason == "reader_failed"
        assert inbox.runs()[0].live
