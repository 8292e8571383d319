"""Sending on mail that came back: to a run of its own session that still reads, or of another session."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from dashboard.core.errors import JournalError, SendRefusedError
from dashboard.core.labels import short_name
from dashboard.core.messages import MessageState, Receipt, Refusal, Sender, SenderKind
from dashboard.core.sessions import Destination
from dashboard.journal.clock import Clock
from dashboard.journal.home import JOURNAL_NAME, session_folders
from dashboard.journal.ledger import StoredMessage
from dashboard.journal.mail_desk import MailDesk
from dashboard.journal.reaping import look, readable
from dashboard.journal.writer import ThreadWriter

UNREAD = (MessageState.UNDELIVERABLE, MessageState.EXPIRED, MessageState.WITHDRAWN)


def destinations(own: Path, clock: Clock) -> list[Destination]:
    """Give every run that reads mail: those of a session itself first, then those of the others, newest first.

    Args:
        own: the folder of the session that the mail came back in.
        clock: microseconds since the epoch, UTC.
    """
    others = [folder for folder in reversed(session_folders()) if folder.name != own.name]
    return [found for folder in (own, *others) for found in _readers(folder, clock)]


def returned(message: StoredMessage | None, message_id: str) -> StoredMessage:
    """Give a message that can be sent on: one that nobody has read, and nobody will.

    Raises:
        SendRefusedError: ``unknown``, or ``too_late``: it was read, or waits still.
    """
    if message is None:
        raise SendRefusedError(Refusal.UNKNOWN, f"no message {message_id} in this session")
    if message.state not in UNREAD:
        stands = "waits still" if message.state.open else "was read"
        raise SendRefusedError(Refusal.TOO_LATE, f"the message {stands}; only one that came back can be sent on")
    return message


def send_on(folder: Path, to: Destination, message: StoredMessage, operator: str, clock: Clock) -> Receipt:
    """Store the text of a message that came back as a message of its own, in the session where its reader is.

    Args:
        folder: of the session that the destination is in.
        to: the run.
        message: what came back; its text as last edited, and how it was to be read.
        operator: who sends it now.
        clock: microseconds since the epoch, UTC.

    Raises:
        SendRefusedError: it was refused, and nothing was stored.
        JournalError: it could not be stored.
    """
    with closing(ThreadWriter(folder / JOURNAL_NAME, clock)) as writer:
        desk = MailDesk(writer, Sender(SenderKind.OPERATOR, operator), clock)
        return desk.send(to.run_id, desk.compose(message.body, message.lane, message.wake)).result()


def _readers(folder: Path, clock: Clock) -> list[Destination]:
    try:
        if not look(folder, clock).state.lives:
            return []
        with readable(folder) as store:
            title = str(store.meta("title") or "")
            runs = [run for run in store.runs() if run.live and run.reading]
    except (JournalError, OSError):
        return []  # what cannot be read cannot be written to either
    return [
        Destination(folder.name, title, run.run_id, run.name, short_name(run.label, run.ordinal)) for run in runs
    ]
