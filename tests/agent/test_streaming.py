"""A run as a stream: the same loop, told in chunks; and the two renderers of it."""

from __future__ import annotations

import asyncio
import gc
import io
from collections.abc import AsyncIterator

import pytest

from dashboard.agent.agent import Agent
from dashboard.agent.chunks import Chunk, ChunkKind
from dashboard.agent.rendering import frame, pretty_print
from dashboard.agent.tools import tool
from dashboard.core.errors import InboxSignatureError, LoopRunningError, NotAnInboxError
from dashboard.core.events import RunFinished
from dashboard.core.history import Assistant, ToolCall
from dashboard.core.inbox import QueueInbox
from dashboard.core.outcomes import Outcome
from dashboard.models.base import ModelEvent, ModelRequest, TextPart
from tests.agent.fakes import FakeInbox, FakeModel, Recorder, asks, fake_runtime, quick, settle, shorthand


def steered(*turns: object) -> tuple[FakeModel, Agent, QueueInbox]:
    """An agent whose run reads ``x`` after its first tool round."""
    inbox = QueueInbox()
    model = FakeModel(list(turns), during={1: lambda: inbox.send("x")})  # type: ignore[arg-type]
    return model, Agent(model, tools=[quick("a")], max_iterations=2, name="main", inbox=inbox), inbox


async def collected(stream: AsyncIterator[Chunk]) -> list[Chunk]:
    return [chunk async for chunk in stream]


def in_one_go(agent: Agent) -> list[Chunk]:
    return list(agent.run_sync("p", stream=True))


async def test_a_message_is_an_inbox_chunk_just_before_the_round_that_reads_it() -> None:
    _, agent, _ = steered(asks("a"), "A")
    chunks = await collected(agent.run("p", stream=True))
    assert [chunk.kind for chunk in chunks] == [
        ChunkKind.TOOL_CALLING,
        ChunkKind.TOOL_RETURNED,
        ChunkKind.INBOX,
        ChunkKind.GENERATING,
        ChunkKind.DONE,
    ]
    assert [chunk.content for chunk in chunks if chunk.is_inbox()] == [{"text": "x"}]


async def test_what_the_loop_prompts_is_continuing_and_never_inbox() -> None:
    agent = Agent(FakeModel(["", asks("a"), "A"]), tools=[quick("a")], max_iterations=2)
    chunks = await collected(agent.run("p", stream=True))
    continuing = [chunk for chunk in chunks if chunk.kind is ChunkKind.CONTINUING]
    assert [chunk.content["kind"] for chunk in continuing] == ["continuation", "final_answer"]
    assert not any(chunk.is_inbox() for chunk in chunks)


async def test_each_message_of_a_routed_inbox_is_a_chunk_of_its_own() -> None:
    inbox = FakeInbox(Recorder())
    inbox.mail.send("x")
    inbox.mail.send("y")
    chunks = await collected(Agent(FakeModel(["A"]), inbox=inbox).run("p", stream=True))
    assert [chunk.content["text"] for chunk in chunks if chunk.is_inbox()] == ["x", "y"]


async def test_every_way_to_run_sends_the_same_requests_and_gives_the_same_answer() -> None:
    turns = ("", asks("a"), "A", "B")
    results: list[tuple[list[str], str]] = []
    for way in ("run", "stream", "run_sync", "stream sync"):
        model, agent, _ = steered(*turns)
        match way:
            case "run":
                answer = (await agent.run("p")).answer
            case "stream":
                answer = (await collected(agent.run("p", stream=True)))[-1].content["answer"]
            case "run_sync":
                answer = (await asyncio.to_thread(agent.run_sync, "p")).answer
            case _:
                chunks = await asyncio.to_thread(in_one_go, agent)
                answer = chunks[-1].content["answer"]
        results.append(([shorthand(request.history) for request in model.requests], answer))
    assert results[0][0][-1] == "p - x T a"
    assert results == [results[0]] * 4


async def test_leaving_a_stream_early_ends_the_run() -> None:
    ended = asyncio.Event()

    async def wait() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    stream = Agent(FakeModel([asks("wait")]), tools=[tool(wait)]).run("p", stream=True)
    async for chunk in stream:
        assert chunk.kind is ChunkKind.TOOL_CALLING
        await asyncio.sleep(0)
        break
    await stream.aclose()  # type: ignore[attr-defined]
    assert ended.is_set()


async def test_a_failing_run_streams_its_error_as_its_last_chunk() -> None:
    chunks = await collected(Agent(FakeModel([ValueError("boom")])).run("p", stream=True))
    assert chunks == [Chunk(ChunkKind.DONE, {"outcome": "error", "answer": "", "error": "ValueError: boom"})]


async def test_run_sync_inside_a_running_loop_names_the_call_to_make_instead() -> None:
    with pytest.raises(
        RuntimeError, match=r"Agent\.run_sync\(\) cannot be called here.*await agent\.run"
    ) as caught:
        Agent(FakeModel([])).run_sync("p")
    assert isinstance(caught.value, LoopRunningError)


class FakeNarrowInbox:
    def reader(self) -> object:
        return list


@pytest.mark.parametrize("way", ["run", "run_sync"])
def test_a_wrong_inbox_is_refused_at_the_call_and_before_any_event(way: str) -> None:
    model = FakeModel([])
    run = getattr(Agent(model), way)
    with pytest.raises(NotAnInboxError, match=rf"Agent\.{way}\(inbox=\.\.\.\) is not an inbox: it got a str"):
        run("p", inbox="mailbox")
    with pytest.raises(InboxSignatureError, match=r"FakeNarrowInbox.reader\(\).*def reader\(self, agent=None\)"):
        run("p", inbox=FakeNarrowInbox())
    assert model.requests == []


async def test_the_runs_inbox_stands_instead_of_the_agents_and_none_turns_it_off() -> None:
    own, other = QueueInbox(), QueueInbox()
    own.send("own")
    other.send("other")
    agent = Agent(FakeModel(["A"], forever=True), inbox=own)
    assert [
        chunk.content["text"]
        for chunk in await collected(agent.run("p", stream=True, inbox=other))
        if chunk.is_inbox()
    ] == ["other"]
    assert not any(chunk.is_inbox() for chunk in await collected(agent.run("p", stream=True, inbox=None)))
    assert [
        chunk.content["text"] for chunk in await collected(agent.run("p", stream=True)) if chunk.is_inbox()
    ] == ["own"]


def printed(agent: Agent, **how: bool) -> tuple[str, str]:
    out = io.StringIO()
    answer = pretty_print(agent.run_sync("p", stream=True), file=out, **how)
    return out.getvalue(), answer


def test_pretty_print_gives_a_message_a_line_of_its_own_also_when_all_else_is_hidden() -> None:
    _, agent, _ = steered(Assistant("Looking", "hm", (ToolCall("c", "a", "{}"),)), "A")
    text, answer = printed(agent)
    assert text == "[thinking] hm\nLooking\n[tool] a {}\n[result] a: done\n[message] x\nA\n"
    assert answer == "A"
    _, agent, _ = steered(Assistant("Looking", "hm", (ToolCall("c", "a", "{}"),)), "A")
    text, _ = printed(agent, show_thinking=False, show_tools=False)
    assert text == "Looking\n[message] x\nA\n"


async def test_pretty_print_awaits_an_asynchronous_stream() -> None:
    _, agent, _ = steered(asks("a"), "A")
    out = io.StringIO()
    assert await pretty_print(agent.run("p", stream=True), file=out) == "A"
    assert "[message] x\n" in out.getvalue()


def test_pretty_print_says_what_went_wrong_and_lets_no_control_sequence_through() -> None:
    inbox = QueueInbox()
    inbox.send("\x1b]0;pwned\x07 stop")
    agent = Agent(FakeModel(["\x1b[2J", ValueError("\x1b[31mno")]), inbox=inbox)
    text, _ = printed(agent)
    assert "\x1b" not in text
    assert "[message] <1B>]0;pwned<07> stop\n" in text
    assert "[error] " in text


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        (Chunk(ChunkKind.INBOX, {"text": "x"}), {"type": "inbox", "text": "x"}),
        (Chunk(ChunkKind.CONTINUING, {"kind": "continuation"}), {"type": "loop", "kind": "continuation"}),
        (Chunk(ChunkKind.GENERATING, {"text": "A"}), {"type": "generating", "text": "A"}),
    ],
)
def test_a_message_is_a_frame_of_its_own_and_not_one_of_the_loops(chunk: Chunk, expected: dict[str, str]) -> None:
    assert frame(chunk) == expected


async def test_the_outcome_of_a_capped_run_is_told() -> None:
    result = await Agent(FakeModel([asks("a"), "A"]), tools=[quick("a")], max_iterations=1).run("p")
    assert (result.outcome, result.answer) == (Outcome.WRAP_UP, "A")


async def test_a_consumer_that_is_cancelled_while_it_leaves_a_stream_stays_cancelled() -> None:
    """Its own time-out must not be lost in the end of the run."""

    class Slow:
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
            yield TextPart("a")
            try:
                await asyncio.Event().wait()
            finally:
                await ending.wait()

    ending = asyncio.Event()

    async def consume() -> None:
        stream = Agent(Slow()).run("p", stream=True)
        async for _ in stream:
            break
        await stream.aclose()  # type: ignore[attr-defined]

    consumer = asyncio.ensure_future(consume())
    await settle()
    consumer.cancel()
    await settle()
    ending.set()
    with pytest.raises(asyncio.CancelledError):
        await consumer


async def test_a_synchronous_stream_that_is_read_within_a_loop_names_the_call_to_make_instead() -> None:
    agent = Agent(FakeModel(["A"]), name="m")
    stream = await asyncio.to_thread(agent.run_sync, "p", stream=True)
    with pytest.raises(LoopRunningError, match=r"cannot be read here.*async for chunk in agent\.run"):
        next(stream)


async def test_a_synchronous_stream_that_is_let_go_of_within_a_loop_ends_its_run() -> None:
    told = Recorder()
    model = FakeModel([asks("a"), "A"])
    agent = Agent(model, tools=[quick("a")], name="m")
    runtime = fake_runtime(told)
    stream = await asyncio.to_thread(agent.run_sync, "p", stream=True, runtime=runtime)
    assert (await asyncio.to_thread(next, stream)).kind is ChunkKind.TOOL_CALLING
    del stream
    gc.collect()
    assert [event.outcome for event in told.of(RunFinished)] == [Outcome.CANCELLED]


async def test_a_call_that_waits_for_approval_shows_in_the_stream() -> None:
    runtime = fake_runtime(Recorder())

    async def forever(seconds: float) -> None:
        await asyncio.Event().wait()

    def shell() -> str:
        return "done"

    runtime.sleep = forever
    agent = Agent(FakeModel([asks("shell"), "A"]), tools=[tool(shell, needs_approval=True)])
    out = io.StringIO()
    printing = asyncio.ensure_future(pretty_print(agent.run("p", stream=True, runtime=runtime), file=out))
    await settle()
    (request,) = runtime.approvals.requests()
    runtime.approvals.answer(request.approval_id, allow=True, by="ana")
    assert await printing == "A"
    assert "[approval] shell {} waits for somebody's word\n" in out.getvalue()
