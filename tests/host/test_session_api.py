"""A session that a program hosts itself: consoles see it, write to it and control it as any other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, cast

import pytest

from dashboard.agent import Agent, RunResult, make_subagent_tool, tool
from dashboard.core.errors import ControlRefusedError, HostError, NotAnInboxError, RosterError
from dashboard.core.events import (
    ControlAction,
    ControlApplied,
    ControlRefused,
    ControlRequested,
    Event,
    HostStarted,
    RunFinished,
    RunStarted,
    SessionClosed,
    ToolCalled,
    TurnFinished,
)
from dashboard.core.messages import MessageState, Preset
from dashboard.core.outcomes import Outcome
from dashboard.core.sessions import HostState
from dashboard.host.session import Session
from dashboard.journal.home import sessions_folder
from dashboard.journal.lock import host_is_dead
from dashboard.journal.session import JournalOperatorSession
from dashboard.models.scripted import ScriptedModel, call, replies
from tests.agent.fakes import Gate


def attached(session: Session) -> AbstractAsyncContextManager[JournalOperatorSession]:
    return attached_to(session.session_id)


@asynccontextmanager
async def attached_to(session_id: str) -> AsyncIterator[JournalOperatorSession]:
    """A console's side of a session."""
    console = JournalOperatorSession(sessions_folder() / session_id, "ana")
    try:
        yield console
    finally:
        console.close()


def told(console: JournalOperatorSession, kind: type[Event]) -> list[Event]:
    return [record.event for record in console._tail.read(0, 10_000) if isinstance(record.event, kind)]


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not true():
            await asyncio.sleep(0.005)


async def test_a_run_is_recorded_and_an_operators_message_reaches_it_while_it_works() -> None:
    gate = Gate()
    async with Session("triage") as session, attached(session) as console:
        agent = Agent(ScriptedModel(replies(call("wait"), "first", "second")), tools=[gate.tool])
        run = asyncio.ensure_future(session.run(agent, "why?"))
        await until(lambda: told(console, RunStarted))
        await console.send("main", console.compose("check worker.log", Preset.STEER))
        gate.opened.set()
        result = await run
        assert (result.outcome, result.answer, result.name) == (Outcome.ANSWERED, "first", "main")
        (message,) = session.inbox.messages()
        assert (message.state, message.round, message.sender.name) == (MessageState.DELIVERED, 2, "ana")
        (started,) = told(console, HostStarted)
        assert isinstance(started, HostStarted)
        assert started.title == "triage"


async def test_sub_agents_share_the_sessions_inbox_and_their_labels_are_known_from_the_start() -> None:
    async with Session("triage", ["researcher"]) as session:
        session.inbox.steer("subagent-researcher", "look at /var")
        model = ScriptedModel(replies(call("subagent", agent_type="researcher", task="look"), "found", "answer"))
        spawn = make_subagent_tool(model, agent_types={"researcher": {}}, inbox=session.inbox)
        assert (await session.run(Agent(model, tools=[spawn]), "why?")).answer == "answer"
        (message,) = session.inbox.messages()
        assert (message.to, message.state) == ("subagent-researcher#1", MessageState.DELIVERED)


async def test_an_operator_can_cancel_one_run_and_the_program_is_told_who_did() -> None:
    gate = Gate()
    async with Session("triage") as session, attached(session) as console:
        agent = Agent(ScriptedModel(replies(call("wait"), "answer", "again")), tools=[gate.tool])
        run = asyncio.ensure_future(session.run(agent, "why?"))
        await until(lambda: told(console, RunStarted))
        (started,) = told(console, RunStarted)
        assert isinstance(started, RunStarted)
        await console.request(ControlAction.CANCEL, started.run_id)
        result = await run
        assert (result.outcome, result.error) == (Outcome.CANCELLED, "stopped by ana")
        assert (await session.run(agent, "once more")).outcome is Outcome.ANSWERED


async def test_a_stop_by_an_operator_ends_every_run_and_no_other_can_start() -> None:
    gate = Gate()
    async with Session("triage") as session, attached(session) as console:
        agent = Agent(ScriptedModel(replies(call("wait"))), tools=[gate.tool])
        run = asyncio.ensure_future(session.run(agent, "why?"))
        await until(lambda: told(console, RunStarted))
        await console.request(ControlAction.STOP_SESSION)
        assert (await run).outcome is Outcome.CANCELLED
        with pytest.raises(HostError, match=r"is over: stopped by ana\. Open another"):
            await session.run(agent, "why?")
    async with attached(session) as console:
        names = [type(event).__name__ for event in told(console, Event)]
        assert names[-3:] == ["RunFinished", "ControlApplied", "SessionClosed"]
        assert len(told(console, ControlApplied)) == 1


async def test_leaving_ends_what_runs_and_returns_what_nobody_read() -> None:
    gate = Gate()
    agent = Agent(ScriptedModel(replies(call("wait"))), tools=[gate.tool])
    async with Session("triage") as session:
        run = asyncio.ensure_future(session.run(agent, "why?"))
        async with attached(session) as console:
            await until(lambda: told(console, RunStarted))
        session.inbox.steer("main", "too late")
    assert (await run).outcome is Outcome.CANCELLED
    async with attached(session) as console:
        assert console.probe().state is HostState.CLOSED
        (closed,) = told(console, SessionClosed)
        (finished,) = told(console, RunFinished)
    assert isinstance(closed, SessionClosed)
    assert isinstance(finished, RunFinished)
    assert closed.reason == finished.error == "the program left the session"


async def test_a_program_that_fails_closes_its_session_and_says_so() -> None:
    with pytest.raises(ZeroDivisionError):
        async with Session("triage") as session:
            raise ZeroDivisionError
    async with attached(session) as console:
        (closed,) = told(console, SessionClosed)
    assert isinstance(closed, SessionClosed)
    assert closed.reason == "the program failed: ZeroDivisionError"


async def test_a_root_that_is_served_answers_every_message_until_the_session_is_stopped() -> None:
    async with Session("triage") as session, attached(session) as console:
        agent = Agent(ScriptedModel(replies("one", "two", "three")))
        served = asyncio.ensure_future(session.serve(agent, "p"))
        for count, preset in ((1, Preset.STEER), (2, Preset.FOLLOWUP)):
            await until(lambda count=count: len(told(console, TurnFinished)) == count)  # type: ignore[misc]
            await console.send("main", console.compose("and?", preset))
        await until(lambda: len(told(console, TurnFinished)) == 3)
        await console.request(ControlAction.STOP_SESSION)
        assert await served == "stopped by ana"


async def test_a_session_has_to_be_entered_first() -> None:
    with pytest.raises(HostError, match="async with Session"):
        await Session("triage").run(Agent(ScriptedModel(replies("A"))), "p")


async def test_a_run_that_reads_the_sessions_inbox_is_the_sessions_however_it_is_started() -> None:
    gate = Gate()
    async with Session("triage") as session, attached(session) as console:
        agent = Agent(
            ScriptedModel(replies(call("wait"), call("wait"))), name="own", tools=[gate.tool], inbox=session.inbox
        )
        first = asyncio.ensure_future(agent.run("p"))
        await until(lambda: told(console, RunStarted))
        (started,) = told(console, RunStarted)
        assert isinstance(started, RunStarted)
        await console.request(ControlAction.CANCEL, started.run_id)
        assert (await first).error == "stopped by ana"
        second = asyncio.ensure_future(agent.run("p"))
        await until(lambda: len(told(console, RunStarted)) == 2)
    assert (await second).error == "the program left the session"
    with pytest.raises(HostError, match="no run can start here any more: the program left the session"):
        await agent.run("p")


async def test_a_session_that_is_cancelled_while_it_is_left_still_ends_its_runs_first() -> None:
    slow = asyncio.Event()

    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            await slow.wait()
        return ""

    async def program() -> None:
        async with Session("triage") as session:
            ids.append(session.session_id)
            agent = Agent(ScriptedModel(replies(call("stubborn"))), tools=[tool(stubborn)])
            runs.append(asyncio.ensure_future(session.run(agent, "p")))
            await asyncio.Event().wait()

    ids: list[str] = []
    runs: list[asyncio.Task[RunResult]] = []
    running = asyncio.ensure_future(program())
    await until(lambda: runs)
    async with attached_to(ids[0]) as console:
        await until(lambda: told(console, ToolCalled))
        running.cancel()
        await asyncio.sleep(0.05)
        running.cancel()
        slow.set()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await runs[0]).outcome is Outcome.CANCELLED
        names = [type(event).__name__ for event in told(console, Event)]
        assert names[-2:] == ["RunFinished", "SessionClosed"]


@pytest.mark.parametrize("steps", range(1, 12, 3))
async def test_an_entry_that_is_cancelled_lets_go_of_everything(steps: int) -> None:
    threads = threading.active_count()
    entering = asyncio.ensure_future(Session("triage").__aenter__())
    for _ in range(steps):
        await asyncio.sleep(0)
    entering.cancel()
    (outcome,) = await asyncio.gather(entering, return_exceptions=True)
    if isinstance(outcome, Session):
        await outcome.__aexit__(None, None, None)
    for folder in sessions_folder().iterdir():
        dead = host_is_dead(folder)
        assert dead is not None
        dead.release()
    assert threading.active_count() == threads


async def test_a_session_is_not_entered_twice_at_once_but_again_once_it_was_left() -> None:
    session = Session("triage")
    async with session:
        first = session.session_id
        with pytest.raises(HostError, match="entered already"):
            await session.__aenter__()
    async with session:
        assert session.session_id != first


async def test_a_session_that_can_look_no_more_ends_its_runs_and_is_loud_about_it() -> None:
    session = await Session("triage").__aenter__()
    agent = Agent(ScriptedModel(replies(call("wait"))), tools=[Gate().tool])
    run = asyncio.ensure_future(session.run(agent, "p"))
    await until(lambda: list(session.runtime.lives))
    session._open().watch.desk._session = cast("Any", BrokenLook())
    assert "could not be watched: OSError: the disk is gone" in (await run).error
    with pytest.raises(OSError, match="the disk is gone"):
        await session.__aexit__(None, None, None)


async def nothing() -> None:
    """Look for nothing."""


class BrokenLook:
    async def controls(self) -> list[object]:
        raise OSError("the disk is gone")


async def test_what_a_program_gives_wrong_is_refused_at_the_call() -> None:
    async with Session("triage") as session:
        agent = Agent(ScriptedModel(replies("A")))
        with pytest.raises(NotAnInboxError, match=r"Session\.run\(inbox=\.\.\.\) is not an inbox"):
            await session.run(agent, "p", inbox=cast("Any", "mailbox"))
        with pytest.raises(RosterError, match=r"Session\.run\(schema=\.\.\.\) is not a type"):
            await session.run(agent, "p", schema="Finding")
        assert list(session.inbox.runs()) == []
    with pytest.raises(RosterError, match=r"Session\(agent_types=\.\.\.\) is one str"):
        Session("triage", "researcher")
    with pytest.raises(RosterError, match=r"'a#1' cannot be a label"):
        Session("triage", ["a#1"])


async def test_what_was_asked_for_and_never_done_is_refused_when_the_session_is_closed() -> None:
    async with Session("triage") as session, attached(session) as console:
        cast("Any", session._open().watch.desk).look = nothing
        control = await console.request(ControlAction.PAUSE, "run_1")
        await until(lambda: told(console, ControlRequested))
    async with attached(session) as console:
        (refused,) = told(console, ControlRefused)
    assert isinstance(refused, ControlRefused)
    assert (refused.control_id, refused.reason) == (control, "the session was closed")


async def test_a_program_controls_its_own_runs_on_the_record() -> None:
    def shell() -> str:
        return "done"

    async with Session("triage") as session, attached(session) as console:
        model = ScriptedModel(replies(call("shell"), "A"))
        agent = Agent(model, tools=[tool(shell, needs_approval=True)])
        run = asyncio.ensure_future(session.run(agent, "p"))
        await until(session.approvals)
        (request,) = session.approvals()
        session.control("pause", request.run_id)
        with pytest.raises(ControlRefusedError, match="paused already"):
            session.control("pause", request.run_id)
        session.control("allow", approval_id=request.approval_id)
        session.control("resume", request.run_id)
        assert (await run).answer == "A"
        with pytest.raises(ValueError, match="dance"):
            session.control("dance", request.run_id)
        await until(lambda: len(told(console, ControlRequested)) == 4)
        await until(lambda: len(told(console, ControlApplied)) == 3)
        (refused,) = told(console, ControlRefused)
        assert isinstance(refused, ControlRefused)
