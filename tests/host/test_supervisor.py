"""What watches over a roster: stopping, lingering, the heartbeat. Minutes pass in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from dashboard.agent import Agent, Runtime
from dashboard.core.events import (
    ControlAction,
    ControlApplied,
    ControlRefused,
    KnownEvent,
    RunFinished,
    TurnFinished,
)
from dashboard.core.inbox import QueueInbox
from dashboard.core.outcomes import Outcome
from dashboard.core.sessions import Control, HostState
from dashboard.host.demo.roster import demo_roster
from dashboard.host.supervisor import Supervisor
from dashboard.host.virtual_time import VirtualTime
from dashboard.journal.catalog import summarize
from dashboard.journal.home import make_session_folder
from dashboard.journal.session import JournalHostSession
from dashboard.models.scripted import Pace, ScriptedModel, replies

LINGER = 600.0
SLOW = Pace(think=100.0)


class FakeHostSession:
    """A session that remembers what a host did to it."""

    inbox = QueueInbox()

    def __init__(self, clock: Callable[[], int]) -> None:
        self.clock = clock
        self.events: list[KnownEvent] = []
        self.beats: list[int] = []
        self.asked: list[Control] = []
        self.console_at = 0

    def emit(self, event: KnownEvent) -> None:
        self.events.append(event)

    async def start(self, version: str, title: str, labels: tuple[str, ...]) -> None:
        raise NotImplementedError

    def beat(self) -> None:
        self.beats.append(self.clock())

    async def controls(self) -> list[Control]:
        return self.asked

    def console_seen_at(self) -> int:
        return self.console_at

    async def changed(self) -> None:
        await asyncio.sleep(0.25)

    async def close(self, reason: str) -> None:
        raise NotImplementedError

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def time() -> VirtualTime:
    return VirtualTime(1_000_000_000_000)


def supervised(time: VirtualTime) -> tuple[FakeHostSession, Supervisor]:
    session = FakeHostSession(time.clock)
    return session, Supervisor(session, LINGER, Runtime(session.emit, time.clock))


def run(time: VirtualTime, supervisor: Supervisor, pace: Pace, *meanwhile: Coroutine[Any, Any, None]) -> str:
    agent = Agent(ScriptedModel(replies("done"), pace), name="main")

    async def both() -> str:
        reason, *_ = await asyncio.gather(supervisor.run(agent, "task"), *meanwhile)
        return str(reason)

    return time.run(both())


def test_without_work_and_without_a_console_the_host_ends_after_its_linger(time: VirtualTime) -> None:
    session, supervisor = supervised(time)
    assert run(time, supervisor, Pace()) == "nothing ran, and no console was there"
    assert time.passed == pytest.approx(LINGER, abs=0.5)
    assert [event.outcome for event in session.of(RunFinished)] == [Outcome.CANCELLED]
    assert len(session.of(TurnFinished)) == 1


def test_while_something_runs_the_host_stays(time: VirtualTime) -> None:
    _, supervisor = supervised(time)
    run(time, supervisor, Pace(think=5_000.0))
    assert time.passed == pytest.approx(5_000 + LINGER, abs=0.5)


def test_while_a_console_is_there_the_host_stays(time: VirtualTime) -> None:
    session, supervisor = supervised(time)

    async def look_in() -> None:
        await asyncio.sleep(500)
        session.console_at = time.clock()

    run(time, supervisor, Pace(), look_in())
    assert time.passed == pytest.approx(500 + LINGER, abs=0.5)


def test_an_operators_stop_ends_the_run_and_is_told_as_applied_after_it(time: VirtualTime) -> None:
    session, supervisor = supervised(time)

    async def ask() -> None:
        await asyncio.sleep(10)
        session.asked = [Control("ctl_1", ControlAction.STOP_SESSION)]

    assert run(time, supervisor, SLOW, ask()) == "stopped by an operator"
    assert time.passed < 11
    ended, applied = session.events[-2:]
    assert isinstance(ended, RunFinished)
    assert (ended.outcome, ended.error) == (Outcome.CANCELLED, "stopped by an operator")
    assert applied == ControlApplied(control_id="ctl_1", action=ControlAction.STOP_SESSION)


def test_an_action_that_this_host_does_not_know_is_refused_and_it_goes_on(time: VirtualTime) -> None:
    session, supervisor = supervised(time)

    async def ask() -> None:
        await asyncio.sleep(10)
        session.asked = [Control("ctl_1", "dance", "run_1")]
        await asyncio.sleep(0.15)
        session.asked = []

    run(time, supervisor, Pace(), ask())
    (refused,) = session.of(ControlRefused)  # once, although the row stays open for longer than a look
    assert (refused.control_id, refused.run_id) == ("ctl_1", "run_1")
    assert "dance" in refused.reason
    assert time.passed == pytest.approx(LINGER, abs=0.5)


def test_without_any_linger_the_work_is_done_first(time: VirtualTime) -> None:
    session = FakeHostSession(time.clock)
    supervisor = Supervisor(session, 0.0, Runtime(session.emit, time.clock))
    run(time, supervisor, SLOW)
    assert [event.answer for event in session.of(TurnFinished)] == ["done"]
    assert time.passed == pytest.approx(100, abs=0.5)


def test_a_wall_clock_that_jumps_ends_nothing(time: VirtualTime) -> None:
    _, supervisor = supervised(time)

    async def jump() -> None:
        await asyncio.sleep(10)
        time._start += 3_600_000_000

    run(time, supervisor, Pace(), jump())
    assert time.passed == pytest.approx(LINGER, abs=0.5)


def test_a_signal_ends_it_with_its_own_reason(time: VirtualTime) -> None:
    _, supervisor = supervised(time)

    async def signal() -> None:
        await asyncio.sleep(5)
        supervisor.stop("the host was asked to end (SIGTERM)")

    assert run(time, supervisor, SLOW, signal()) == "the host was asked to end (SIGTERM)"


def test_the_heart_beats_every_second_while_the_model_is_slow(time: VirtualTime) -> None:
    session, supervisor = supervised(time)

    async def signal() -> None:
        await asyncio.sleep(30.5)
        supervisor.stop("enough")

    run(time, supervisor, SLOW, signal())
    assert len(session.beats) == 31


def test_a_whole_roster_over_a_real_journal_ends_after_its_linger(time: VirtualTime) -> None:
    folder = make_session_folder("20260101-000000-aaaa")
    session = JournalHostSession(folder, time.clock, inline=True)
    roster = demo_roster(None, folder, speed=1.0)
    runtime = Runtime(session.emit, time.clock, run_blocking=time.run_blocking)
    supervisor = Supervisor(session, LINGER, runtime)

    async def host() -> str:
        reason = await supervisor.run(roster.make_root(session.inbox), roster.task)
        await session.close(reason)
        return reason

    assert time.run(host()) == "nothing ran, and no console was there"
    assert LINGER + 100 < time.passed < LINGER + 300  # the story takes some minutes
    summary = summarize(folder)
    assert (summary.state, summary.runs, summary.live) == (HostState.CLOSED, 5, 0)
