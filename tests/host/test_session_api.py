"""A session that a program hosts itself: consoles see it, write to it and control it as any other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from dashboard.agent import Agent, make_subagent_tool
from dashboard.core.errors import HostError
from dashboard.core.events import (
    ControlAction,
    ControlApplied,
    Event,
    HostStarted,
    RunFinished,
    RunStarted,
    SessionClosed,
    TurnFinished,
)
from dashboard.core.messages import MessageState, Preset
from dashboard.core.outcomes import Outcome
from dashboard.core.sessions import HostState
from dashboard.host.session import Session
from dashboard.journal.home import sessions_folder
from dashboard.journal.session import JournalOperatorSession
from dashboard.models.scripted import ScriptedModel, call, replies
from tests.agent.fakes import Gate


@asynccontextmanager
async def attached(session: Session) -> AsyncIterator[JournalOperatorSession]:
    """A console's side of it."""
    console = JournalOperatorSession(sessions_folder() / session.session_id, "ana")
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
        with pytest.raises(HostError, match=r"is over: stopped by an operator\. Open another"):
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
        assert await served == "stopped by an operator"


async def test_a_session_has_to_be_entered_first() -> None:
    with pytest.raises(HostError, match="async with Session"):
        await Session("triage").run(Agent(ScriptedModel(replies("A"))), "p")
