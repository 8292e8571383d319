"""One sender's mail for a program that can wait: each call returns once its step is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dashboard.core.labels import RunRef
from dashboard.core.messages import Edit, Hold, Lane, Preset, Promote, Receipt, Withdraw
from dashboard.core.sessions import BatchResult
from dashboard.journal.jobs import Job, T, Writer
from dashboard.journal.ledger import Ledger, StoredMessage
from dashboard.journal.mail_desk import MailDesk


class Correspondent:
    """Writes to runs under one name, and reads what became of it. Safe to call from any thread.

    Every call waits until its step is stored, a few milliseconds on a disk that is not busy: where an event loop
    must not wait even that long, call it in a thread. Every call raises ``JournalError`` if that fails.

    Args:
        writer: the process's writer.
        desk: the sender's desk over it.
    """

    def __init__(self, writer: Writer[Ledger], desk: MailDesk) -> None:
        self._writer = writer
        self._desk = desk

    def send(
        self,
        to: str,
        text: str,
        target: Lane = Lane.NEXT_STEP,
        wake: bool = True,
        expires_at: int | None = None,
    ) -> Receipt:
        """Send a message: the primitive, which allows all four combinations of a lane and a wake (A1, A5).

        Args:
            to: a run id, ``label#ordinal``, or a bare label that one live run has or the next run will have.
            text: the body, up to 64 KiB; the run reads it exactly as it is.
            target: ``next_step``, read before the next model request, or ``next_turn``, which opens the next turn.
            wake: whether it starts an idle agent, or extends one that would end.
            expires_at: when it stops being worth reading, in microseconds since the epoch, UTC (A13).

        Raises:
            SendRefusedError: it was refused for the reason that it names, and nothing was stored.
            InvalidMessageError: a value of the wrong type, or a time in another unit (a ``ValueError``).
        """
        return self._desk.send(to, self._desk.compose(text, target, wake, expires_at)).result()

    def steer(self, to: str, text: str) -> Receipt:
        """Send what is to be read before the next model request; as ``send``, which tells the arguments."""
        return self.send(to, text, Preset.STEER.lane, Preset.STEER.wake)

    def followup(self, to: str, text: str) -> Receipt:
        """Send what is to be answered once the run has finished; as ``send``, which tells the arguments."""
        return self.send(to, text, Preset.FOLLOWUP.lane, Preset.FOLLOWUP.wake)

    def inject(self, to: str, text: str) -> Receipt:
        """Send what the run has to hand if it makes another request; as ``send``, which tells the arguments."""
        return self.send(to, text, Preset.INJECT.lane, Preset.INJECT.wake)

    def broadcast(
        self, recipients: Iterable[RunRef], text: str, preset: Preset = Preset.STEER
    ) -> tuple[BatchResult, ...]:
        """Send one text to several runs in one step, under one batch id; a refusal stops no other part (A6).

        Args:
            recipients: the runs, of those that ``runs`` gave.
            text: what each of them gets, up to 64 KiB.
            preset: how each of them gets it.

        Returns:
            What became of each part, in the order of the recipients.
        """
        return self._desk.broadcast(self._desk.compose_batch(text, preset, recipients)).result()

    def withdraw(self, message_id: str) -> Receipt:
        """Take a message back that nobody has read (A10).

        Raises:
            SendRefusedError: ``too_late``, or ``unknown``.
        """
        return self._desk.amend(message_id, Withdraw()).result()

    def edit(self, message_id: str, text: str) -> Receipt:
        """Put another text in the place of a message's; it keeps its place (A4, A10).

        Args:
            message_id: the message, as its receipt names it.
            text: what its run reads instead, up to 64 KiB.

        Raises:
            SendRefusedError: ``too_late``, ``unknown``, ``empty`` or ``too_large``.
        """
        return self._desk.amend(message_id, Edit(text)).result()

    def hold(self, message_id: str) -> Receipt:
        """Keep a message from being read, and from waking anybody, until it is released (A10).

        Raises:
            SendRefusedError: ``too_late``, or ``unknown``.
        """
        return self._desk.amend(message_id, Hold()).result()

    def release(self, message_id: str) -> Receipt:
        """Let a held message be read again, in its old place (A10).

        Raises:
            SendRefusedError: ``too_late``, or ``unknown``.
        """
        return self._desk.amend(message_id, Hold(held=False)).result()

    def promote(self, message_id: str) -> Receipt:
        """Move a follow-up to the tail of the steer lane (A10).

        Raises:
            SendRefusedError: ``too_late``, or ``unknown``.
        """
        return self._desk.amend(message_id, Promote()).result()

    def messages(self) -> tuple[StoredMessage, ...]:
        """Give every message of the session with its text and its fate, in the order of acceptance (A1)."""
        return tuple(self._ask(lambda ledger: ledger.messages()))

    def message(self, message_id: str) -> StoredMessage | None:
        """Give one message with its text and its fate; ``None`` if there is none of that id (A1)."""
        return self._ask(lambda ledger: ledger.message(message_id))

    def runs(self) -> list[RunRef]:
        """Give every run that can be, or could be, written to, in the order in which they started (A5)."""
        return self._ask(lambda ledger: ledger.runs())

    def _ask(self, work: Callable[[Ledger], T]) -> T:
        return self._writer.submit(Job(work)).future.result()
