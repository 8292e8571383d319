"""What operators ask of runs: each request is applied or refused, once, and the record says which."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dashboard.agent import Agent, Runtime, run_agent, tool
from dashboard.agent.tools import Tool
from dashboard.core.events import (
    ApprovalAnswered,
    ApprovalRequested,
    ControlAction,
    ControlApplied,
    ControlRefused,
    RunPaused,
    RunStarted,
    ToolReturned,
    TurnFinished,
)
from dashboard.core.history import Assistant
from dashboard.core.outcomes import Outcome
from dashboard.core.sessions import Control
from dashboard.host.control import ControlDesk
from dashboard.models.scripted import ScriptedModel, call, replies
from tests.agent.fakes import settle
from tests.host.test_supervisor import FakeHostSession


class Case:
    """One root run that waits in its tool, and a desk that controls it."""

    def __init__(self, *tools: Tool) -> None:
        self.session = FakeHostSession(lambda: 1_000_000)
        self.runtime = Runtime(self.session.emit, self.session.clock)
        self.stopped: list[str] = []
        self.desk = ControlDesk(self.session, self.runtime, self.stopped.append)
        self.gate = asyncio.Event()
        first = Assistant("", tool_calls=tuple(call(given.name) for given in (tool(self.wait), *tools)))
        model = ScriptedModel(replies(first, "A", "B"))
        agent = Agent(model, tools=(tool(self.wait), *tools), name="main")
        self.task = asyncio.ensure_future(run_agent(agent, "p", self.runtime, keep_open=True))
        self._asked = 0

    async def wait(self) -> str:
        await self.gate.wait()
        return "done"

    @property
    def run_id(self) -> str:
        (started,) = self.session.of(RunStarted)
        return str(started.run_id)

    async def ask(self, action: str, **about: Any) -> str:  # noqa: ANN401 - fields of a control
        self._asked += 1
        control = Control(f"ctl_{self._asked}", action, by="ana", **about)
        self.session.asked.append(control)
        await self.desk.look()
        await settle()
        return control.id

    def refused(self, control_id: str) -> str:
        (event,) = [event for event in self.session.of(ControlRefused) if event.control_id == control_id]
        return str(event.reason)

    def applied(self) -> list[tuple[str, str]]:
        return [(event.control_id, event.action) for event in self.session.of(ControlApplied)]

    async def close(self) -> None:
        await self.runtime.lives.end_all("the test is over")
        await self.task


async def begun(*tools: Tool) -> Case:
    case = Case(*tools)
    await settle()
    return case


async def test_a_cancel_ends_the_roots_turn_and_is_told_as_applied() -> None:
    case = await begun()
    control = await case.ask("cancel", run_id=case.run_id)
    assert case.applied() == [(control, ControlAction.CANCEL)]
    (turn,) = case.session.of(TurnFinished)
    assert (turn.outcome, turn.error) == (Outcome.CANCELLED, "stopped by ana")
    await case.close()


async def test_pause_step_and_resume_are_each_told_as_applied() -> None:
    case = await begun()
    for action in ("pause", "resume", "pause"):
        await case.ask(action, run_id=case.run_id)
    case.gate.set()
    await settle()
    assert [event.by for event in case.session.of(RunPaused)] == ["ana"]
    await case.ask("step", run_id=case.run_id)
    assert [action for _, action in case.applied()] == ["pause", "resume", "pause", "step"]
    await case.close()


@pytest.mark.parametrize("action", [ControlAction.ALLOW, ControlAction.DENY])
async def test_an_approval_is_answered_by_its_id_with_who_and_why(action: ControlAction) -> None:
    ran: list[bool] = []

    async def shell() -> str:
        ran.append(True)
        return "done"

    case = await begun(tool(shell, needs_approval=True))
    (asked,) = case.session.of(ApprovalRequested)
    await case.ask(action, run_id=case.run_id, approval_id=asked.approval_id, reason="the disk is shared")
    (answered,) = case.session.of(ApprovalAnswered)
    assert (answered.by, answered.reason) == ("ana", "the disk is shared")
    assert bool(ran) is (action is ControlAction.ALLOW)
    if action is ControlAction.DENY:
        (returned,) = case.session.of(ToolReturned)
        assert returned.text == "shell was denied by ana: the disk is shared"
    await case.close()


async def test_what_cannot_be_done_is_refused_with_the_reason() -> None:
    case = await begun()
    assert "not paused" in case.refused(await case.ask("resume", run_id=case.run_id))
    assert "no run run_0 lives" in case.refused(await case.ask("cancel", run_id="run_0"))
    assert "names no run" in case.refused(await case.ask("pause"))
    assert "no approval approval_0" in case.refused(await case.ask("allow", approval_id="approval_0"))
    assert "does not know how to dance" in case.refused(await case.ask("dance", run_id=case.run_id))
    assert case.applied() == []
    await case.close()


async def test_a_request_whose_answer_is_not_written_yet_is_not_done_twice() -> None:
    case = await begun()
    await case.ask("pause", run_id=case.run_id)
    for _ in range(3):
        await case.desk.look()  # the row still stands as requested
    assert len(case.applied()) == 1
    assert case.session.of(ControlRefused) == []
    await case.close()


async def test_a_stop_is_told_as_applied_only_once_nothing_runs() -> None:
    case = await begun()
    control = await case.ask("stop_session")
    assert case.stopped == ["stopped by ana"]
    assert case.applied() == []
    await case.close()
    case.desk.tell_stopped()
    assert case.applied() == [(control, ControlAction.STOP_SESSION)]
