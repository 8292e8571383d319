"""What one run is while it lives, and the moments when it meets its mail."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dashboard.agent.budget import Budget
from dashboard.agent.history import History
from dashboard.agent.runtime import Runtime
from dashboard.agent.tools import Tool
from dashboard.core.events import TurnFinished, TurnStarted
from dashboard.core.mail import Boundary, BoundaryKind, Delivered, Mail
from dashboard.core.outcomes import Outcome, RunEnd
from dashboard.models.base import ModelClient

logger = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(slots=True)
class RunState:
    """One life of one agent.

    Args:
        run_id: the run.
        label: what it is called.
        depth: how many runs stand above it.
        model: what answers.
        tools: what may be called, by name.
        max_iterations: the round budget of each turn.
        runtime: what the roster shares.
        history: what is sent.
        mail: the run's side of its inbox.
        turn: the open turn, from 1; 0 before the first.
        round: the last round that started, counted through all turns from 1.
        answer: that of the last finished turn.
        end: how the run ended, once that is recorded.
        budget: what is left of the open turn's rounds.
    """

    run_id: str
    label: str
    depth: int
    model: ModelClient
    tools: Mapping[str, Tool]
    max_iterations: int
    runtime: Runtime
    history: History
    mail: Mail
    turn: int = 0
    round: int = 0
    answer: str = ""
    end: RunEnd | None = None
    budget: Budget = field(init=False)

    def __post_init__(self) -> None:
        self.budget = Budget(self.max_iterations, self.round + 1)

    def open_turn(self) -> None:
        """Open the next turn, with a round budget of its own."""
        self.turn += 1
        self.budget = Budget(self.max_iterations, self.round + 1)
        self.runtime.emit(TurnStarted(run_id=self.run_id, turn=self.turn))

    def close_turn(self, answer: str) -> None:
        """Close the open turn. A run's last turn is closed by its ``RunFinished`` instead."""
        self.answer = answer
        self.runtime.emit(TurnFinished(run_id=self.run_id, turn=self.turn, answer=answer))

    async def take(self, kind: BoundaryKind, turn: int | None = None) -> tuple[Delivered, ...]:
        """Take the mail of a boundary into the history; what resets the budget does so (P9).

        Args:
            kind: the place.
            turn: the turn that reads it, where that is not the open one.
        """
        await _let_cancel()
        reads = self.round if kind is BoundaryKind.RETRY else self.round + 1
        boundary = Boundary(kind, self.turn if turn is None else turn, reads, len(self.history))
        delivered, interrupted = await _completed(self.mail.take(boundary))
        self._adopt(delivered, boundary)
        if interrupted:
            raise asyncio.CancelledError
        return delivered

    async def finish(self, end: RunEnd) -> tuple[Delivered, ...]:
        """End the run, unless mail extends it: then that mail is in the history, and the run goes on."""
        if end.outcome is Outcome.ANSWERED:
            await _let_cancel()
        boundary = Boundary(BoundaryKind.FINAL, self.turn, self.round + 1, len(self.history))
        delivered, interrupted = await _completed(self.mail.finish(boundary, end))
        self._adopt(delivered, boundary)
        if not delivered:
            self.end = end
        if interrupted:
            raise asyncio.CancelledError
        return delivered

    async def close(self, end: RunEnd) -> None:
        """End the run if it has not ended yet, leaving a history that could be sent."""
        if self.end is None:
            self.history.close_calls()
            await self.finish(end)

    def _adopt(self, delivered: tuple[Delivered, ...], boundary: Boundary) -> None:
        self.history.adopt(delivered)
        # mail that opens a turn meets that turn's fresh budget: there is nothing to reset
        if boundary.kind is BoundaryKind.TURN_OPEN:
            return
        if any(message.wakes and message.resets_budget and not message.opens_turn for message in delivered):
            before, self.budget = self.budget, self.budget.extend(boundary.round)
            if self.budget.refused and not before.refused:
                logger.warning("%s: %s", self.label, self.budget.warning)


async def _let_cancel() -> None:
    """Let a cancellation that has come already be raised now, so that no more mail is claimed for it (A11)."""
    await asyncio.sleep(0)


async def _completed(call: Coroutine[Any, Any, T]) -> tuple[T, bool]:
    """Wait for a call on the mail to its end, also when cancelled meanwhile.

    The mail's step may be stored already: to leave it half known would put the history in memory, and every later
    index, out of step with the stored one.

    Returns:
        What the call gave, and whether a cancellation came and is still to be raised.
    """
    task = asyncio.ensure_future(call)
    interrupted = False
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            interrupted = True
    return task.result(), interrupted
