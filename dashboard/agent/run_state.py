"""What one run is while it lives, and the moments when it meets its mail."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from dashboard.agent.approval import Approval
from dashboard.agent.budget import Budget
from dashboard.agent.finishing import completed
from dashboard.agent.history import History
from dashboard.agent.life import Life
from dashboard.agent.runtime import Runtime
from dashboard.agent.telling import Emit, Telling
from dashboard.agent.tools import Tool
from dashboard.core.events import (
    BudgetExtended,
    HistoryAppended,
    KnownEvent,
    MessageDelivered,
    RunFinished,
    TurnFinished,
    TurnStarted,
)
from dashboard.core.history import User
from dashboard.core.mail import Boundary, BoundaryKind, Delivered, Mail
from dashboard.core.outcomes import Outcome, RunEnd
from dashboard.models.base import ModelClient

logger = logging.getLogger(__name__)


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
        recorder: the bus that the mail records on by itself, if it does.
        telling: where events go.
        life: the handle for whoever controls it.
        approval: which tool calls ask first.
        one_followup: whether a turn opens with one follow-up, and not with all (T6).
        turn: the open turn, from 1; 0 before the first.
        round: the last round that started, counted through all turns from 1.
        turn_open: whether that turn is still open.
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
    recorder: Emit | None
    telling: Telling
    life: Life
    approval: Approval
    one_followup: bool = False
    turn: int = 0
    turn_open: bool = False
    round: int = 0
    answer: str = ""
    end: RunEnd | None = None
    budget: Budget = field(init=False)

    def __post_init__(self) -> None:
        self.budget = Budget(self.max_iterations, self.round + 1)

    def emit(self, event: KnownEvent) -> None:
        """Tell an event of this run."""
        self.telling.emit(event)

    def open_turn(self) -> None:
        """Open the next turn, with a round budget of its own."""
        self.turn, self.turn_open = self.turn + 1, True
        self.budget = Budget(self.max_iterations, self.round + 1)
        self.emit(TurnStarted(run_id=self.run_id, turn=self.turn))

    def close_turn(self, end: RunEnd) -> None:
        """Close the open turn. A run's last turn is closed by its ``RunFinished`` instead."""
        self.answer, self.turn_open = end.answer, False
        self.emit(self._turn_end(end))

    async def cancel_turn(self, end: RunEnd, before: int | None) -> None:
        """Close a root's turn that was cancelled, if one is open, and return the mail that waited for it (A11).

        Args:
            end: with who cancelled it.
            before: the seq of the request; mail that was accepted later stays.
        """
        self.history.close_calls()
        finished = self._turn_end(end) if self.turn_open else None
        if self.recorder != self.runtime.emit:
            before = None  # the seq of another bus says nothing about this mail
        self.turn_open = False
        _, interrupted = await completed(self.mail.cancel_turn(finished, before))
        if finished is not None:
            self.telling.recorded(finished, self.recorder)
        if interrupted:
            raise asyncio.CancelledError

    async def take(self, kind: BoundaryKind, turn: int | None = None) -> tuple[Delivered, ...]:
        """Take the mail of a boundary into the history; what resets the budget does so (P9).

        Args:
            kind: the place.
            turn: the turn that reads it, where that is not the open one.
        """
        reads = self.round if kind is BoundaryKind.RETRY else self.round + 1
        await self.life.pass_boundary(reads)  # before the mail: what is written to a held run is read first of all
        await _let_cancel()
        boundary = self._boundary(kind, reads, self.turn if turn is None else turn)
        delivered, interrupted = await completed(self.mail.take(boundary))
        self._adopt(delivered, boundary)
        if delivered and kind is BoundaryKind.WAKE:
            self.open_turn()  # also if it is cancelled at once: what was read belongs to a turn
        if interrupted:
            raise asyncio.CancelledError
        return delivered

    async def finish(self, end: RunEnd) -> tuple[Delivered, ...]:
        """End the run, unless mail extends its turn, or opens another: then that mail is in the history."""
        if end.outcome in (Outcome.ANSWERED, Outcome.WRAP_UP):
            await self.life.pass_boundary(self.round + 1)
            await _let_cancel()
        else:
            self.life.seal()  # nothing extends such an end; a held run is not told to go on behind it
        boundary = self._boundary(BoundaryKind.FINAL, self.round + 1, self.turn)
        delivered, interrupted = await completed(self.mail.finish(boundary, end))
        self._adopt(delivered, boundary)
        if any(message.opens_turn for message in delivered):
            self.close_turn(end)
            self.open_turn()
        if not delivered:
            self.end = end
            self.life.close()  # what is recorded cannot be cancelled any more
            finished = RunFinished(run_id=self.run_id, outcome=end.outcome, answer=end.answer, error=end.error)
            self.telling.recorded(finished, self.recorder)
        if interrupted:
            raise asyncio.CancelledError
        return delivered

    @property
    def ended(self) -> RunEnd:
        """How the run ended, once it has."""
        if self.end is None:
            raise RuntimeError("the run has not ended")
        return self.end

    async def close(self, end: RunEnd) -> None:
        """End the run if it has not ended yet, leaving a history that could be sent."""
        if self.end is None:
            self.history.close_calls()
            await self.finish(end)

    def _boundary(self, kind: BoundaryKind, reads: int, turn: int) -> Boundary:
        return Boundary(kind, turn, reads, len(self.history), self.one_followup)

    def _turn_end(self, end: RunEnd) -> TurnFinished:
        return TurnFinished(
            run_id=self.run_id, turn=self.turn, answer=end.answer, outcome=end.outcome, error=end.error
        )

    def _adopt(self, delivered: tuple[Delivered, ...], boundary: Boundary) -> None:
        for index, message in enumerate(delivered, len(self.history)):
            self._tell_delivery(message, boundary, index)
        self.history.adopt(delivered)
        # mail that opens a turn meets that turn's fresh budget: there is nothing to reset
        if boundary.kind in (BoundaryKind.TURN_OPEN, BoundaryKind.WAKE):
            return
        if any(message.wakes and message.resets_budget and not message.opens_turn for message in delivered):
            self._extend_budget(boundary.round)

    def _extend_budget(self, round_number: int) -> None:
        before, self.budget = self.budget, self.budget.extend(round_number)
        if self.budget.extensions > before.extensions:
            self.emit(BudgetExtended(run_id=self.run_id, round=round_number, extensions=self.budget.extensions))
        elif not before.refused:
            logger.warning("%s: %s", self.label, self.budget.warning)

    def _tell_delivery(self, message: Delivered, boundary: Boundary, index: int) -> None:
        """Tell what the mail has delivered, and perhaps recorded, to whoever does not know yet."""
        delivered = MessageDelivered(
            run_id=self.run_id,
            turn=boundary.turn + message.opens_turn,
            round=boundary.round,
            history_index=index,
            message_id=message.message_id,
        )
        self.telling.recorded(delivered, self.recorder)
        appended = HistoryAppended(run_id=self.run_id, index=index, entry=User(message.text))
        self.telling.recorded(appended, self.recorder)


async def _let_cancel() -> None:
    """Let a cancellation that has come already be raised now, so that no more mail is claimed for it (A11)."""
    await asyncio.sleep(0)
