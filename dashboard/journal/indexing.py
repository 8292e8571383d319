"""What an event changes in the tables of a SQLite journal: they index what the events tell, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dashboard.core.events import (
    ControlApplied,
    ControlRefused,
    ControlRequested,
    HostStarted,
    KnownEvent,
    MessageDelivered,
    MessageQueued,
    RunFinished,
    RunStarted,
    SessionClosed,
    Unknown,
)
from dashboard.journal.ledger import CLOSED, MessageMove, StoredMessage, accepted, moved

if TYPE_CHECKING:
    from dashboard.journal.store import Store


def index(store: Store, event: KnownEvent | Unknown, seq: int, at: int) -> None:
    """Bring the tables in line with an event.

    Args:
        store: inside a transaction.
        event: what was appended.
        seq: its seq.
        at: its time, in microseconds since the epoch, UTC.
    """
    execute = store.connection.execute
    match event:
        case HostStarted():
            store.set_meta("title", event.title)
            store.set_meta("pid", event.pid)
            store.set_meta("started_at", at)
            for label in event.labels:
                _know(store, label)
        case SessionClosed():
            store.end(CLOSED)
        case RunStarted():
            execute(
                "INSERT INTO run (run_id, label, ordinal, reading, live, started) VALUES (?, ?, ?, ?, 1, ?)",
                (event.run_id, event.label, event.ordinal, event.reading, seq),
            )
            _know(store, event.label)
        case RunFinished():
            execute("UPDATE run SET live = 0 WHERE run_id = ?", (event.run_id,))
        case MessageQueued():
            label = store.value("SELECT label FROM run WHERE run_id = ?", event.run_id) or event.to
            _insert(store, accepted(event, label, seq))
        case ControlRequested():
            execute(
                "INSERT INTO control (id, place, action, run_id, requested_by, state)"
                " VALUES (?, ?, ?, ?, ?, 'requested')",
                (event.control_id, seq, event.action, event.run_id, event.by),
            )
        case ControlApplied():
            execute("UPDATE control SET state = 'applied' WHERE id = ?", (event.control_id,))
        case ControlRefused():
            execute("UPDATE control SET state = 'refused' WHERE id = ?", (event.control_id,))
        case _ if isinstance(event, MessageMove) and event.message_id is not None:
            message = store.message(event.message_id)
            if message is not None and message.state.open:  # another bus's mail is told here too, and is not ours
                _update(store, moved(message, event, seq))
                if isinstance(event, MessageDelivered):
                    _deliver(store, event, seq)
        case _:
            pass  # the rest is told by its event alone


def _know(store: Store, label: str) -> None:
    store.connection.execute("INSERT OR IGNORE INTO label (label) VALUES (?)", (label,))


def _insert(store: Store, message: StoredMessage) -> None:
    store.connection.execute(
        "INSERT INTO message (id, place, address, label, run_id, lane, wake, state, expires_at, sender_kind,"
        " message, body_bytes, accepted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            message.id, message.place, message.address, message.label, message.run_id, message.lane, message.wake,
            message.state, message.expires_at, message.sender.kind, msgspec.json.encode(message.original),
            len(message.body.encode()), message.accepted,
        ),
    )  # fmt: skip


def _update(store: Store, message: StoredMessage) -> None:
    """Write what can change. ``message`` holds the current body, so that a host of format 1 reads an edit too."""
    current = msgspec.structs.replace(message.original, body=message.body)
    original = None if current == message.original else msgspec.json.encode(message.original)
    store.connection.execute(
        "UPDATE message SET place = ?, run_id = ?, lane = ?, state = ?, reason = ?, message = ?, body_bytes = ?,"
        " accepted = ?, held = ?, taken = ?, original = ? WHERE id = ?",
        (
            message.place, message.run_id, message.lane, message.state, message.reason,
            msgspec.json.encode(current), len(message.body.encode()), message.accepted, message.held,
            message.taken, original, message.id,
        ),
    )  # fmt: skip


def _deliver(store: Store, event: MessageDelivered, seq: int) -> None:
    store.connection.execute(
        "INSERT INTO delivery (message_id, run_id, round, history_index, seq) VALUES (?, ?, ?, ?, ?)",
        (event.message_id, event.run_id, event.round, event.history_index, seq),
    )
