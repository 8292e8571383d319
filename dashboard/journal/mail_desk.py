"""Where one sender writes: what is composed, sent and amended here carries its name, whatever it says (A12)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Protocol

import msgspec

from dashboard.core.ids import ENTROPY_BYTES, sortable_id
from dashboard.core.messages import Amendment, Lane, Message, Preset, Receipt, Sender
from dashboard.core.sessions import BatchPart, BatchResult
from dashboard.core.text import storable
from dashboard.journal import mailroom
from dashboard.journal.clock import Clock
from dashboard.journal.jobs import Job, T, Writer
from dashboard.journal.ledger import Ledger


class Recipient(Protocol):
    """A run as whoever writes to it sees it."""

    @property
    def run_id(self) -> str:
        """The run."""
        ...

    @property
    def name(self) -> str:
        """Its display name."""
        ...


class MailDesk:
    """One sender's side of a session's mail. Every answer is a future: wait for it, or await it.

    Args:
        writer: the process's writer.
        sender: whose mail this is.
        clock: microseconds since the epoch, UTC.
    """

    def __init__(self, writer: Writer[Ledger], sender: Sender, clock: Clock) -> None:
        self.sender = msgspec.structs.replace(sender, name=storable(sender.name))
        self._writer = writer
        self._clock = clock

    def compose(
        self, body: str, lane: Lane, wake: bool, expires_at: int | None = None, batch_id: str | None = None
    ) -> Message:
        """Make a message, with its id and time, so that sending it again is safe (A3).

        Args:
            body: the text.
            lane: where it waits.
            wake: whether it starts an idle agent, or extends one that would end.
            expires_at: when it stops being worth reading, in microseconds since the epoch, UTC (A13).
            batch_id: the broadcast that it is a part of (A6).
        """
        at = self._clock()
        return Message(_new_id("msg", at), storable(body), lane, wake, self.sender, at, expires_at, batch_id)

    def compose_batch(self, body: str, preset: Preset, recipients: Iterable[Recipient]) -> tuple[BatchPart, ...]:
        """Make a broadcast to the runs that are given now, and to no others (A6).

        Args:
            body: what everyone gets.
            preset: how everyone gets it.
            recipients: the runs.
        """
        batch_id = _new_id("batch", self._clock())
        return tuple(
            BatchPart(run.run_id, run.name, self.compose(body, preset.lane, preset.wake, batch_id=batch_id))
            for run in recipients
        )

    def send(self, address: str, message: Message) -> Future[Receipt]:
        """Store a message for a run.

        Args:
            address: a run id, ``label#ordinal`` or a bare label (A5).
            message: what ``compose`` gave; the sender is this desk's in any case.

        Returns:
            The receipt, or ``SendRefusedError`` if it is refused, or ``JournalError`` if it cannot be stored.
        """
        signed = self._sign(message)
        return self._do(lambda ledger: mailroom.accept(ledger, address, signed, self._clock()))

    def broadcast(self, batch: Sequence[BatchPart]) -> Future[tuple[BatchResult, ...]]:
        """Store a broadcast in one step; a part that is refused stops no other (A6).

        Returns:
            What became of each part, or ``JournalError`` if nothing of it can be stored.
        """
        signed = [msgspec.structs.replace(part, message=self._sign(part.message)) for part in batch]
        return self._do(lambda ledger: mailroom.broadcast(ledger, signed, self._clock()))

    def amend(self, message_id: str, change: Amendment) -> Future[Receipt]:
        """Withdraw, edit, hold, release or promote a message that is still open (A10).

        Returns:
            The receipt, or ``SendRefusedError`` (too late, unknown, or the new body is refused), or
            ``JournalError`` if it cannot be stored.
        """
        return self._do(lambda ledger: mailroom.amend(ledger, message_id, change, self.sender, self._clock()))

    def _sign(self, message: Message) -> Message:
        return msgspec.structs.replace(message, sender=self.sender)

    def _do(self, work: Callable[[Ledger], T]) -> Future[T]:
        return self._writer.submit(Job(work)).future


def _new_id(prefix: str, at: int) -> str:
    return sortable_id(prefix, at, os.urandom(ENTROPY_BYTES))
