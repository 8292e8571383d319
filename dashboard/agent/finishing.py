"""Steps that are taken whole: to their end when cancelled meanwhile, and on the loop whatever thread asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


async def settled(task: asyncio.Future[Any]) -> bool:
    """Wait until a task is done, whatever comes of it.

    Returns:
        Whether a cancellation came meanwhile, which the caller still has to raise.
    """
    interrupted = False
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            interrupted = True
    return interrupted


async def completed(call: Coroutine[Any, Any, T]) -> tuple[T, bool]:
    """Take a step to its end.

    A step of the mail may be stored already: to leave it half known would put the history in memory, and every
    later index, out of step with the stored one.

    Returns:
        What the call gave, and whether a cancellation came and is still to be raised.
    """
    task = asyncio.ensure_future(call)
    interrupted = await settled(task)
    return task.result(), interrupted


def on_loop(loop: asyncio.AbstractEventLoop, step: Callable[[], None]) -> None:
    """Take a step on an event loop's thread, from there or from any other; returns, or raises, once it is done.

    Args:
        loop: a running loop.
        step: what must not be done beside it.
    """
    try:
        here = asyncio.get_running_loop()
    except RuntimeError:
        here = None
    if here is loop:
        step()
        return
    done: Future[None] = Future()

    def take() -> None:
        try:
            step()
        except Exception as error:  # the caller's, in its own thread
            done.set_exception(error)
        else:
            done.set_result(None)

    loop.call_soon_threadsafe(take)
    done.result()
