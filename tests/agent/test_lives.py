"""Control of one run while it lives: cancel it or its subtree, hold it at a boundary, let it make one round."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from dashboard.agent.agent import Agent
from dashboard.agent.life import Life
from dashboard.agent.loop import RunResult, run_agent
from dashboard.agent.subagents import make_subagent_tool
from dashboard.core.errors import ControlRefusedError, HostError, ModelError
from dashboard.core.events import (
    KnownEvent,
    MessageDelivered,
    RoundStarted,
    RunFinished,
    RunPaused,
    RunResumed,
    RunStarted,
    ToolReturned,
    TurnFinished,
    TurnStarted,
)
from dashboard.core.history import Assistant, ToolResult
from dashboard.core.messages import Preset
from dashboard.core.outcomes import Outcome
from dashboard.models.base import ModelEvent, ModelRequest, TextPart
from dashboard.models.scripted import ScriptedModel, call
from tests.agent.fakes import FakeModel, Gate, Stage, asks, quick, settle


def begun(stage: Stage, agent: Agent, *, keep_open: bool = False) -> asyncio.Task[RunResult]:
    return asyncio.ensure_future(run_agent(agent, "p", stage.runtime, keep_open=keep_open))


def life_of(stage: Stage, label: str) -> Life:
    (started,) = [event for event in stage.told.of(RunStarted) if event.label == label][-1:]
    return stage.runtime.lives[started.run_id]


def spawning(*types: str) -> Assistant:
    return Assistant("", tool_calls=tuple(call("subagent", agent_type=name, task="look") for name in types))


async def test_a_cancelled_run_ends_with_who_cancelled_it_and_its_mail_comes_back() -> None:
    stage, gate = Stage(asks("wait")), Gate()
    task = begun(stage, stage.agent(gate.tool))
    await settle()
    stage.mail.send("y", Preset.FOLLOWUP)
    stage.runtime.lives.cancel(stage.mail.run_id, "stopped by ana")
    result = await task
    assert (result.outcome, result.error) == (Outcome.CANCELLED, "stopped by ana")
    (finished,) = stage.told.of(RunFinished)
    assert (finished.outcome, finished.error) == (Outcome.CANCELLED, "stopped by ana")
    assert stage.mail.returned == ("y",)
    assert stage.history == "p T wait"
    assert len(stage.model.requests) == 1


def family(gate: Gate) -> Agent:
    """``main`` spawns ``slow``, which waits in its tool, and ``quick``; each answers once results are there."""
    model = ScriptedModel(play)
    spawn = make_subagent_tool(model, agent_types={"slow": {"tools": [gate.tool]}, "quick": {}})
    return Agent(model, tools=(spawn,), name="main")


def play(request: ModelRequest) -> Assistant:
    label = request.label
    if isinstance(request.history[-1], ToolResult):
        return Assistant(f"{label} answers")
    if label == "main":
        return spawning("slow", "quick")
    if label == "subagent-slow":
        return asks("wait")
    return Assistant("quick answers")


async def test_a_cancelled_sub_agent_is_a_tool_error_to_its_parent_and_its_sibling_goes_on() -> None:
    stage, gate = Stage(), Gate()
    task = begun(stage, family(gate))
    await settle()
    stage.runtime.lives.cancel(life_of(stage, "subagent-slow").run_id, "stopped by ana")
    result = await task
    assert result.answer == "main answers"
    results = {event.text: event.is_error for event in stage.told.of(ToolReturned)}
    assert results["quick answers"] is False
    (error,) = [text for text in results if "was cancelled: stopped by ana" in text]
    assert error.startswith("subagent-slow#1")
    assert results[error] is True


async def test_a_run_with_live_sub_agents_is_not_cancelled_alone_and_the_refusal_names_them() -> None:
    stage, gate = Stage(), Gate()
    task = begun(stage, family(gate))
    await settle()
    main = life_of(stage, "main")
    with pytest.raises(ControlRefusedError, match=r"main waits for subagent-slow#1.*subtree"):
        stage.runtime.lives.cancel(main.run_id, "stopped by ana")
    stage.runtime.lives.cancel_subtree(main.run_id, "stopped by ana")
    assert (await task).outcome is Outcome.CANCELLED
    ends = [(event.outcome, event.error) for event in stage.told.of(RunFinished)]
    assert ends[-2:] == [
        (Outcome.CANCELLED, "stopped by ana, with main"),
        (Outcome.CANCELLED, "stopped by ana"),
    ]


async def test_cancelling_a_root_ends_its_turn_alone_and_a_new_steer_starts_another_with_itself_alone() -> None:
    stage, gate = Stage(asks("wait"), "A"), Gate()
    task = begun(stage, stage.agent(gate.tool), keep_open=True)
    await settle()
    stage.mail.send("old")
    stage.runtime.lives.cancel(stage.mail.run_id, "stopped by ana")
    await settle()
    assert stage.mail.returned == ("old",)
    (ended,) = stage.told.of(TurnFinished)
    assert (ended.outcome, ended.error) == (Outcome.CANCELLED, "stopped by ana")
    stage.mail.send("new")
    await settle()
    assert stage.history == "p T wait new A"
    assert [event.turn for event in stage.told.of(TurnStarted)] == [1, 2]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_cancelling_an_idle_root_gives_its_mail_back_and_opens_no_turn() -> None:
    stage = Stage("A")
    task = begun(stage, stage.agent(), keep_open=True)
    await settle()
    stage.mail.send("i", Preset.INJECT)
    stage.runtime.lives.cancel(stage.mail.run_id, "stopped by ana")
    await settle()
    assert stage.mail.returned == ("i",)
    assert [event.outcome for event in stage.told.of(TurnFinished)] == [Outcome.ANSWERED]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_run_whose_task_is_cancelled_from_outside_still_raises() -> None:
    stage, gate = Stage(asks("wait")), Gate()
    task = begun(stage, stage.agent(gate.tool))
    await settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [event.outcome for event in stage.told.of(RunFinished)] == [Outcome.CANCELLED]


async def test_a_cancel_of_a_run_that_is_ending_is_refused() -> None:
    stage, gate = Stage(asks("wait")), Gate()
    task = begun(stage, stage.agent(gate.tool))
    await settle()
    run_id = stage.mail.run_id
    stage.runtime.lives.cancel(run_id, "stopped by ana")
    with pytest.raises(ControlRefusedError, match="ending already"):
        stage.runtime.lives.cancel(run_id, "stopped by bo")
    assert (await task).error == "stopped by ana"
    with pytest.raises(ControlRefusedError, match="no run"):
        stage.runtime.lives.cancel(run_id, "stopped by bo")


async def test_a_paused_run_holds_at_its_next_boundary_and_reads_what_was_written_meanwhile_first() -> None:
    stage = Stage(asks("a"), "A")
    stage.model.during = {1: lambda: life_of(stage, "main").pause("ana")}
    task = begun(stage, stage.agent(quick("a")))
    await settle()
    assert stage.told.of(RunPaused) == [RunPaused(run_id=stage.mail.run_id, by="ana")]
    assert stage.history == "p T a"
    stage.mail.send("x")
    await settle()
    assert stage.history == "p T a"
    life_of(stage, "main").resume("bo")
    assert (await task).answer == "A"
    assert stage.history == "p T a x A"
    assert stage.told.of(RunResumed) == [RunResumed(run_id=stage.mail.run_id, by="bo")]


async def test_a_run_that_would_end_is_held_before_it_does_and_can_be_extended() -> None:
    stage = Stage("A", "B")
    stage.model.during = {1: lambda: life_of(stage, "main").pause("ana")}
    task = begun(stage, stage.agent())
    await settle()
    assert not task.done()
    stage.mail.send("x")
    life_of(stage, "main").resume("ana")
    assert (await task).answer == "B"


async def test_a_step_lets_exactly_one_round_pass_and_holds_again() -> None:
    stage = Stage(asks("a"), asks("a"), "A")
    stage.model.during = {1: lambda: life_of(stage, "main").pause("ana")}
    task = begun(stage, stage.agent(quick("a")))
    for rounds in (1, 2, 3):
        await settle()
        assert len(stage.told.of(RoundStarted)) == rounds
        assert len(stage.told.of(RunPaused)) == rounds
        life_of(stage, "main").step("ana")
    assert (await task).answer == "A"
    assert [event.one_round for event in stage.told.of(RunResumed)] == [True, True, True]


async def test_a_paused_run_does_not_hold_its_sub_agents() -> None:
    stage, gate = Stage(), Gate()
    task = begun(stage, family(gate))
    await settle()
    life_of(stage, "main").pause("ana")
    gate.opened.set()
    await settle()
    assert len(stage.told.of(RunFinished)) == 2
    assert not task.done()
    life_of(stage, "main").resume("ana")
    assert (await task).answer == "main answers"


async def test_an_idle_root_that_is_paused_says_so_at_once_and_opens_its_turn_when_it_goes_on() -> None:
    stage = Stage("A", "B")
    task = begun(stage, stage.agent(), keep_open=True)
    await settle()
    life = life_of(stage, "main")
    life.pause("ana")
    assert len(stage.told.of(RunPaused)) == 1
    with pytest.raises(ControlRefusedError, match="idle, and has no round to make. Write to it first"):
        life.step("ana")
    stage.mail.send("x")
    await settle()
    assert len(stage.told.of(TurnStarted)) == 1
    life.resume("ana")
    await settle()
    assert stage.history == "p A x B"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_an_idle_root_that_is_paused_can_be_stepped_once_something_is_there_to_read() -> None:
    stage = Stage("A", asks("a"), "B")
    task = begun(stage, stage.agent(quick("a")), keep_open=True)
    await settle()
    life = life_of(stage, "main")
    life.pause("ana")
    stage.mail.send("x")
    await settle()
    life.step("ana")
    await settle()
    assert stage.history == "p A x T a"
    assert len(stage.told.of(RunPaused)) == 2
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_step_that_ended_a_turn_allows_no_round_of_the_next() -> None:
    stage = Stage("A", "B")
    stage.model.during = {1: lambda: life_of(stage, "main").pause("ana")}
    task = begun(stage, stage.agent(), keep_open=True)
    await settle()
    life_of(stage, "main").step("ana")
    await settle()
    assert stage.told.names()[-2:] == ["TurnFinished", "RunPaused"]
    stage.mail.send("x")
    await settle()
    assert len(stage.told.of(RoundStarted)) == 1
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_listener_may_resume_a_run_in_the_moment_in_which_it_is_held() -> None:
    stage = Stage(asks("a"), "A")
    stage.model.during = {1: lambda: life_of(stage, "main").pause("ana")}
    runtime = stage.runtime

    def go_on(event: KnownEvent) -> None:
        if isinstance(event, RunPaused):
            runtime.lives[event.run_id].resume("auto")

    runtime.listeners = (go_on,)
    assert (await begun(stage, stage.agent(quick("a")))).answer == "A"


class Hiding:
    """A client that makes an error of a cancellation."""

    def __init__(self, error: Exception) -> None:
        self.requests = 0
        self._error = error

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self.requests += 1
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise self._error from None
        yield TextPart("never")


@pytest.mark.parametrize("error", [RuntimeError("closed"), ModelError("closed")])
async def test_a_cancel_ends_a_run_whose_model_hides_it_and_leaves_no_count_behind(error: Exception) -> None:
    stage, model = Stage(), Hiding(error)
    me = asyncio.current_task()
    assert me is not None

    async def cancel() -> None:
        await settle()
        life_of(stage, "main").cancel("stopped by ana")

    other = asyncio.ensure_future(cancel())
    result = await run_agent(Agent(model, name="main"), "p", stage.runtime)
    await other
    assert (result.outcome, result.error, model.requests) == (Outcome.CANCELLED, "stopped by ana", 1)
    assert me.cancelling() == 0


async def test_a_run_that_has_recorded_its_end_is_not_cancelled_any_more() -> None:
    stage = Stage("A")
    runtime, refused = stage.runtime, []

    def too_late(event: KnownEvent) -> None:
        if isinstance(event, RunFinished):
            with pytest.raises(ControlRefusedError) as caught:
                runtime.lives.cancel(event.run_id, "stopped by ana")
            refused.append(caught.value.what)

    runtime.listeners = (too_late,)
    assert (await begun(stage, stage.agent())).outcome is Outcome.ANSWERED
    assert refused == ["main is ending already"]


@pytest.mark.parametrize("steps", range(12))
async def test_what_wakes_an_idle_root_belongs_to_a_turn_whenever_the_cancel_comes(steps: int) -> None:
    """T3, A11: read and then cancelled with its turn, or returned: never read by no turn."""
    stage = Stage("A", "B", "C")
    task = begun(stage, stage.agent(), keep_open=True)
    await settle()
    stage.mail.send("x")
    for _ in range(steps):
        await asyncio.sleep(0)
    life_of(stage, "main").cancel("stopped by ana")
    await settle()
    read = any(event.message_id == "msg_x" for event in stage.told.of(MessageDelivered))
    assert read is (len(stage.told.of(TurnStarted)) == 2)
    assert read is ("x" not in stage.mail.returned)
    assert len(stage.told.of(TurnFinished)) == len(stage.told.of(TurnStarted))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_who_cancelled_an_earlier_turn_has_not_ended_the_run() -> None:
    stage, gate = Stage(asks("wait"), "A"), Gate()
    task = begun(stage, stage.agent(gate.tool), keep_open=True)
    await settle()
    stage.runtime.lives.cancel(stage.mail.run_id, "stopped by ana")
    await settle()
    await stage.runtime.lives.end_all("the session was stopped")
    assert (await task).error == "the session was stopped"


async def test_no_run_starts_once_all_are_being_ended() -> None:
    stage = Stage("A")
    await stage.runtime.lives.end_all("the session was stopped")
    with pytest.raises(HostError, match="the session was stopped"):
        await begun(stage, stage.agent())
    assert stage.told.events == []


class AbortError(BaseException):
    """As some libraries have them."""


async def test_a_tool_that_raises_what_is_no_exception_is_an_error_to_the_model_alone() -> None:
    stage = Stage(asks("a"), "A")

    def abort() -> None:
        raise AbortError

    assert (await begun(stage, stage.agent(quick("a", abort)))).answer == "A"


async def test_a_model_that_raises_what_is_no_exception_leaves_no_run_without_an_end() -> None:
    class Aborting:
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
            if request.history:
                raise AbortError
            yield TextPart("never")

    stage = Stage()
    with pytest.raises(AbortError):
        await run_agent(Agent(Aborting(), name="main"), "p", stage.runtime)
    assert [event.outcome for event in stage.told.of(RunFinished)] == [Outcome.ERROR]
    assert list(stage.runtime.lives) == []


async def test_a_held_run_can_be_cancelled() -> None:
    stage = Stage(asks("a"))
    stage.model.during = {1: lambda: life_of(stage, "main").pause("ana")}
    task = begun(stage, stage.agent(quick("a")))
    await settle()
    stage.runtime.lives.cancel(stage.mail.run_id, "stopped by ana")
    assert (await task).outcome is Outcome.CANCELLED


async def test_what_cannot_be_done_now_is_refused_with_the_reason() -> None:
    stage, gate = Stage(asks("wait"), "A"), Gate()
    task = begun(stage, stage.agent(gate.tool))
    await settle()
    life = life_of(stage, "main")
    with pytest.raises(ControlRefusedError, match="not paused"):
        life.resume("ana")
    with pytest.raises(ControlRefusedError, match="not paused.*Pause it first"):
        life.step("ana")
    life.pause("ana")
    with pytest.raises(ControlRefusedError, match="paused already: by ana"):
        life.pause("bo")
    with pytest.raises(ControlRefusedError, match="next boundary"):
        life.step("ana")
    life.resume("ana")
    assert not {"RunPaused", "RunResumed"} & set(stage.told.names())  # it never came to hold
    gate.opened.set()
    assert (await task).answer == "A"


async def test_no_life_is_left_behind() -> None:
    stage = Stage("A")
    await run_agent(Agent(FakeModel(["A"])), "p", stage.runtime)
    assert list(stage.runtime.lives) == []
