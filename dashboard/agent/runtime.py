"""What a roster of runs shares: the bus, the time, ids, ordinals, control. Everything impure comes in here."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dashboard.agent.approval import Approvals
from dashboard.agent.lives import Lives
from dashboard.agent.telling import Emit
from dashboard.core.events import KnownEvent
from dashboard.core.ids import ENTROPY_BYTES, sortable_id
from dashboard.journal.clock import wall_clock


def discard(event: KnownEvent) -> None:
    """Take an event and keep nothing: the emit of a run that nobody watches."""


async def in_thread(call: Callable[[], Any]) -> Any:  # noqa: ANN401 - a tool's function may return anything
    """Run a blocking tool in a thread, so that the loop and its siblings go on."""
    return await asyncio.to_thread(call)


class Ordinals:
    """Counts the runs of each label."""

    def __init__(self) -> None:
        self._last: Counter[str] = Counter()

    def next(self, label: str) -> int:
        """Count one more run of this label: 1 for the first."""
        self._last[label] += 1
        return self._last[label]


@dataclass(slots=True)
class Runtime:
    """Shared by every run of a roster.

    Args:
        emit: the bus that records events; must not block.
        clock: microseconds since the epoch, UTC.
        sleep: waits for so many seconds.
        entropy: gives that many random bytes.
        run_blocking: how a synchronous tool is called.
        next_ordinal: counts the runs of a label.
        listeners: who else is told every event.
        lives: the runs that live, for whoever controls them.
        approvals: the tool calls that wait for an operator's word.
    """

    emit: Emit = discard
    clock: Callable[[], int] = wall_clock
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    entropy: Callable[[int], bytes] = os.urandom
    run_blocking: Callable[[Callable[[], Any]], Awaitable[Any]] = in_thread
    next_ordinal: Callable[[str], int] = field(default_factory=lambda: Ordinals().next)
    listeners: Sequence[Emit] = ()
    lives: Lives = field(default_factory=Lives)
    approvals: Approvals = field(default_factory=Approvals)

    def new_id(self, prefix: str) -> str:
        """Make the id of something that begins now.

        Args:
            prefix: what it is, such as ``run``.
        """
        return sortable_id(prefix, self.clock(), self.entropy(ENTROPY_BYTES))
