"""Holding a run at a boundary, letting it make one round, and letting it go on. Its mail goes on all the while."""

from __future__ import annotations

import asyncio

import pytest

from dashboard.core.errors import ControlRefusedError
from dashboard.core.events import (
    KnownEvent,
    RoundStarted,
    RunFinished,
    RunPaused,
    RunResumed,
    TurnStarted,
)
from dashboard.core.mail import Boundary, Delivered
from dashboard.core.outcomes import Outcome, RunEnd
from tests.agent.controlled import begun, family, life_of
from tests.agent.fakes import Gate, Stage, asks, quick, settle


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


@pytest.mark.parametrize("control", ["pause", "step", "resume"])
async def test_a_held_run_whose_end_is_being_recorded_takes_no_control_and_tells_nothing_behind_its_end(
    control: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end goes through the journal's queue: what is told meanwhile would stand behind it."""
    stage = Stage(asks("a"), "A")
    stage.model.during = {1: lambda: life_of(stage, "main").pause("ana")}
    task = begun(stage, stage.agent(quick("a")))
    await settle()
    life, finish = life_of(stage, "main"), stage.mail.finish
    recorded = asyncio.Event()

    async def finish_slowly(boundary: Boundary, end: RunEnd) -> tuple[Delivered, ...]:
        await recorded.wait()
        return await finish(boundary, end)

    monkeypatch.setattr(stage.mail, "finish", finish_slowly)
    life.cancel("stopped by ana")
    await settle()
    with pytest.raises(ControlRefusedError, match="main is ending already"):
        getattr(life, control)("bo")
    recorded.set()
    assert (await task).outcome is Outcome.CANCELLED
    assert stage.told.of(RunResumed) == []
