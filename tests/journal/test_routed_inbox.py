"""Taking mail never blocks a loop, and ending a run never gives up (A15)."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from pathlib import Path

import pytest

from dashboard.core.errors import JournalError
from dashboard.core.events import KnownEvent, RunStarted
from dashboard.core.mail import Boundary, BoundaryKind, Delivered
from dashboard.core.messages import Preset
from dashboard.core.outcomes import Outcome, RunEnd
from dashboard.journal import routed_inbox
from dashboard.journal.home import make_session_folder
from dashboard.journal.routed_inbox import RoutedInbox
from dashboard.journal.session import JournalHostSession, JournalOperatorSession
from dashboard.journal.writer import Job
from tests.conftest import FakeClock

BOUNDARY = Boundary(BoundaryKind.AFTER_TOOLS, turn=1, round=2, history_index=2)
END = RunEnd(Outcome.ANSWERED, "done")


class FakeWriter:
    """Takes jobs and runs none; a test decides what becomes of them."""

    def __init__(self) -> None:
        self.jobs: list[Job[object]] = []

    def emit(self, event: KnownEvent) -> None:
        raise NotImplementedError

    def submit(self, job: Job[object]) -> Job[object]:
        self.jobs.append(job)
        return job

    def close(self) -> None:
        raise NotImplementedError


def inbox_over(writer: FakeWriter, clock: FakeClock) -> RoutedInbox:
    async def changed() -> None:
        await asyncio.sleep(0)

    return RoutedInbox(writer, clock, changed)  # type: ignore[arg-type]


async def test_a_journal_that_is_busy_is_given_up_and_the_claim_is_called_off(clock: FakeClock) -> None:
    writer = FakeWriter()
    assert await inbox_over(writer, clock).open_run("r").take(BOUNDARY) == ()
    assert writer.jobs[0].abandon()  # it is off already: nothing can claim mail for a boundary that has passed


async def test_a_claim_that_has_begun_is_waited_for(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routed_inbox, "TAKE_SECONDS", 0.0)
    writer = FakeWriter()
    taking = asyncio.ensure_future(inbox_over(writer, clock).open_run("r").take(BOUNDARY))
    await asyncio.sleep(0)
    job = writer.jobs[0]
    monkeypatch.setattr(job, "abandon", lambda: False)  # the writer was faster
    while not taking.done():
        await asyncio.sleep(0)
        if not job.future.done():
            job.future.set_result((Delivered("hello"),))
    assert [delivered.text for delivered in await taking] == ["hello"]


async def test_a_cancelled_run_claims_nothing_after_the_fact(clock: FakeClock) -> None:
    writer = FakeWriter()
    taking = asyncio.ensure_future(inbox_over(writer, clock).open_run("r").take(BOUNDARY))
    await asyncio.sleep(0)
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    assert writer.jobs[0].abandon()


async def test_a_take_that_fails_leaves_the_mail_to_the_next_boundary(
    clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    writer = FakeWriter()
    taking = asyncio.ensure_future(inbox_over(writer, clock).open_run("r").take(BOUNDARY))
    await asyncio.sleep(0)
    writer.jobs[0].future.set_exception(JournalError("the disk is full"))
    assert await taking == ()
    assert "stays queued until its next boundary" in caplog.text


async def test_the_end_of_a_run_is_tried_until_it_is_recorded(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(routed_inbox, "RETRY_SECONDS", 0.0)
    writer = FakeWriter()
    ending = asyncio.ensure_future(inbox_over(writer, clock).open_run("r").finish(BOUNDARY, END))
    answers: list[object] = [JournalError("the disk is full"), JournalError("still full"), ()]
    for answer in answers:
        while not writer.jobs:
            await asyncio.sleep(0)
        future: Future[object] = writer.jobs.pop().future
        if isinstance(answer, JournalError):
            future.set_exception(answer)
        else:
            future.set_result(answer)
    assert await ending == ()
    assert "cannot be recorded yet" in caplog.text


async def test_an_idle_run_wakes_for_a_steer_and_not_for_an_inject(clock: FakeClock) -> None:
    folder: Path = make_session_folder("20260101-000000-aaaa")
    host = JournalHostSession(folder, clock, inline=True)
    host.emit(RunStarted(run_id="run_1", label="main", ordinal=1, task="t", max_iterations=10))
    console = JournalOperatorSession(folder, "ana", clock, inline=True)
    looks = 0
    waiting_after_the_inject: list[bool] = []

    async def changed() -> None:
        nonlocal looks
        looks += 1
        if looks == 1:
            await console.send("main", console.compose("by the way", Preset.INJECT))
        else:
            waiting_after_the_inject.append(True)
            await console.send("main", console.compose("wake up", Preset.STEER))

    host.inbox._changed = changed
    await host.inbox.open_run("run_1").wait()
    assert waiting_after_the_inject == [True]
    console.close()
    await host.close("done")


def test_a_foreign_loop_that_opens_it_by_label_is_told_what_to_do(clock: FakeClock) -> None:
    with pytest.raises(JournalError, match="'main'.*QueueInbox"):
        inbox_over(FakeWriter(), clock).reader("main")
