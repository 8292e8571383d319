"""Cancelling one run, or a subtree: what ends, what comes back, and what nobody else notices."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from dashboard.agent.agent import Agent
from dashboard.agent.loop import run_agent
from dashboard.core.errors import ControlRefusedError, HostError, ModelError
from dashboard.core.events import (
    KnownEvent,
    MessageDelivered,
    RunFinished,
    ToolReturned,
    TurnFinished,
    TurnStarted,
)
from dashboard.core.messages import Preset
from dashboard.core.outcomes import Outcome
from dashboard.models.base import ModelEvent, ModelRequest, TextPart
from tests.agent.controlled import begun, family, life_of
from tests.agent.fakes import FakeModel, Gate, Stage, asks, quick, settle


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


async def test_no_life_is_left_behind() -> None:
    stage = Stage("A")
    await run_agent(Agent(FakeModel(["A"])), "p", stage.runtime)
    assert list(stage.runtime.lives) == []
