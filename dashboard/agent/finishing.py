"""Steps that are taken to their end, also when whoever takes them is cancelled meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
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
