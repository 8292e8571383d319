"""Where one sender writes: what is composed, sent and amended here carries its name, whatever it says (A12)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Protocol

import msgspec

from dashboard.core.errors import InvalidMessageError
from dashboard.core.ids import ENTROPY_BYTES, sortable_id
from dashboard.core.messages import Amendment, Lane, Message, Preset, Receipt, Sender
from dashboard.core.sessions import BatchPart, BatchResult
from dashboard.core.text import storable
from dashboard.journal import mailroom
from dashboard.journal.clock import Clock
from dashboard.journal.jobs import Job, T, Writer
from dashboard.journal.ledger import Ledger

EARLIEST = 1_000_000_000_000_000  # microseconds, in 2001: anything below is a time in another unit


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

        Raises:
            InvalidMessageError: a value of the wrong type, or a time in another unit (a ``ValueError``).
        """
        if not isinstance(body, str):
            raise _invalid("text", body, "Give a str")
        at = self._clock()
        if expires_at is not None and (not isinstance(expires_at, int) or expires_at < EARLIEST):
            raise _invalid("expires_at", expires_at, "Give microseconds since the epoch, UTC, as an int")
        return _checked(
            Message(_new_id("msg", at), storable(body), lane, wake, self.sender, at, expires_at, batch_id)
        )

    def compose_batch(self, body: str, preset: Preset, recipients: Iterable[Recipient]) -> tuple[BatchPart, ...]:
        """Make a broadcast to the runs that are given now, and to no others (A6).

        Args:
            body: what everyone gets.
            preset: how everyone gets it.
            recipients: the runs.
        """
        batch_id = _new_id("batch", self._clock())
        preset = _preset(preset)
        recipients = list(recipients)
        for run in recipients:
            if not hasattr(run, "run_id"):
                raise _invalid("recipients", run, "Give runs, as runs() has them")
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
        if not isinstance(address, str):
            raise _invalid("to", address, "Give a run id, a label#ordinal or a label")
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
        return _checked(msgspec.structs.replace(message, sender=self.sender))

    def _do(self, work: Callable[[Ledger], T]) -> Future[T]:
        return self._writer.submit(Job(work)).future


def _new_id(prefix: str, at: int) -> str:
    return sortable_id(prefix, at, os.urandom(ENTROPY_BYTES))


def _checked(message: Message) -> Message:
    """Give the message with each value as its type: a stored one of another type could never be read again."""
    try:
        return msgspec.convert(msgspec.structs.asdict(message), Message, from_attributes=True)
    except msgspec.ValidationError as error:
        raise InvalidMessageError(
            "the message is not usable as given",
            str(error),
            "Give a target of 'next_step' or 'next_turn', and a bool",
        ) from error


def _preset(preset: Preset) -> Preset:
    try:
        return Preset(preset)
    except ValueError:
        raise _invalid("preset", preset, f"Give one of: {', '.join(Preset)}") from None


def _invalid(what: str, given: object, fix: str) -> InvalidMessageError:
    return InvalidMessageError(f"the message's {what} is not usable", f"it got {given!r}", fix)
