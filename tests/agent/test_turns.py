from __future__ import annotations

import logging

import pytest

from dashboard.agent.agent import Agent
from dashboard.agent.loop import run_agent
from dashboard.agent.turns import PROMPTS
from dashboard.core.events import HistoryAppended, LoopContinued, MessageDelivered, RoundStarted, TurnFinished
from dashboard.core.history import Assistant, Provenance, User
from dashboard.core.inbox import Drain, QueueInbox
from dashboard.core.mail import BoundaryKind
from dashboard.core.messages import Preset, SenderKind
from dashboard.core.outcomes import Outcome
from tests.agent.fakes import Cut, FakeModel, Recorder, Stage, asks, fake_runtime, quick

INJECT, FOLLOWUP = Preset.INJECT, Preset.FOLLOWUP


async def test_a_message_during_the_answer_extends_the_turn_by_a_round() -> None:
    stage = Stage("A", "B")
    stage.model.during = {1: lambda: stage.mail.send("x")}
    result = await run_agent(stage.agent(), "p", stage.runtime)
    assert stage.history == "p A x B"
    assert result.answer == "B"


async def test_with_a_budget_of_one_a_message_during_the_only_request_makes_a_second() -> None:
    stage = Stage("A", "B")
    stage.model.during = {1: lambda: stage.mail.send("x")}
    result = await run_agent(stage.agent(max_iterations=1), "p", stage.runtime)
    assert stage.model.sent == ["p", "p A x"]
    assert result.outcome is Outcome.ANSWERED


async def test_an_inject_alone_extends_nothing_and_comes_back() -> None:
    stage = Stage("A")
    stage.model.during = {1: lambda: stage.mail.send("x", INJECT)}
    await run_agent(stage.agent(), "p", stage.runtime)
    assert stage.history == "p A"
    assert stage.mail.returned == ("x",)


async def test_an_inject_rides_along_where_a_message_wakes() -> None:
    stage = Stage("A", "B")

    def send() -> None:
        stage.mail.send("i", INJECT)
        stage.mail.send("x")

    stage.model.during = {1: send}
    await run_agent(stage.agent(), "p", stage.runtime)
    assert stage.history == "p A i x B"


async def test_an_inject_is_read_after_tools_and_resets_no_budget() -> None:
    stage = Stage(asks("a"), asks("a"), "A")
    stage.model.during = {1: lambda: stage.mail.send("i", INJECT)}
    result = await run_agent(stage.agent(quick("a"), max_iterations=2), "p", stage.runtime)
    assert stage.history == "p T a i T a <final_answer> A"
    assert result.outcome is Outcome.WRAP_UP


async def test_a_degenerate_turn_is_nudged_and_the_nudge_says_whose_it_is() -> None:
    stage = Stage(" ", "A")
    await run_agent(stage.agent(), "p", stage.runtime)
    assert stage.history == "p   <continuation> A"
    assert stage.told.of(LoopContinued) == [
        LoopContinued(run_id=stage.mail.run_id, round=2, kind=Provenance.CONTINUATION)
    ]
    assert stage.model.requests[1].history[-1] == User(PROMPTS[Provenance.CONTINUATION], Provenance.CONTINUATION)


async def test_a_message_replaces_the_nudge() -> None:
    stage = Stage("", "A")
    stage.model.during = {1: lambda: stage.mail.send("x")}
    await run_agent(stage.agent(), "p", stage.runtime)
    assert stage.history == "p - x A"
    assert stage.told.of(LoopContinued) == []


async def test_an_inject_never_replaces_the_nudge() -> None:
    stage = Stage("", "A")
    stage.model.during = {1: lambda: stage.mail.send("i", INJECT)}
    await run_agent(stage.agent(), "p", stage.runtime)
    assert stage.history == "p - i <continuation> A"


async def test_every_degenerate_turn_is_nudged_until_the_budget_ends_in_a_wrap_up() -> None:
    stage = Stage("", "", "", "A")
    result = await run_agent(stage.agent(max_iterations=3), "p", stage.runtime)
    assert stage.history == "p - <continuation> - <continuation> - <final_answer> A"
    assert (result.outcome, result.answer) == (Outcome.WRAP_UP, "A")


async def test_a_message_is_stored_as_a_plain_user_entry() -> None:
    stage = Stage("A", "B")
    stage.model.during = {1: lambda: stage.mail.send(" x ")}
    await run_agent(stage.agent(), "p", stage.runtime)
    (delivered,) = stage.told.of(MessageDelivered)
    assert (delivered.turn, delivered.round, delivered.history_index) == (1, 2, 2)
    assert stage.told.history(stage.mail.run_id)[2] == User(" x ")


async def test_the_wrap_up_has_no_tools_and_is_no_round_of_the_budget() -> None:
    stage = Stage(asks("a"), asks("a"), "A")
    await run_agent(stage.agent(quick("a"), max_iterations=2), "p", stage.runtime)
    assert [bool(request.tools) for request in stage.model.requests] == [True, True, False]
    assert [event.step for event in stage.told.of(RoundStarted)] == [1, 2, 2]
    assert stage.told.of(LoopContinued) == [
        LoopContinued(run_id=stage.mail.run_id, round=3, kind=Provenance.FINAL_ANSWER)
    ]


async def test_tools_that_a_wrap_up_asks_for_are_answered_as_not_executed() -> None:
    stage = Stage(asks("a"), asks("a"))
    ran: list[str] = []
    result = await run_agent(
        stage.agent(quick("a", lambda: ran.append("a")), max_iterations=1), "p", stage.runtime
    )
    assert stage.history == "p T a <final_answer> T a"
    assert ran == ["a"]
    assert (result.outcome, result.answer) == (Outcome.WRAP_UP, "")


async def test_at_the_cap_a_waking_message_resets_the_budget_and_tools_stay_on() -> None:
    stage = Stage(asks("a"), asks("a"), asks("a"), "A")
    stage.model.during = {2: lambda: stage.mail.send("x")}
    result = await run_agent(stage.agent(quick("a"), max_iterations=2), "p", stage.runtime)
    assert stage.history == "p T a T a x T a A"
    assert [event.step for event in stage.told.of(RoundStarted)] == [1, 2, 1, 2]
    assert result.outcome is Outcome.ANSWERED


async def test_with_no_resets_left_the_message_rides_the_wrap_up_and_one_warning_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = Stage("A", "B", "C")
    stage.model.during = {number: lambda: stage.mail.send("x") for number in (1, 2)}
    result = await run_agent(stage.agent(max_iterations=1), "p", stage.runtime)
    assert stage.history == "p A x B x <final_answer> C"
    assert result.outcome is Outcome.WRAP_UP
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "1 times" in caplog.text


async def test_nothing_extends_a_wrap_up() -> None:
    stage = Stage(asks("a"), "A")
    stage.model.during = {2: lambda: stage.mail.send("x")}
    await run_agent(stage.agent(quick("a"), max_iterations=1), "p", stage.runtime)
    assert stage.history == "p T a <final_answer> A"
    assert stage.mail.returned == ("x",)


async def test_a_wrap_up_ends_its_turn_and_a_follow_up_opens_another_with_a_budget_of_its_own() -> None:
    stage = Stage(asks("a"), "A", asks("a"), "B")

    def send() -> None:
        stage.mail.send("x")
        stage.mail.send("y", FOLLOWUP)

    stage.model.during = {2: send}
    result = await run_agent(stage.agent(quick("a"), max_iterations=1), "p", stage.runtime)
    assert stage.history == "p T a <final_answer> A y x T a <final_answer> B"
    assert [event.outcome for event in stage.told.of(TurnFinished)] == [Outcome.WRAP_UP]
    assert (result.outcome, result.answer) == (Outcome.WRAP_UP, "B")


async def test_injects_of_a_degenerate_turn_at_the_cap_ride_the_wrap_up() -> None:
    stage = Stage("", "A")
    stage.model.during = {1: lambda: stage.mail.send("i", INJECT)}
    await run_agent(stage.agent(max_iterations=1), "p", stage.runtime)
    assert stage.history == "p - i <final_answer> A"


async def test_an_agents_mail_extends_a_turn_but_never_the_budget() -> None:
    stage = Stage("A", "B")
    stage.model.during = {1: lambda: stage.mail.send("x", kind=SenderKind.AGENT)}
    result = await run_agent(stage.agent(max_iterations=1), "p", stage.runtime)
    assert stage.history == "p A x <final_answer> B"
    assert result.outcome is Outcome.WRAP_UP


@pytest.mark.parametrize("turn", ["A", asks("a"), ""], ids=["answers", "tools", "degenerate"])
@pytest.mark.parametrize("most", [1, 2, 3])
async def test_mail_at_every_point_makes_no_more_requests_than_the_bound(turn: str | Assistant, most: int) -> None:
    stage = Stage(turn)
    stage.model.forever = True
    stage.model.during = {number: lambda: stage.mail.send("x") for number in range(1, 100)}
    await run_agent(stage.agent(quick("a"), max_iterations=most), "p", stage.runtime)
    assert len(stage.model.requests) <= most * (most + 1) + 1
    assert stage.history.count("x") == len(stage.model.requests) - 1  # none but the wrap-up's own was lost


async def test_mail_at_every_cap_makes_exactly_as_many_requests_as_the_bound() -> None:
    stage = Stage(asks("a"))
    stage.model.forever = True
    stage.model.during = {number: lambda: stage.mail.send("x") for number in (3, 6, 9, 12)}
    await run_agent(stage.agent(quick("a"), max_iterations=3), "p", stage.runtime)
    assert len(stage.model.requests) == 13
    assert [len(request.tools) for request in stage.model.requests] == [1] * 12 + [0]


class FakeStuckInbox:
    """A mailbox whose drain gives its whole list each time."""

    def reader(self, agent: str | None = None) -> Drain:
        return lambda: ["x"]


async def test_a_drain_that_never_advances_is_warned_of_once_and_still_delivered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = Recorder()
    model = FakeModel(["A"], forever=True)
    result = await run_agent(Agent(model, max_iterations=3, inbox=FakeStuckInbox()), "p", fake_runtime(told))
    assert result.outcome is Outcome.WRAP_UP
    assert len(model.requests) <= 13
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "3 times" in caplog.text


async def test_a_plain_inbox_is_read_after_the_tools_and_not_at_the_open() -> None:
    inbox = QueueInbox()
    inbox.send("x")
    inbox.send("y")
    model = FakeModel([asks("a"), "A"])
    await run_agent(Agent(model, tools=[quick("a")], inbox=inbox), "p", fake_runtime(Recorder()))
    assert model.sent == ["p", "p T a x\n\ny"]


async def test_white_space_makes_no_round() -> None:
    inbox = QueueInbox()
    inbox.send("  \n")
    model = FakeModel(["A"])
    await run_agent(Agent(model, inbox=inbox), "p", fake_runtime(Recorder()))
    assert model.sent == ["p"]


async def test_a_cut_reply_without_text_is_an_error_and_no_nudge() -> None:
    stage = Stage(Cut(Assistant(" ")))
    result = await run_agent(stage.agent(), "p", stage.runtime)
    assert result.outcome is Outcome.ERROR
    assert "cut" in result.error
    assert stage.told.of(LoopContinued) == []


async def test_a_cut_reply_with_text_is_an_answer() -> None:
    stage = Stage(Cut(Assistant("A")))
    assert (await run_agent(stage.agent(), "p", stage.runtime)).answer == "A"


async def test_a_message_stands_in_every_later_request_as_it_was_typed() -> None:
    stage = Stage(asks("a"), asks("a"), "A")
    stage.model.during = {1: lambda: stage.mail.send("\tx \n")}
    await run_agent(stage.agent(quick("a")), "p", stage.runtime)
    assert all(request.history[3] == User("\tx \n") for request in stage.model.requests[1:])


async def test_boundaries_say_where_the_loop_stands() -> None:
    stage = Stage(asks("a"), "", "A")
    await run_agent(stage.agent(quick("a")), "p", stage.runtime)
    assert [(at.kind, at.turn, at.round, at.history_index) for at in stage.mail.boundaries] == [
        (BoundaryKind.TURN_OPEN, 1, 1, 1),
        (BoundaryKind.AFTER_TOOLS, 1, 2, 3),
        (BoundaryKind.DEGENERATE, 1, 3, 4),
        (BoundaryKind.FINAL, 1, 4, 6),
    ]
    assert len(stage.told.of(HistoryAppended)) == 6
