"""One round: a model request with its retries, and the tool calls that it asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from dashboard.agent.approval import Verdict
from dashboard.agent.history import not_executed
from dashboard.agent.run_state import RunState
from dashboard.agent.tools import Tool, ToolContext, call_tool
from dashboard.core.errors import ModelError, ToolError
from dashboard.core.events import (
    ApprovalAnswer,
    ApprovalAnswered,
    ApprovalRequested,
    NoticeLevel,
    NoticeRaised,
    ReasoningDelta,
    RoundFinished,
    RoundStarted,
    TextDelta,
    ToolCalled,
    ToolReturned,
)
from dashboard.core.history import ToolCall, ToolResult
from dashboard.core.mail import BoundaryKind
from dashboard.models.base import ModelEvent, ModelRequest, ReasoningPart, Reply, TextPart, ToolSchema

RETRIES = 2
BACK_OFF = 1.0  # seconds before the first retry; doubles


async def request(run: RunState, *, tools_on: bool, output: dict[str, Any] | None = None) -> Reply:
    """Start the next round: ask the model, show what streams, and store its reply.

    A request that fails is made again only if nothing of it was shown; it carries what mail came meanwhile (H3).

    Args:
        run: the run.
        tools_on: whether tools are on offer; not for the wrap-up.
        output: the JSON Schema that the reply has to fit, for a structured run.

    Raises:
        ModelError: the request failed for good.
    """
    run.round += 1
    step = min(run.budget.step(run.round), run.max_iterations)  # the wrap-up is not counted
    run.emit(
        RoundStarted(
            run_id=run.run_id, turn=run.turn, round=run.round, step=step, max_iterations=run.max_iterations
        )
    )
    schemas = tuple(tool.schema for tool in run.tools.values()) if tools_on else ()
    reply = await _ask(run, schemas, output)
    run.history.append(reply.entry)
    run.emit(
        RoundFinished(
            run_id=run.run_id, round=run.round, input_tokens=reply.input_tokens, output_tokens=reply.output_tokens
        )
    )
    return reply


async def call_tools(run: RunState, calls: Sequence[ToolCall]) -> None:
    """Carry out a round's calls, overlapping where they may, and store all results in the order of the calls.

    Also when cancelled: what has returned is kept, and what has not says so.
    """
    results: dict[int, ToolResult] = {}
    try:
        for batch in _batches(run, calls):
            async with asyncio.TaskGroup() as group:
                for position in batch:
                    group.create_task(_call(run, calls[position], position, results))
    finally:
        for position, call in enumerate(calls):
            run.history.append(results.get(position) or not_executed(call))


async def _ask(run: RunState, tools: tuple[ToolSchema, ...], output: dict[str, Any] | None) -> Reply:
    for attempt in range(RETRIES + 1):
        streamed = _Streamed(run)
        try:
            asked = ModelRequest(run.label, run.history.entries, tools, output)
            return await streamed.all_of(run.model.stream(asked))
        except ModelError as error:
            if streamed.shown or attempt == RETRIES or run.life.cancelling:
                raise  # a client that turns a cancellation into an error must not be asked again
            delay = BACK_OFF * 2**attempt
            notice = f"the model request failed and is made again in {delay:g} s: {error}"
            run.emit(NoticeRaised(level=NoticeLevel.WARNING, text=notice, run_id=run.run_id))
            await run.runtime.sleep(delay)
            await run.take(BoundaryKind.RETRY)
    raise AssertionError("the last attempt returns or raises")


class _Streamed:
    """What one request has shown so far."""

    def __init__(self, run: RunState) -> None:
        self._run = run
        self._text = ""
        self._reasoning = ""

    @property
    def shown(self) -> bool:
        return bool(self._text or self._reasoning)

    async def all_of(self, stream: AsyncIterator[ModelEvent]) -> Reply:
        """Show the parts as they come, and give the reply."""
        reply: Reply | None = None
        try:
            async for event in stream:
                match event:
                    case TextPart(text):
                        self._show_text(text)
                    case ReasoningPart(text):
                        self._show_reasoning(text)
                    case Reply():
                        reply = event
        finally:
            close: Any = getattr(stream, "aclose", None)  # an iterator need not have one, a generator has
            if close is not None:
                await close()
        if reply is None:
            raise ModelError("the model's stream ended without a reply")
        # a client that streams less than its reply: the deltas still add up to the stored entry (H2)
        if reply.entry.reasoning.startswith(self._reasoning):
            self._show_reasoning(reply.entry.reasoning[len(self._reasoning) :])
        if reply.entry.content.startswith(self._text):
            self._show_text(reply.entry.content[len(self._text) :])
        return reply

    def _show_text(self, text: str) -> None:
        if text:
            self._text += text
            self._run.emit(TextDelta(run_id=self._run.run_id, round=self._run.round, text=text))

    def _show_reasoning(self, text: str) -> None:
        if text:
            self._reasoning += text
            self._run.emit(ReasoningDelta(run_id=self._run.run_id, round=self._run.round, text=text))


def _batches(run: RunState, calls: Sequence[ToolCall]) -> Iterator[list[int]]:
    """Split calls, in order, into batches that may overlap: one that is not concurrent stands alone."""

    def alone(position: int) -> int | None:
        tool = run.tools.get(calls[position].name)
        return None if tool is None or tool.concurrent else position

    for _, batch in groupby(range(len(calls)), alone):
        yield list(batch)


async def _call(run: RunState, call: ToolCall, position: int, results: dict[int, ToolResult]) -> None:
    runtime = run.runtime
    run.emit(
        ToolCalled(
            run_id=run.run_id, round=run.round, tool_call_id=call.id, name=call.name, arguments=call.arguments
        )
    )
    began = runtime.clock()
    # stands unless the call returns: a cancelled tool may have done some of its work
    result = ToolResult(call.id, call.name, f"{call.name} was cancelled before it returned", is_error=True)
    try:
        context = ToolContext(run.run_id, run.label, run.depth, call.id, runtime)
        result = await call_tool(run.tools, call, context, partial(_admit, run, call))
    finally:
        results[position] = result
        run.emit(
            ToolReturned(
                run_id=run.run_id,
                round=run.round,
                tool_call_id=call.id,
                text=result.content,
                is_error=result.is_error,
                elapsed=max(runtime.clock() - began, 0),
            )
        )


async def _admit(run: RunState, call: ToolCall, asked: Tool) -> None:
    """Let a call run at once, or once an operator has allowed it (H4).

    Raises:
        ToolError: it was denied, or nobody answered in time.
    """
    if not run.approval.wanted(asked.name, asked.needs_approval):
        return
    verdict = await _verdict(run, call)
    if verdict.answer is ApprovalAnswer.TIMED_OUT:
        why = f"nobody answered within {run.approval.timeout:g} s"
        raise ToolError(f"{call.name} was not run", why, "Go on without it, or say what you need")
    if verdict.answer is ApprovalAnswer.DENIED:
        raise ToolError(f"{call.name} was denied by {verdict.by or 'an operator'}", verdict.reason)


async def _verdict(run: RunState, call: ToolCall) -> Verdict:
    runtime, limit = run.runtime, run.approval.timeout
    approval_id = runtime.new_id("approval")
    request = ApprovalRequested(
        run_id=run.run_id,
        approval_id=approval_id,
        tool_call_id=call.id,
        name=call.name,
        arguments=call.arguments,
        expires_at=None if limit is None else runtime.clock() + round(limit * 1_000_000),
    )
    answer = runtime.approvals.open(request)
    run.emit(request)
    waiting: list[asyncio.Future[Any]] = [answer]
    if limit is not None:
        waiting.append(asyncio.ensure_future(runtime.sleep(limit)))
    verdict = Verdict(ApprovalAnswer.ABANDONED)
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        verdict = Verdict(ApprovalAnswer.TIMED_OUT)
    finally:
        if answer.done() and not answer.cancelled():
            verdict = answer.result()  # also if a cancel came in the same moment: it was answered
        runtime.approvals.close(approval_id)
        for future in waiting:
            future.cancel()
        run.emit(
            ApprovalAnswered(
                run_id=run.run_id,
                approval_id=approval_id,
                answer=verdict.answer,
                by=verdict.by,
                reason=verdict.reason,
            )
        )
    return verdict
