"""What a roster of runs shares: where events go, the time, ids, ordinals. Everything impure comes in here."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from dashboard.core.events import KnownEvent
from dashboard.core.ids import ENTROPY_BYTES, sortable_id

Emit = Callable[[KnownEvent], None]


def now() -> int:
    """Give the wall clock in microseconds since the epoch, UTC."""
    return time.time_ns() // 1000


def discard(event: KnownEvent) -> None:
    """Take an event and keep nothing: the emit of a run that nobody watches."""


async def in_thread(call: Callable[[], Any]) -> Any:  # noqa: ANN401 - a tool's function may return anything
    """Run a blocking tool in a thread, so that the loop and its siblings go on."""
    return await asyncio.to_thread(call)


@dataclass(slots=True)
class Runtime:
    """Shared by every run of a roster.

    Args:
        emit: takes an event; must not block.
        clock: microseconds since the epoch, UTC.
        sleep: waits for so many seconds.
        entropy: gives that many random bytes.
        run_blocking: how a synchronous tool is called.
    """

    emit: Emit = discard
    clock: Callable[[], int] = now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    entropy: Callable[[int], bytes] = os.urandom
    run_blocking: Callable[[Callable[[], Any]], Awaitable[Any]] = in_thread
    _ordinals: Counter[str] = field(default_factory=Counter)

    def new_run_id(self) -> str:
        """Make the id of a run that starts now."""
        return sortable_id("run", self.clock(), self.entropy(ENTROPY_BYTES))

    def next_ordinal(self, label: str) -> int:
        """Count one more run of this label: 1 for the first."""
        self._ordinals[label] += 1
        return self._ordinals[label]
