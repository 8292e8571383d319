"""A run as a stream of chunks: the same run, with one more listener."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from typing import Any

from dashboard.agent.chunks import Chunk, Chunker
from dashboard.agent.finishing import settled
from dashboard.agent.loop import RunResult
from dashboard.agent.telling import Emit
from dashboard.core.errors import LoopRunningError
from dashboard.core.events import KnownEvent

Start = Callable[[Sequence[Emit]], Coroutine[Any, Any, RunResult]]


async def stream_run(start: Start) -> AsyncIterator[Chunk]:
    """Start a run and give its chunks as they come; leaving early ends the run.

    Args:
        start: gives the run, once it has its listeners.
    """
    chunks: asyncio.Queue[Chunk | None] = asyncio.Queue()
    chunker = Chunker()

    def listen(event: KnownEvent) -> None:
        chunk = chunker.take(event)
        if chunk is not None:
            chunks.put_nowait(chunk)

    run = asyncio.ensure_future(start((listen,)))
    run.add_done_callback(lambda _: chunks.put_nowait(None))
    try:
        while (chunk := await chunks.get()) is not None:
            yield chunk
        await run  # what it raised is the caller's
    finally:
        run.cancel()
        if await settled(run):
            raise asyncio.CancelledError  # the consumer's own, which came while the run was ending


def stream_sync(stream: AsyncIterator[Chunk]) -> Iterator[Chunk]:
    """Give an asynchronous stream's chunks one by one, in an event loop that runs between two of them.

    Args:
        stream: not begun yet.

    Raises:
        LoopRunningError: it is read where an event loop runs (a ``RuntimeError``).
    """
    runner = asyncio.Runner()

    async def following() -> Chunk | None:
        return await anext(stream, None)

    try:
        while True:
            if loop_runs():
                raise LoopRunningError(
                    "a synchronous stream cannot be read here", "an event loop is running in this thread",
                    "Use `async for chunk in agent.run(..., stream=True)` instead",
                )  # fmt: skip
            chunk = runner.run(following())
            if chunk is None:
                return
            yield chunk
    finally:
        if loop_runs():  # it was let go of, and collected, where another loop runs: that one cannot be waited for
            closing = threading.Thread(target=_close, args=(runner, stream))
            closing.start()
            closing.join()
        else:
            _close(runner, stream)


def loop_runs() -> bool:
    """Whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _close(runner: asyncio.Runner, stream: Any) -> None:  # noqa: ANN401 - an iterator need not have aclose
    close = getattr(stream, "aclose", None)
    if close is not None:
        runner.run(close())
    runner.close()
