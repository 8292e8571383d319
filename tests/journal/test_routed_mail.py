"""Taking mail never blocks a loop, and ending a run never gives up (A15)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any

import pytest

from dashboard.core.errors import JournalClosedError, JournalError
from dashboard.core.events import MessageReturned, RunBlocked, RunFinished, RunStarted, TurnFinished
from dashboard.core.mail import Boundary, BoundaryKind, Delivered
from dashboard.core.outcomes import Outcome, RunEnd
from dashboard.journal import routed_mail
from dashboard.journal.memory import MemoryWriter
from dashboard.journal.routed_inbox import RoutedInbox
from dashboard.journal.routed_mail import RoutedMail
from tests.conftest import FakeClock
from tests.journal.conftest import AnyWriter, of, records_of
from tests.journal.fakes import FakeWriter

BOUNDARY = Boundary(BoundaryKind.AFTER_TOOLS, turn=1, round=2, history_index=2)
END = RunEnd(Outcome.ANSWERED, "done")
STARTED = RunStarted(run_id="run_1", label="main", ordinal=1, task="t", max_iterations=10)
CANCELLED = TurnFinished(run_id="run_1", turn=1, answer="", outcome=Outcome.CANCELLED)


@pytest.fixture
def stuck() -> FakeWriter:
    """A writer to a journal that is busy all the time."""
    return FakeWriter()


@pytest.fixture
def mail(stuck: FakeWriter, clock: FakeClock) -> RoutedMail:
    async def changed() -> None:
        await asyncio.sleep(0)

    return RoutedMail("run_1", stuck, clock, changed)


class TestTaking:
    async def test_a_journal_that_is_busy_is_given_up_and_the_claim_is_called_off(
        self, stuck: FakeWriter, mail: RoutedMail
    ) -> None:
        assert await mail.take(BOUNDARY) == ()
        assert stuck.jobs[0].abandon()  # it is off already: nothing can claim mail for a boundary that has passed

    @pytest.mark.parametrize("kind", BoundaryKind)
    async def test_where_a_read_shows_that_nothing_waits_there_is_no_transaction_but_at_the_open(
        self, stuck: FakeWriter, clock: FakeClock, kind: BoundaryKind
    ) -> None:
        """At the open, mail for the label may be bound in the transaction that starts the run."""

        async def changed() -> None:
            await asyncio.sleep(0)

        mail = RoutedMail("run_1", stuck, clock, changed, waits=lambda run_id: False)
        assert await mail.take(Boundary(kind, turn=1, round=2, history_index=2)) == ()
        assert bool(stuck.jobs) is (kind in (BoundaryKind.TURN_OPEN, BoundaryKind.WAKE))

    async def test_a_claim_that_has_begun_is_waited_for(
        self, stuck: FakeWriter, mail: RoutedMail, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(routed_mail, "TAKE_SECONDS", 0.0)
        taking = asyncio.ensure_future(mail.take(BOUNDARY))
        await asyncio.sleep(0)
        job = stuck.jobs[0]
        monkeypatch.setattr(job, "abandon", lambda: False)  # the writer was faster
        while not taking.done():
            await asyncio.sleep(0)
            if not job.future.done():
                job.future.set_result((Delivered("hello"),))
        assert [delivered.text for delivered in await taking] == ["hello"]

    async def test_a_cancelled_run_claims_nothing_after_the_fact(
        self, stuck: FakeWriter, mail: RoutedMail
    ) -> None:
        taking = asyncio.ensure_future(mail.take(BOUNDARY))
        await asyncio.sleep(0)
        taking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taking
        assert stuck.jobs[0].abandon()

    async def test_a_take_that_fails_leaves_the_mail_to_the_next_boundary(
        self, stuck: FakeWriter, mail: RoutedMail, caplog: pytest.LogCaptureFixture
    ) -> None:
        taking = asyncio.ensure_future(mail.take(BOUNDARY))
        await asyncio.sleep(0)
        stuck.jobs[0].future.set_exception(JournalError("the disk is full"))
        assert await taking == ()
        assert "stays queued until its next boundary" in caplog.text


class TestNeverGivingUp:
    @pytest.fixture(autouse=True)
    def at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(routed_mail, "RETRY_SECONDS", 0.0)

    async def answered(self, stuck: FakeWriter, call: Coroutine[Any, Any, object], last: object) -> object:
        """Fail a call twice, then answer it."""
        calling = asyncio.ensure_future(call)
        answers: list[object] = [JournalError("the disk is full"), JournalError("still full"), last]
        for answer in answers:
            while not stuck.jobs:
                await asyncio.sleep(0)
            future: Future[object] = stuck.jobs.pop().future
            if isinstance(answer, JournalError):
                future.set_exception(answer)
            else:
                future.set_result(answer)
        return await calling

    async def test_the_end_of_a_run_is_tried_until_it_is_recorded(
        self, stuck: FakeWriter, mail: RoutedMail, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert await self.answered(stuck, mail.finish(BOUNDARY, END), ()) == ()
        assert "the end of run_1 cannot be recorded yet" in caplog.text

    async def test_a_cancelled_turn_is_tried_until_it_is_recorded(
        self, stuck: FakeWriter, mail: RoutedMail, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert await self.answered(stuck, mail.cancel_turn(CANCELLED, None), None) is None
        assert "the cancelled turn of run_1 cannot be recorded yet" in caplog.text

    async def test_a_session_that_was_closed_is_not_waited_for(self, stuck: FakeWriter, mail: RoutedMail) -> None:
        """A run that outlives its session must not try for good."""
        for call in (mail.finish(BOUNDARY, END), mail.cancel_turn(CANCELLED, None), mail.wait()):
            calling = asyncio.ensure_future(call)
            while not stuck.jobs:
                await asyncio.sleep(0)
            stuck.jobs.pop().future.set_exception(JournalClosedError("the journal's writer has ended"))
            with pytest.raises(JournalClosedError):
                await calling

    async def test_the_run_says_once_that_it_is_blocked(
        self, stuck: FakeWriter, mail: RoutedMail, caplog: pytest.LogCaptureFixture
    ) -> None:
        await self.answered(stuck, mail.finish(BOUNDARY, END), ())
        assert stuck.events == [RunBlocked(run_id="run_1", on="journal")]


class TestOnAnInbox:
    async def test_a_cancelled_turn_is_recorded_with_the_mail_that_comes_back(
        self, inbox: RoutedInbox, writer: AnyWriter
    ) -> None:
        inbox.emit(STARTED)
        old = inbox.steer("main", "old")
        await inbox.open_run("run_1").cancel_turn(CANCELLED, None)
        told = of(records_of(writer), TurnFinished, MessageReturned)
        assert [type(event) for event in told] == [TurnFinished, MessageReturned]
        message = inbox.message(old.message_id)
        assert message is not None
        assert message.reason == "cancelled"

    async def test_the_end_is_recorded_once_nothing_extends_it(
        self, inbox: RoutedInbox, writer: AnyWriter
    ) -> None:
        inbox.emit(STARTED)
        mail = inbox.open_run("run_1")
        inbox.steer("main", "wait")
        assert [delivered.text for delivered in await mail.finish(BOUNDARY, END)] == ["wait"]
        assert await mail.finish(BOUNDARY, END) == ()
        assert of(records_of(writer), RunFinished) == [
            RunFinished(run_id="run_1", outcome=Outcome.ANSWERED, answer="done")
        ]


class TestWaiting:
    @pytest.fixture
    def root(self, clock: FakeClock) -> RoutedInbox:
        inbox = RoutedInbox(MemoryWriter(clock), clock=clock)
        inbox.emit(STARTED)
        return inbox

    async def test_an_idle_run_wakes_for_a_steer_and_not_for_an_inject(self, root: RoutedInbox) -> None:
        waiting = asyncio.ensure_future(root.open_run("run_1").wait())
        await asyncio.sleep(0)
        root.inject("main", "by the way")
        for _ in range(10):
            await asyncio.sleep(0)
        assert not waiting.done()
        root.steer("main", "wake up")
        await waiting

    async def test_it_wakes_for_a_message_that_is_released(self, root: RoutedInbox) -> None:
        message_id = root.steer("main", "not yet").message_id
        root.hold(message_id)
        waiting = asyncio.ensure_future(root.open_run("run_1").wait())
        for _ in range(10):
            await asyncio.sleep(0)
        assert not waiting.done()
        root.release(message_id)
        await waiting

    async def test_what_comes_between_the_look_and_the_wait_is_not_missed(
        self, root: RoutedInbox, clock: FakeClock
    ) -> None:
        looked = asyncio.ensure_future(root.open_run("run_1").wait())
        await asyncio.sleep(0)  # it has looked, and waits for the answer
        root.steer("main", "in the gap")
        await looked

    async def test_a_journal_that_cannot_be_read_is_looked_at_again(
        self, stuck: FakeWriter, mail: RoutedMail, caplog: pytest.LogCaptureFixture
    ) -> None:
        waiting = asyncio.ensure_future(mail.wait())
        answers: list[object] = [JournalError("the disk is gone"), False, True]
        for answer in answers:
            while not stuck.jobs:
                await asyncio.sleep(0)
            future = stuck.jobs.pop().future
            if isinstance(answer, JournalError):
                future.set_exception(answer)
            else:
                future.set_result(answer)
        await waiting
        assert "cannot be looked at yet" in caplog.text
