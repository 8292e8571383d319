"""The port through which a loop gets its mail: take at a boundary, finish at the end.

What either call gives back is already in the run's stored history: the claim, the history entries and the
delivery records are one step of whoever implements this, so that a crash leaves a message either queued or
delivered (A8), and a late message is either read or returned at once (A9).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol, runtime_checkable

import msgspec

from dashboard.core.outcomes import RunEnd


class BoundaryKind(StrEnum):
    """The places of a loop where mail is read (P5, T1)."""

    TURN_OPEN = "turn_open"  # after the prompt, before request 1: next_turn, then next_step
    AFTER_TOOLS = "after_tools"  # all results of the round are stored
    DEGENERATE = "degenerate"  # no text and no tool call
    FINAL = "final"  # what would have been the last turn
    WRAP_UP = "wrap_up"  # before the forced answer, tools off
    RETRY = "retry"  # a failed request of which nothing was shown


class Boundary(msgspec.Struct, frozen=True):
    """Where a loop stands when it asks for mail.

    Args:
        kind: the place.
        turn: the turn that is open, from 1.
        round: the round that would read what is taken, from 1.
        history_index: where the first entry taken will stand in the stored history, from 0.
    """

    kind: BoundaryKind
    turn: int
    round: int
    history_index: int


class Delivered(msgspec.Struct, frozen=True):
    """One user entry that a boundary appended: its text as sent to the model.

    Args:
        text: the entry's content.
        wakes: whether it extends a turn (P9, T2).
        resets_budget: whether it puts a human back into the loop (P9, A12).
        message_id: the message, where the inbox knows one.
        opens_turn: whether it opens another turn of the same run, rather than extend the one that is ending (T4).
    """

    text: str
    wakes: bool = True
    resets_budget: bool = True
    message_id: str | None = None
    opens_turn: bool = False


class Mail(Protocol):
    """One run's side of an inbox."""

    async def take(self, boundary: Boundary) -> tuple[Delivered, ...]:
        """Claim what this boundary reads, append it to the stored history and record the delivery.

        Never waits for long: a busy journal gives up after 25 ms, and the next boundary gets it (A15).
        """
        ...

    async def finish(self, boundary: Boundary, end: RunEnd) -> tuple[Delivered, ...]:
        """End the run, unless mail extends it: then nothing ends, and that mail is given back as by ``take``.

        An empty result means that the run has ended, its ``RunFinished`` is recorded and its open mail was
        returned. Only an ``answered`` end can be extended.
        """
        ...

    async def wait(self) -> None:
        """Return once a waking message is there for an idle run (T3)."""
        ...


@runtime_checkable
class RunInbox(Protocol):
    """An inbox that brings a run's mail itself, as a session's does; of any other, the loop wraps the reader."""

    def open_run(self, run_id: str) -> Mail:
        """Open the mail of a run whose ``RunStarted`` was emitted."""
        ...
