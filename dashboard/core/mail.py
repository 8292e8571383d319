"""The port through which a loop gets its mail: take at a boundary, finish at the end.

What either call gives back is already in the run's stored history: the claim, the history entries and the
delivery records are one step of whoever implements this, so that a crash leaves a message either queued or
delivered (A8), and a late message is either read or returned at once (A9).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol, TypeGuard, runtime_checkable

import msgspec

from dashboard.core.events import KnownEvent, TurnFinished
from dashboard.core.outcomes import RunEnd


class BoundaryKind(StrEnum):
    """The places of a loop where mail is read (P5, T1)."""

    TURN_OPEN = "turn_open"  # after the prompt, before request 1: next_turn, then next_step
    AFTER_TOOLS = "after_tools"  # all results of the round are stored
    DEGENERATE = "degenerate"  # no text and no tool call
    FINAL = "final"  # what would have been the last turn
    WRAP_UP = "wrap_up"  # before the forced answer, tools off
    RETRY = "retry"  # a failed request of which nothing was shown
    WAKE = "wake"  # an idle root: as the open of a turn, if anything that waits wakes (T3)


class Boundary(msgspec.Struct, frozen=True):
    """Where a loop stands when it asks for mail.

    Args:
        kind: the place.
        turn: the turn that is open, from 1.
        round: the round that would read what is taken, from 1.
        history_index: where the first entry taken will stand in the stored history, from 0.
        one_followup: whether the open of a turn claims one follow-up instead of all (T6).
    """

    kind: BoundaryKind
    turn: int
    round: int
    history_index: int
    one_followup: bool = False


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
    """One run's side of an inbox.

    What a call decides, a ``RunInbox`` has recorded on its own bus when the call returns; the loop tells every
    other listener, and records it for an inbox that keeps no record.
    """

    async def take(self, boundary: Boundary) -> tuple[Delivered, ...]:
        """Claim what this boundary reads, append it to the stored history and record the delivery.

        Never waits for long: a busy journal gives up after 25 ms, and the next boundary gets it (A15).
        """
        ...

    async def finish(self, boundary: Boundary, end: RunEnd) -> tuple[Delivered, ...]:
        """End the run, unless mail extends it: then nothing ends, and that mail is given back as by ``take``.

        An empty result means that the run has ended, its ``RunFinished`` is recorded and its open mail was
        returned. Only an ``answered`` end can be extended; a ``wrap_up`` ends its turn alone, so that a follow-up
        opens another (T4, P10). Any other end is final.
        """
        ...

    async def cancel_turn(self, finished: TurnFinished | None, before: int | None) -> None:
        """Record that a root's turn was cancelled, and return the mail that waited for it (A11).

        Args:
            finished: the event to record; ``None`` where the root was idle, and only its mail comes back.
            before: the seq of the request to cancel, so that what was accepted after it stays; ``None`` for all.
        """
        ...

    async def wait(self) -> None:
        """Return once a waking message is there for an idle run (T3)."""
        ...


@runtime_checkable
class RunInbox(Protocol):
    """An inbox that brings a run's mail itself, as a session's does; of any other, the loop wraps the reader.

    It is a bus as well: it is told every event of the runs that read here, so that it knows whom mail can go to.
    """

    def emit(self, event: KnownEvent) -> None:
        """Append an event of a run; never waits."""
        ...

    def next_ordinal(self, label: str) -> int:
        """Count one more run of this label on this bus: 1 for the first."""
        ...

    def open_run(self, run_id: str) -> Mail:
        """Open the mail of a run whose ``RunStarted`` was emitted."""
        ...


def opens_runs(inbox: object) -> TypeGuard[RunInbox]:
    """Whether an inbox brings its runs' mail, and so takes part in a session: people can write to its runs."""
    return isinstance(inbox, RunInbox)
