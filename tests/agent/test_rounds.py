from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import pairwise

import pytest

from dashboard.agent.agent import Agent
from dashboard.agent.loop import run_agent
from dashboard.agent.rounds import RETRIES
from dashboard.agent.tools import tool
from dashboard.core.errors import ModelError
from dashboard.core.events import (
    HistoryAppended,
    NoticeRaised,
    ReasoningDelta,
    RoundFinished,
    RoundStarted,
    TextDelta,
    ToolCalled,
    ToolReturned,
)
from dashboard.core.history import Assistant, ToolCall, ToolResult, User
from dashboard.core.mail import BoundaryKind
from dashboard.core.outcomes import Outcome
from dashboard.models.base import ModelEvent, ModelRequest, TextPart
from dashboard.models.scripted import ScriptedModel, replies
from tests.agent.fakes import Breaks, FakeSleep, Recorder, Stage, asks, fake_runtime, quick


async def test_a_finished_rounds_deltas_add_up_to_the_stored_entry() -> None:
    told = Recorder()
    entry = Assistant("It is in worker.log.", reasoning="Where was it?")
    await run_agent(Agent(ScriptedModel(replies(entry))), "p", fake_runtime(told))
    assert "".join(delta.text for delta in told.of(TextDelta)) == entry.content
    assert "".join(delta.text for delta in told.of(ReasoningDelta)) == entry.reasoning
    assert len(told.of(TextDelta)) > 1


async def test_a_reply_that_was_not_streamed_is_shown_whole() -> None:
    stage = Stage(Assistant("A", reasoning="because"))
    await run_agent(stage.agent(), "p", stage.runtime)
    assert [delta.text for delta in stage.told.of(TextDelta)] == ["A"]
    assert [delta.text for delta in stage.told.of(ReasoningDelta)] == ["because"]


async def test_the_usage_is_told_once_the_reply_is_stored() -> None:
    stage = Stage("A")
    await run_agent(stage.agent(), "p", stage.runtime)
    assert [(done.input_tokens, done.output_tokens) for done in stage.told.of(RoundFinished)] == [(7, 3)]
    names = stage.told.names()
    assert names[names.index("RoundFinished") - 1] == "HistoryAppended"


async def test_a_failing_request_is_made_again_with_the_mail_that_came_meanwhile() -> None:
    stage = Stage(ModelError("overloaded"), "A")
    stage.runtime.sleep = sleep = FakeSleep(lambda: stage.mail.send("x"))
    result = await run_agent(stage.agent(), "p", stage.runtime)
    assert result.outcome is Outcome.ANSWERED
    assert stage.model.sent == ["p", "p x"]
    assert sleep.waited == [1.0]
    assert len(stage.told.of(RoundStarted)) == 1
    assert [(at.kind, at.round) for at in stage.mail.boundaries][1] == (BoundaryKind.RETRY, 1)
    assert "overloaded" in stage.told.of(NoticeRaised)[0].text


async def test_a_request_that_keeps_failing_ends_the_run_after_its_retries() -> None:
    stage = Stage(*[ModelError("overloaded")] * (RETRIES + 1))
    stage.runtime.sleep = sleep = FakeSleep()
    result = await run_agent(stage.agent(), "p", stage.runtime)
    assert (result.outcome, result.error) == (Outcome.ERROR, "overloaded")
    assert sleep.waited == [1.0, 2.0]
    assert len(stage.model.requests) == RETRIES + 1


async def test_a_request_that_showed_something_is_not_made_again() -> None:
    stage = Stage(Breaks("It is", ModelError("cut off")))
    result = await run_agent(stage.agent(), "p", stage.runtime)
    assert (result.outcome, result.error) == (Outcome.ERROR, "cut off")
    assert len(stage.model.requests) == 1
    assert stage.history == "p"


async def test_a_bug_in_a_model_client_is_not_retried_and_names_its_type() -> None:
    stage = Stage(KeyError("choices"))
    result = await run_agent(stage.agent(), "p", stage.runtime)
    assert result.error == "KeyError: 'choices'"
    assert len(stage.model.requests) == 1


class FakeSilentModel:
    """Streams, and then forgets its reply; its stream is an iterator without ``aclose``."""

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        class Parts:
            sent = False

            def __aiter__(self) -> AsyncIterator[ModelEvent]:
                return self

            async def __anext__(self) -> ModelEvent:
                if self.sent:
                    raise StopAsyncIteration
                self.sent = True
                return TextPart("It is")

        return Parts()


async def test_a_stream_without_a_reply_is_a_failed_request() -> None:
    result = await run_agent(Agent(FakeSilentModel()), "p", fake_runtime(Recorder()))
    assert "without a reply" in result.error


async def test_a_message_during_slow_tools_follows_all_their_results_and_each_ran_once() -> None:
    stage = Stage(asks("a", "b"), "A")
    ran: list[str] = []

    async def slow() -> str:
        for _ in range(5):
            await asyncio.sleep(0)
        ran.append("b")
        return "done"

    def hurry() -> None:
        ran.append("a")
        stage.mail.send("x")

    await run_agent(stage.agent(quick("a", hurry), tool(slow, name="b")), "p", stage.runtime)
    assert stage.history == "p T a b x A"
    assert ran == ["a", "b"]
    assert stage.model.sent == ["p", "p T a b x"]


async def test_results_are_told_as_they_come_and_stored_in_the_order_of_the_calls() -> None:
    stage = Stage(asks("a", "b"), "A")
    done = asyncio.Event()

    async def first() -> str:
        await done.wait()
        return "first"

    await run_agent(stage.agent(tool(first, name="a"), quick("b", done.set)), "p", stage.runtime)
    assert [called.name for called in stage.told.of(ToolCalled)] == ["a", "b"]
    returned = stage.told.of(ToolReturned)
    assert [(event.tool_call_id, event.text) for event in returned] == [("call_b", "done"), ("call_a", "first")]
    assert all(event.elapsed > 0 for event in returned)
    stored = [event.entry for event in stage.told.of(HistoryAppended) if isinstance(event.entry, ToolResult)]
    assert [entry.content for entry in stored] == ["first", "done"]
    last = max(place for place, event in enumerate(stage.told.events) if isinstance(event, ToolReturned))
    first_stored = next(
        place for place, event in enumerate(stage.told.events) if stored[0] is getattr(event, "entry", None)
    )
    assert last < first_stored


async def test_a_tool_that_is_not_concurrent_runs_alone_and_in_its_place() -> None:
    stage = Stage(asks("a", "b", "c"), "A")
    running: list[str] = []
    seen: list[tuple[str, ...]] = []

    def busy(name: str) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            running.append(name)
            await asyncio.sleep(0)
            seen.append(tuple(running))
            await asyncio.sleep(0)
            running.remove(name)

        return run

    tools = [tool(busy(name), name=name, concurrent=name != "b") for name in "abc"]
    await run_agent(stage.agent(*tools), "p", stage.runtime)
    assert seen == [("a",), ("b",), ("c",)]


async def test_a_call_of_an_unknown_tool_is_told_like_any_other_and_the_model_goes_on() -> None:
    stage = Stage(asks("nothing"), "A")
    result = await run_agent(stage.agent(quick("a")), "p", stage.runtime)
    assert result.answer == "A"
    (returned,) = stage.told.of(ToolReturned)
    assert returned.is_error
    assert "a" in returned.text
    assert stage.history == "p T nothing A"


async def test_a_tool_that_cancels_itself_is_an_error_to_the_model_and_not_to_the_run() -> None:
    stage = Stage(asks("a", "b"), "A")

    async def give_up() -> None:
        raise asyncio.CancelledError

    result = await run_agent(stage.agent(tool(give_up, name="a"), quick("b")), "p", stage.runtime)
    assert result.outcome is Outcome.ANSWERED
    stored = stage.told.history(stage.mail.run_id)
    assert stored[2] == ToolResult("call_a", "a", "a was cancelled before it returned", is_error=True)
    assert stored[3] == ToolResult("call_b", "b", "done")


async def test_calls_that_share_an_id_get_a_result_each() -> None:
    twin = ToolCall("same", "a", "{}")
    stage = Stage(Assistant("", tool_calls=(twin, twin)), "A")
    await run_agent(stage.agent(quick("a")), "p", stage.runtime)
    assert stage.history == "p T a a A"


async def test_every_request_is_a_prefix_of_the_next_byte_for_byte() -> None:
    stage = Stage(asks("a"), "", "A", asks("a"), "B")
    stage.model.during = {1: lambda: stage.mail.send("x"), 3: lambda: stage.mail.send(" y\n")}
    await run_agent(stage.agent(quick("a")), "p", stage.runtime)
    sent = [request.history for request in stage.model.requests]
    for earlier, later in pairwise(sent):
        assert later[: len(earlier)] == earlier
    assert tuple(stage.told.history(stage.mail.run_id))[: len(sent[-1])] == sent[-1]
    assert User(" y\n") in sent[-1]


@pytest.mark.parametrize("failing", [0, 1])
async def test_a_tool_that_fails_leaves_its_sibling_alone(failing: int) -> None:
    def explode() -> None:
        raise OSError("disk full")

    names = ["a", "b"]
    tools = [quick(name, explode if index == failing else lambda: None) for index, name in enumerate(names)]
    stage = Stage(asks(*names), "A")
    await run_agent(stage.agent(*tools), "p", stage.runtime)
    results = [entry for entry in stage.told.history(stage.mail.run_id) if isinstance(entry, ToolResult)]
    assert [entry.is_error for entry in results] == [index == failing for index in range(2)]
    assert results[failing].content == "OSError: disk full"
