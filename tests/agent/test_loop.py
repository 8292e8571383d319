from __future__ import annotations

import asyncio
import re
from typing import Any, cast

import pytest

from dashboard.agent.agent import Agent
from dashboard.agent.history import is_paired
from dashboard.agent.loop import run_agent
from dashboard.agent.tools import tool
from dashboard.core.errors import InboxSignatureError, ModelError, NotAnInboxError, RosterError
from dashboard.core.events import (
    HistoryAppended,
    KnownEvent,
    MessageDelivered,
    RoundFinished,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolReturned,
    TurnFinished,
    TurnStarted,
)
from dashboard.core.history import ToolResult, User
from dashboard.core.inbox import Drain, Inbox, QueueInbox
from dashboard.core.mail import Boundary, Delivered
from dashboard.core.messages import Preset
from dashboard.core.outcomes import Outcome, RunEnd
from tests.agent.controlled import cancelled
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
    shorthand,
)

FOLLOWUP, INJECT = Preset.FOLLOWUP, Preset.INJECT


class FakeNarrowInbox:
    def reader(self) -> Drain:
        return list


class FakeWatchedInbox:
    """Remembers the label that each reader was opened with, and what had been told by then."""

    def __init__(self, told: Recorder) -> None:
        self._told = told
        self.opened: list[tuple[str | None, list[str]]] = []

    def reader(self, agent: str | None = None) -> Drain:
        self.opened.append((agent, self._told.names()))
        return list


async def test_the_events_of_a_run_come_in_their_order() -> None:
    stage = Stage(asks("a"), "A")
    stage.model.during = {1: lambda: stage.mail.send("x")}
    agent = Agent(stage.model, "You look.", [quick("a")], name="main", inbox=stage.inbox)
    await run_agent(agent, "p", stage.runtime)
    assert " ".join(stage.told.names()) == (
        "RunStarted HistoryAppended HistoryAppended TurnStarted "
        "RoundStarted HistoryAppended RoundFinished ToolCalled ToolReturned HistoryAppended "
        "MessageDelivered HistoryAppended BudgetExtended "
        "RoundStarted TextDelta HistoryAppended RoundFinished RunFinished"
    )
    assert stage.history == "S p T a x A"


async def test_a_run_says_who_it_is_and_who_asked_for_it() -> None:
    stage = Stage("A", "B")
    for _ in range(2):
        await run_agent(
            Agent(stage.model, max_iterations=4), "p", stage.runtime,
            label="subagent-writer", parent_run_id="run_0", parent_tool_call_id="call_1",
        )  # fmt: skip
    started = stage.told.of(RunStarted)
    assert [(event.label, event.ordinal) for event in started] == [("subagent-writer", 1), ("subagent-writer", 2)]
    assert started[0].run_id != started[1].run_id
    assert (started[0].parent_run_id, started[0].parent_tool_call_id) == ("run_0", "call_1")
    assert (started[0].task, started[0].max_iterations) == ("p", 4)


async def test_only_an_inbox_of_the_session_makes_a_run_one_that_people_can_write_to() -> None:
    stage = Stage("A", "B", "C")
    for inbox in (stage.inbox, QueueInbox(), None):
        await run_agent(stage.agent(), "p", stage.runtime, inbox=inbox)
    assert [event.reading for event in stage.told.of(RunStarted)] == [True, False, False]


async def test_a_reader_is_opened_once_right_after_the_run_has_started() -> None:
    told = Recorder()
    inbox = FakeWatchedInbox(told)
    await run_agent(Agent(FakeModel(["A"]), name="main", inbox=inbox), "p", fake_runtime(told))
    assert inbox.opened == [("main", ["RunStarted"])]


async def test_an_agent_without_a_name_gets_one_of_six_digits() -> None:
    told = Recorder()
    inbox = FakeWatchedInbox(told)
    await run_agent(Agent(FakeModel(["A"]), inbox=inbox), "p", fake_runtime(told))
    assert re.fullmatch("agent-[0-9a-f]{6}", str(inbox.opened[0][0]))


def test_an_inbox_that_is_none_or_cannot_be_called_is_refused_where_the_agent_is_made() -> None:
    with pytest.raises(NotAnInboxError, match=r"Agent\(inbox=\.\.\.\)"):
        Agent(FakeModel([]), inbox=cast("Inbox", "mailbox"))
    with pytest.raises(InboxSignatureError, match="FakeNarrowInbox"):
        Agent(FakeModel([]), inbox=cast("Inbox", FakeNarrowInbox()))


async def test_an_inbox_of_one_run_is_checked_before_any_event() -> None:
    told = Recorder()
    with pytest.raises(InboxSignatureError, match=r"run_agent\(inbox=\.\.\.\)"):
        await run_agent(Agent(FakeModel([])), "p", fake_runtime(told), inbox=cast("Inbox", FakeNarrowInbox()))
    assert told.events == []


async def test_an_absent_inbox_inherits_the_agents_and_none_turns_it_off() -> None:
    told = Recorder()
    inbox = FakeWatchedInbox(told)
    agent = Agent(FakeModel(["A", "B"]), inbox=inbox)
    await run_agent(agent, "p", fake_runtime(told), inbox=None)
    assert inbox.opened == []
    await run_agent(agent, "p", fake_runtime(told))
    assert len(inbox.opened) == 1


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"max_iterations": 0}, "max_iterations"),
        ({"tools": [quick("a"), quick("a")]}, "twice"),
        ({"tools": [quick]}, r"tool\(\.\.\.\)"),
    ],
)
def test_an_agent_that_cannot_work_is_refused_where_it_is_made(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(RosterError, match=says):
        Agent(FakeModel([]), **wrong)


async def test_a_turn_opens_with_the_prompt_then_next_turn_then_next_step() -> None:
    stage = Stage("A")
    stage.mail.send("x")
    stage.mail.send("y", FOLLOWUP)
    stage.mail.send("i", INJECT)
    await run_agent(stage.agent(), "p", stage.runtime)
    assert stage.model.sent == ["p y x i"]


async def test_mail_at_the_open_costs_no_reset() -> None:
    stage = Stage("A", "B")
    stage.mail.send("x")
    stage.model.during = {1: lambda: stage.mail.send("z")}
    result = await run_agent(stage.agent(max_iterations=1), "p", stage.runtime)
    assert result.outcome is Outcome.ANSWERED
    assert stage.history == "p x A z B"


async def test_a_followup_opens_another_turn_of_the_same_run_once_no_steer_extends_it() -> None:
    stage = Stage("A", "B", "C")

    def send() -> None:
        stage.mail.send("y", FOLLOWUP)
        stage.mail.send("x")

    stage.model.during = {1: send}
    result = await run_agent(stage.agent(), "p", stage.runtime)
    assert stage.history == "p A x B y C"
    assert result.answer == "C"
    assert [(event.turn, event.answer) for event in stage.told.of(TurnFinished)] == [(1, "B")]
    assert [event.turn for event in stage.told.of(TurnStarted)] == [1, 2]
    assert [(event.turn, event.round) for event in stage.told.of(MessageDelivered)] == [(1, 2), (2, 3)]
    assert len(stage.told.of(RunStarted)) == len(stage.told.of(RunFinished)) == 1


async def test_a_turn_that_a_followup_opens_has_a_budget_of_its_own() -> None:
    stage = Stage("A", asks("a"), "B")
    stage.model.during = {1: lambda: stage.mail.send("y", FOLLOWUP)}
    result = await run_agent(stage.agent(quick("a"), max_iterations=2), "p", stage.runtime)
    assert (stage.history, result.outcome) == ("p A y T a B", Outcome.ANSWERED)


async def test_a_failing_model_ends_the_run_with_an_error_and_its_mail_comes_back() -> None:
    stage = Stage(*[ModelError("no such model")] * 3)
    stage.model.during = {3: lambda: stage.mail.send("x")}
    result = await run_agent(stage.agent(), "p", stage.runtime)
    assert (result.outcome, result.error) == (Outcome.ERROR, "no such model")
    assert stage.told.of(RunFinished) == [
        RunFinished(run_id=result.run_id, outcome=Outcome.ERROR, error="no such model")
    ]
    assert stage.mail.returned == ("x",)


async def test_without_an_inbox_a_run_ends_as_it_always_did() -> None:
    told = Recorder()
    await run_agent(Agent(FakeModel(["A"])), "p", fake_runtime(told))
    assert told.names()[-1] == "RunFinished"


async def test_a_cancelled_run_records_its_end_and_returns_its_mail() -> None:
    stage = Stage("A")

    def cancel() -> None:
        stage.mail.send("y", FOLLOWUP)
        task.cancel()

    stage.model.during = {1: cancel}
    task = asyncio.ensure_future(run_agent(stage.agent(), "p", stage.runtime))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [event.outcome for event in stage.told.of(RunFinished)] == [Outcome.CANCELLED]
    assert stage.mail.returned == ("y",)
    assert len(stage.model.requests) == 1


async def test_cancelling_during_tools_keeps_what_returned_and_answers_the_rest() -> None:
    stage = Stage(asks("a", "b", "c"))

    async def forever() -> None:
        await asyncio.Event().wait()

    tools = (quick("a"), tool(forever, name="b"), quick("c", concurrent=False))
    task = asyncio.ensure_future(run_agent(stage.agent(*tools), "p", stage.runtime))
    await settle()
    await cancelled(task)
    stored = stage.told.history(stage.mail.run_id)
    assert is_paired(stored)
    assert [entry.content for entry in stored if isinstance(entry, ToolResult)] == [
        "done",
        "b was cancelled before it returned",
        "c was not executed",
    ]
    assert [event.name for event in stage.told.of(ToolCalled)] == ["a", "b"]
    assert [event.tool_call_id for event in stage.told.of(ToolReturned)] == ["call_a", "call_b"]
    assert stage.told.names()[-1] == "RunFinished"


class FakeSlowMail(FakeMail):
    """Stores at once, and answers only when it is let go."""

    def __init__(self, told: Recorder) -> None:
        super().__init__(told)
        self.let_go = asyncio.Event()

    async def take(self, boundary: Boundary) -> tuple[Delivered, ...]:
        taken = await super().take(boundary)
        await self.let_go.wait()
        return taken

    async def finish(self, boundary: Boundary, end: RunEnd) -> tuple[Delivered, ...]:
        taken = await super().finish(boundary, end)
        await self.let_go.wait()
        return taken


@pytest.mark.parametrize("sent", [True, False])
async def test_cancelling_while_the_mail_is_at_work_neither_loses_a_delivery_nor_ends_twice(sent: bool) -> None:
    told = Recorder()
    inbox = FakeInbox(told)
    inbox.mails = [slow := FakeSlowMail(told)]
    slow.let_go.set()
    model = FakeModel(["A"])

    def hold() -> None:
        slow.let_go.clear()
        if sent:
            slow.send("x")

    model.during = {1: hold}
    task = asyncio.ensure_future(run_agent(Agent(model, inbox=inbox), "p", fake_runtime(told)))
    await settle()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    slow.let_go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    ends = [event.outcome for event in told.of(RunFinished)]
    assert ends == [Outcome.CANCELLED if sent else Outcome.ANSWERED]
    assert slow.boundaries[-1].history_index == len(told.history(slow.run_id))


class FakeBrokenRecorder(Recorder):
    """Fails once, at the end of the first round."""

    broken = True

    def __call__(self, event: KnownEvent) -> None:
        if self.broken and isinstance(event, RoundFinished):
            self.broken = False
            raise OSError("disk full")
        super().__call__(event)


@pytest.mark.parametrize("keep_open", [True, False])
async def test_a_failure_between_a_reply_and_its_tools_leaves_a_history_that_can_be_sent(keep_open: bool) -> None:
    told = FakeBrokenRecorder()
    inbox = FakeInbox(told)
    agent = Agent(FakeModel([asks("a"), "A"]), tools=[quick("a")], inbox=inbox)
    task = asyncio.ensure_future(run_agent(agent, "p", fake_runtime(told), keep_open=keep_open))
    await settle()
    if keep_open:
        inbox.mail.send("x")
        await settle()
        await cancelled(task)
    stored = told.history(inbox.mail.run_id)
    assert is_paired(stored)
    assert shorthand(stored) == ("p T a x A" if keep_open else "p T a")


async def test_a_followup_that_opens_a_turn_is_no_reset_that_could_be_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = Stage("A", "B", "C")
    stage.model.during = {1: lambda: stage.mail.send("x"), 2: lambda: stage.mail.send("y", FOLLOWUP)}
    await run_agent(stage.agent(max_iterations=1), "p", stage.runtime)
    assert stage.history == "p A x B y C"
    assert caplog.records == []


async def test_what_nobody_foresaw_ends_the_run_with_its_type_and_a_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = Stage("A")
    stage.model.during = {1: lambda: 1 / 0}
    result = await run_agent(stage.agent(), "p", stage.runtime)
    assert result.error == "ZeroDivisionError: division by zero"
    assert "Traceback" in caplog.text


async def test_stored_entries_are_what_was_sent() -> None:
    stage = Stage("A")
    await run_agent(stage.agent(), "p", stage.runtime)
    assert [event.entry for event in stage.told.of(HistoryAppended)][:1] == [User("p")]
    assert stage.model.requests[0].history == (User("p"),)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"model": "gpt"}, r"Agent\(model=\.\.\.\) is no model: it got 'gpt'. Give an object with stream"),
        ({"tools": None}, r"Agent\(tools=\.\.\.\) is no list: it got None"),
        ({"max_iterations": "5"}, r"Agent\(max_iterations=\.\.\.\) is no budget: it got '5'"),
        ({"turn_claim": "two"}, r"Agent\(turn_claim=\.\.\.\) is unknown: it got 'two'. Give 'all' or 'one'"),
        ({"name": "a#1"}, r"Agent\(name=\.\.\.\) cannot be a label: it got 'a#1'"),
        ({"name": ""}, r"Agent\(name=\.\.\.\) cannot be a label: it got ''"),
    ],
)
def test_a_mistake_in_an_agent_names_the_thing_the_place_and_the_fix(given: dict[str, Any], says: str) -> None:
    with pytest.raises(RosterError, match=says):
        Agent(**{"model": FakeModel([]), **given})
