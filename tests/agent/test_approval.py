"""Tool calls that wait for an operator's word; and the mail that waits with them (H4)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import pytest

from dashboard.agent.agent import Agent
from dashboard.agent.approval import Approval, approval_of
from dashboard.agent.loop import RunResult, run_agent
from dashboard.agent.subagents import make_subagent_tool
from dashboard.agent.tools import Tool, tool
from dashboard.core.errors import ControlRefusedError, RosterError
from dashboard.core.events import ApprovalAnswer, ApprovalAnswered, ApprovalRequested, RunFinished
from dashboard.core.history import Assistant, ToolResult
from dashboard.core.outcomes import Outcome
from dashboard.models.base import ModelRequest
from dashboard.models.scripted import ScriptedModel, call
from tests.agent.fakes import Stage, asks, quick, settle


class Forever:
    """A sleep that never ends, so that nothing times out."""

    async def __call__(self, seconds: float) -> None:
        await asyncio.Event().wait()


class Shell:
    """A tool that asks first, and counts how often it ran."""

    def __init__(self) -> None:
        self.ran = 0
        self.tool: Tool = tool(self.run, name="shell", needs_approval=True)

    def run(self) -> str:
        self.ran += 1
        return "done"


def begun(
    stage: Stage, *tools: Tool, approval: Approval | str | Collection[str] = "marked"
) -> asyncio.Task[RunResult]:
    agent = Agent(stage.model, tools=tools, name="main", inbox=stage.inbox, approval=approval)
    return asyncio.ensure_future(run_agent(agent, "p", stage.runtime))


def answer(stage: Stage, *, allow: bool, reason: str = "") -> None:
    (waiting,) = stage.runtime.approvals
    stage.runtime.approvals.answer(waiting, allow=allow, by="ana", reason=reason)


def tool_text(stage: Stage) -> str:
    (result,) = [entry for entry in stage.told.history(stage.mail.run_id) if isinstance(entry, ToolResult)]
    return result.content


async def test_a_marked_tool_waits_and_runs_once_it_is_allowed() -> None:
    stage, shell = Stage(asks("shell"), "A", sleep=Forever()), Shell()
    task = begun(stage, shell.tool)
    await settle()
    (asked,) = stage.told.of(ApprovalRequested)
    assert (asked.name, asked.arguments, asked.tool_call_id) == ("shell", "{}", "call_shell")
    assert shell.ran == 0
    answer(stage, allow=True)
    assert (await task).answer == "A"
    assert shell.ran == 1
    assert stage.told.of(ApprovalAnswered) == [
        ApprovalAnswered(
            run_id=asked.run_id, approval_id=asked.approval_id, answer=ApprovalAnswer.ALLOWED, by="ana"
        )
    ]


async def test_a_denied_call_does_not_run_and_the_model_reads_who_denied_it_and_why() -> None:
    stage, shell = Stage(asks("shell"), "A", sleep=Forever()), Shell()
    task = begun(stage, shell.tool)
    await settle()
    answer(stage, allow=False, reason="the disk is shared")
    assert (await task).answer == "A"
    assert shell.ran == 0
    assert tool_text(stage) == "shell was denied by ana: the disk is shared"


async def test_a_call_that_nobody_answers_in_time_does_not_run() -> None:
    stage, shell = Stage(asks("shell"), "A"), Shell()  # the stage's sleep does not wait
    assert (await begun(stage, shell.tool, approval=Approval(timeout=30.0))).answer == "A"
    assert shell.ran == 0
    assert tool_text(stage).startswith("shell was not run: nobody answered within 30 s")
    (asked,) = stage.told.of(ApprovalRequested)
    assert asked.expires_at is not None
    assert [event.answer for event in stage.told.of(ApprovalAnswered)] == [ApprovalAnswer.TIMED_OUT]


@pytest.mark.parametrize("how", ["allow", "deny", "time out"])
async def test_mail_that_comes_while_an_approval_waits_is_read_after_it_however_it_ends(how: str) -> None:
    """H4: allow, deny and time-out all lead to its delivery, with no further send."""
    passed = asyncio.Event()

    class Sleep:
        async def __call__(self, seconds: float) -> None:
            await passed.wait()

    stage, shell = Stage(asks("shell"), "A", sleep=Sleep()), Shell()
    task = begun(stage, shell.tool)
    await settle()
    stage.mail.send("x")
    await settle()
    assert stage.history == "p T"  # it waits too
    if how == "time out":
        passed.set()
    else:
        answer(stage, allow=how == "allow")
    await task
    assert stage.history == "p T shell x A"


async def test_a_message_never_answers_an_approval() -> None:
    """A12."""
    stage, shell = Stage(asks("shell"), "A", sleep=Forever()), Shell()
    task = begun(stage, shell.tool)
    await settle()
    for text in ("yes", "allow", "approved"):
        stage.mail.send(text)
    await settle()
    assert shell.ran == 0
    assert not task.done()
    answer(stage, allow=False)
    await task


async def test_other_calls_of_the_round_go_on_while_one_waits() -> None:
    stage, shell = Stage(asks("shell", "look"), "A", sleep=Forever()), Shell()
    looked: list[bool] = []
    task = begun(stage, shell.tool, quick("look", lambda: looked.append(True)))
    await settle()
    assert looked == [True]
    answer(stage, allow=True)
    await task
    assert stage.history == "p T shell look A"


async def test_a_call_whose_arguments_do_not_fit_asks_nobody() -> None:
    def remove(path: str) -> str:
        return path

    stage = Stage(asks("remove"), "A", sleep=Forever())
    await begun(stage, tool(remove, needs_approval=True))
    assert stage.told.of(ApprovalRequested) == []
    assert "do not fit" in tool_text(stage)


async def test_a_cancelled_run_abandons_its_request_and_nothing_waits_any_more() -> None:
    stage, shell = Stage(asks("shell"), sleep=Forever()), Shell()
    task = begun(stage, shell.tool)
    await settle()
    (waiting,) = stage.runtime.approvals
    stage.runtime.lives.cancel(stage.mail.run_id, "stopped by ana")
    assert (await task).outcome is Outcome.CANCELLED
    assert [event.answer for event in stage.told.of(ApprovalAnswered)] == [ApprovalAnswer.ABANDONED]
    assert stage.told.names()[-1] == RunFinished.__name__
    with pytest.raises(ControlRefusedError, match=waiting):
        stage.runtime.approvals.answer(waiting, allow=True, by="ana")


async def test_a_second_answer_is_refused() -> None:
    stage, shell = Stage(asks("shell"), "A", sleep=Forever()), Shell()
    task = begun(stage, shell.tool)
    await settle()
    (waiting,) = stage.runtime.approvals
    answer(stage, allow=False)
    with pytest.raises(ControlRefusedError, match="answered"):
        stage.runtime.approvals.answer(waiting, allow=True, by="bo")
    await task
    assert shell.ran == 0


@pytest.mark.parametrize(
    ("approval", "asked"),
    [
        ("marked", ["shell"]),
        ("all", ["shell", "look"]),
        ("none", []),
        (["look"], ["look"]),
        ({"shell", "look"}, ["shell", "look"]),
    ],
)
async def test_the_agent_says_which_tools_ask(
    approval: Approval | str | Collection[str], asked: list[str]
) -> None:
    stage, shell = Stage(asks("shell", "look"), "A"), Shell()
    await begun(stage, shell.tool, quick("look"), approval=approval)
    assert [event.name for event in stage.told.of(ApprovalRequested)] == asked


async def test_a_type_of_a_roster_has_an_approval_of_its_own_or_the_factorys() -> None:
    def play(request: ModelRequest) -> Assistant:
        if isinstance(request.history[-1], ToolResult):
            return Assistant("A")
        if request.label == "main":
            spawns = (call("subagent", agent_type=name, task="t") for name in ("careful", "bold", "plain"))
            return Assistant("", tool_calls=tuple(spawns))
        return asks("look")

    stage, model = Stage(), ScriptedModel(play)
    spawn = make_subagent_tool(
        model,
        tools=[quick("look")],
        approval="none",
        agent_types={"careful": {"approval": "all"}, "bold": {"approval": "none"}, "plain": {}},
    )
    await run_agent(Agent(model, tools=(spawn,), name="main"), "p", stage.runtime)
    (asked,) = stage.told.of(ApprovalRequested)
    assert asked.name == "look"


@pytest.mark.parametrize("wrong", ["sometimes", 3, None, [3], b"all"])
def test_what_is_no_approval_is_refused_with_what_would_be(wrong: object) -> None:
    with pytest.raises(RosterError, match=r"Agent\(approval=\.\.\.\) is no approval.*'marked', 'all', 'none'"):
        approval_of(wrong, "Agent(approval=...)")


def test_a_wrong_approval_in_a_roster_is_refused_where_the_roster_is_built() -> None:
    with pytest.raises(RosterError, match=r"agent_types\['writer'\]\['approval'\] is no approval"):
        make_subagent_tool(ScriptedModel(lambda _: Assistant("")), agent_types={"writer": {"approval": "maybe"}})


def test_a_name_that_no_tool_has_is_refused_as_the_tool_that_was_meant_would_run_unasked() -> None:
    model = ScriptedModel(lambda _: Assistant(""))
    with pytest.raises(RosterError, match=r"Agent\(approval=\.\.\.\) names no tool of this agent: 'shel'.*shell"):
        Agent(model, tools=[Shell().tool], approval=["shel"])
    with pytest.raises(RosterError, match=r"agent_types\['writer'\]\['approval'\] names no tool .*'shel'"):
        make_subagent_tool(model, tools=[Shell().tool], agent_types={"writer": {"approval": ["shel"]}})
    with pytest.raises(RosterError, match=r"make_subagent_tool\(approval=\.\.\.\) names no tool .*'shel'"):
        make_subagent_tool(model, tools=[Shell().tool], agent_types={"writer": {}}, approval=["shel"])


def test_an_inherited_approval_counts_for_the_tools_that_a_type_has() -> None:
    model = ScriptedModel(lambda _: Assistant(""))
    types = {"writer": {"tools": [quick("look")]}, "fixer": {"tools": [Shell().tool]}}
    assert make_subagent_tool(model, agent_types=types, approval=["shell"]).name == "subagent"


@pytest.mark.parametrize("timeout", ["5", -1, 0, True])
def test_a_timeout_that_is_no_time_is_refused(timeout: object) -> None:
    with pytest.raises(RosterError, match=r"Agent\(approval=\.\.\.\): its timeout is no time"):
        approval_of(Approval("all", timeout), "Agent(approval=...)")  # type: ignore[arg-type]


async def test_an_answer_that_comes_in_the_same_moment_as_a_cancel_is_recorded_as_what_it_is() -> None:
    stage, shell = Stage(asks("shell"), sleep=Forever()), Shell()
    task = begun(stage, shell.tool)
    await settle()
    answer(stage, allow=True)
    stage.runtime.lives.cancel(stage.mail.run_id, "stopped by ana")
    assert (await task).outcome is Outcome.CANCELLED
    assert [event.answer for event in stage.told.of(ApprovalAnswered)] == [ApprovalAnswer.ALLOWED]


async def test_an_answer_and_a_resume_may_come_from_another_thread() -> None:
    stage, shell = Stage(asks("shell"), "A", sleep=Forever()), Shell()
    task = begun(stage, shell.tool)
    await settle()
    (request,) = stage.runtime.approvals.requests()
    life = stage.runtime.lives[request.run_id]
    await asyncio.to_thread(life.pause, "ana")
    with pytest.raises(ControlRefusedError, match="paused already"):
        await asyncio.to_thread(life.pause, "bo")
    await asyncio.to_thread(lambda: stage.runtime.approvals.answer(request.approval_id, allow=True, by="ana"))
    await settle()
    assert not task.done()
    await asyncio.to_thread(life.resume, "ana")
    assert (await task).answer == "A"
