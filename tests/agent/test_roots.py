"""A run that is kept open: idle between turns, woken by mail, and not ended by a turn that fails."""

from __future__ import annotations

import asyncio

import pytest

from dashboard.agent.agent import Agent
from dashboard.agent.loop import run_agent
from dashboard.core.errors import ModelError
from dashboard.core.events import (
    MessageDelivered,
    RunFinished,
    TurnFinished,
    TurnStarted,
)
from dashboard.core.mail import BoundaryKind
from dashboard.core.messages import Preset
from dashboard.core.outcomes import Outcome
from tests.agent.controlled import cancelled, opened
from tests.agent.fakes import (
    FakeInbox,
    FakeMail,
    FakeModel,
    Recorder,
    Stage,
    asks,
    fake_runtime,
    quick,
    settle,
)

FOLLOWUP, INJECT = Preset.FOLLOWUP, Preset.INJECT


async def test_a_root_is_idle_between_turns_and_a_steer_opens_the_next() -> None:
    stage = Stage("A", "B")
    task = opened(stage)
    await settle()
    assert stage.told.names()[-1] == "TurnFinished"
    assert not task.done()
    stage.mail.send("x")
    await settle()
    assert stage.history == "p A x B"
    assert [(event.turn, event.answer) for event in stage.told.of(TurnFinished)] == [(1, "A"), (2, "B")]
    (delivered,) = stage.told.of(MessageDelivered)
    assert (delivered.turn, delivered.round) == (2, 2)
    await cancelled(task)
    assert stage.told.of(RunFinished)[0] == RunFinished(
        run_id=stage.mail.run_id, outcome=Outcome.CANCELLED, answer="B"
    )


async def test_an_inject_alone_starts_no_turn_and_goes_with_the_next() -> None:
    stage = Stage("A", "B")
    task = opened(stage)
    await settle()
    stage.mail.send("i", INJECT)
    await settle()
    assert len(stage.model.requests) == 1
    stage.mail.send("x")
    await settle()
    assert stage.history == "p A i x B"
    assert len(stage.told.of(TurnStarted)) == 2
    await cancelled(task)


async def test_followups_and_steers_of_a_root_are_answered_in_their_turns() -> None:
    stage = Stage("A", "B", "C")

    def send() -> None:
        stage.mail.send("x")
        stage.mail.send("y", FOLLOWUP)

    stage.model.during = {1: send}
    task = opened(stage)
    await settle()
    assert stage.history == "p A x B y C"
    assert [event.turn for event in stage.told.of(TurnStarted)] == [1, 2]
    await cancelled(task)


async def test_a_root_without_a_task_waits_for_its_first_message() -> None:
    stage = Stage("A")
    task = opened(stage, "")
    await settle()
    assert stage.model.requests == []
    stage.mail.send("x")
    await settle()
    assert stage.history == "x A"
    assert [event.turn for event in stage.told.of(TurnStarted)] == [1]
    await cancelled(task)


class FakeFickleMail(FakeMail):
    """Wakes once for a message that is withdrawn before it is taken."""

    fickle = 1

    async def wait(self) -> None:
        if self.fickle:
            self.fickle -= 1
            return
        await super().wait()


async def test_a_message_that_is_withdrawn_before_it_is_taken_starts_no_turn() -> None:
    told = Recorder()
    inbox = FakeInbox(told)
    inbox.mails = [mail := FakeFickleMail(told)]
    task = asyncio.ensure_future(
        run_agent(Agent(FakeModel(["A"]), inbox=inbox), "", fake_runtime(told), keep_open=True)
    )
    await settle()
    assert {at.kind for at in mail.boundaries} == {BoundaryKind.WAKE}
    assert told.of(TurnStarted) == []
    await cancelled(task)


async def test_a_failing_turn_of_a_root_is_told_and_the_root_lives_on() -> None:
    stage = Stage(*[ModelError("overloaded")] * 3, "A")
    task = opened(stage)
    await settle()
    (ended,) = stage.told.of(TurnFinished)
    assert (ended.outcome, ended.error) == (Outcome.ERROR, "overloaded")
    assert stage.told.names()[-1] == "TurnFinished"
    stage.mail.send("x")
    await settle()
    assert stage.history == "p x A"
    await cancelled(task)


async def test_a_wrapped_up_turn_of_a_root_ends_alone() -> None:
    stage = Stage(asks("a"), "A", "B")
    stage.model.during = {2: lambda: stage.mail.send("x")}
    task = opened(stage, "p", quick("a"), max_iterations=1)
    await settle()
    assert stage.history == "p T a <final_answer> A x B"
    assert [event.answer for event in stage.told.of(TurnFinished)] == ["A", "B"]
    await cancelled(task)


async def test_a_root_goes_on_from_a_wrap_up_that_asked_for_tools() -> None:
    stage = Stage(asks("a"), asks("a"), "A")
    task = opened(stage, "p", quick("a"), max_iterations=1)
    await settle()
    stage.mail.send("x")
    await settle()
    assert stage.history == "p T a <final_answer> T a x A"
    await cancelled(task)


async def test_a_root_has_a_new_budget_and_new_resets_each_turn(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage("A", "B", "C", "D")
    stage.model.during = {1: lambda: stage.mail.send("x"), 3: lambda: stage.mail.send("z")}
    task = opened(stage, max_iterations=1)
    await settle()
    stage.mail.send("y")
    await settle()
    assert stage.history == "p A x B y C z D"
    assert caplog.records == []
    await cancelled(task)
