"""Sending a message from a shell, and waiting for its fate."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from dashboard.cli.addressing import spelled_out
from dashboard.cli.folding import fold_all
from dashboard.cli.shared import Exit
from dashboard.core.errors import DashboardError, JournalError
from dashboard.core.messages import MessageState, Preset, Receipt
from dashboard.journal.session import JournalOperatorSession
from dashboard.journal.store import Store
from dashboard.ui.receipts import fate_words

LOOK_SECONDS = 0.05
PROBE_SECONDS = 0.5
TRIES = 3  # to store a message: the same one again is stored once (A3)
_STATUS = {
    MessageState.DELIVERED: Exit.DONE,
    MessageState.QUEUED: Exit.PENDING,
    MessageState.UNBOUND: Exit.PENDING,
}


class InputError(DashboardError):
    """Standard input cannot be the text of a message."""


def read_text() -> str:
    """Read a text from standard input, without the newline at its end.

    Raises:
        InputError: it is no UTF-8.
    """
    raw = sys.stdin.buffer.read()
    try:
        return raw.decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise InputError(
            "standard input is not UTF-8 text",
            f"byte {error.start} is {raw[error.start]:#04x}",
            "Nothing was sent",
        ) from error


def send(session: JournalOperatorSession, to: str, text: str, preset: Preset) -> Receipt:
    """Store a message; a journal that is busy is tried again with the same message, which is stored once.

    Args:
        session: open.
        to: as it was typed: a run's id or name, short or long, or a label.
        text: the body.
        preset: how it is to be read.

    Raises:
        SendRefusedError: it was refused, and nothing was stored.
        JournalError: it could not be stored.
    """
    address = spelled_out(to, session.look(Store.runs), session.look(Store.labels))
    message = session.compose(text, preset)
    for tries_left in range(TRIES - 1, -1, -1):
        try:
            return asyncio.run(session.send(address, message))
        except JournalError:
            if not tries_left:
                raise
            time.sleep(PROBE_SECONDS)
    raise AssertionError("the last try returns or raises")


def await_fate(session: JournalOperatorSession, message_id: str, seconds: float | None) -> Exit:
    """Wait until a message was read or came back, at most so long; a host that dies meanwhile is reaped.

    Args:
        session: open.
        message_id: the message.
        seconds: how long; ``None`` without an end.

    Raises:
        JournalError: the journal cannot be read any more.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    probe_at = 0.0
    while True:
        now = time.monotonic()
        if now >= probe_at:
            session.probe()
            probe_at = now + PROBE_SECONDS
        message = session.look(lambda store: store.message(message_id))
        status = Exit.RETURNED if message is None else _STATUS.get(message.state, Exit.RETURNED)
        if status is not Exit.PENDING or (deadline is not None and now >= deadline):
            return status
        time.sleep(LOOK_SECONDS)


def fate(session: JournalOperatorSession, message_id: str) -> str:
    """Say what became of a message so far, as the console does."""
    projection = session.look(lambda store: fold_all(store.records))
    message = projection.messages[message_id]
    return fate_words(message, projection.runs.get(message.run_id or ""))[1]


def session_at(folder: Path, operator: str) -> JournalOperatorSession:
    """Open a session for a command that writes: its host is looked at first, so that a dead one is known to be.

    Raises:
        JournalError: there is no journal that can be read.
    """
    from dashboard.journal.reaping import look

    look(folder)
    return JournalOperatorSession(folder, operator)
