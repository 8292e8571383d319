"""Appending events inside one transaction: tables index, events tell, and both change together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from dashboard.core.events import (
    EVENT_VERSION,
    ControlApplied,
    ControlRefused,
    ControlRequested,
    Delta,
    HostStarted,
    KnownEvent,
    MessageBound,
    MessageReturned,
    NoticeLevel,
    NoticeRaised,
    Record,
    RunFinished,
    RunStarted,
    SessionClosed,
    Unknown,
    decode,
    encode,
    run_of,
)
from dashboard.core.labels import display_name
from dashboard.core.messages import ReturnReason
from dashboard.core.outcomes import Outcome

if TYPE_CHECKING:
    import apsw

_RETURNS = {Outcome.CANCELLED: ReturnReason.CANCELLED, Outcome.LOST: ReturnReason.HOST_LOST}


class Store:
    """One connection's view of a journal. Every write happens inside ``transaction``.

    Args:
        connection: open, and used by one thread at a time.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self._seq = 0

    @contextmanager
    def transaction(self, durable: bool = True) -> Iterator[None]:
        """Write in one go, or not at all.

        Args:
            durable: wait for the disk, so that a power cut loses nothing; deltas alone do not need it.
        """
        self.connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            self._seq = self._last_seq()
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:  # a full disk makes SQLite roll back by itself
                self.connection.execute("ROLLBACK")
            raise

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Undo what fails inside, and only that."""
        seq = self._seq
        self.connection.execute("SAVEPOINT part")
        try:
            yield
        except BaseException:
            self._seq = seq
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK TO part; RELEASE part")
            raise
        self.connection.execute("RELEASE part")

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open still: a full disk ends it from within."""
        return self.connection.in_transaction

    def append(self, event: KnownEvent | Unknown, at: int) -> int:
        """Append an event and bring the tables in line with it.

        Args:
            event: what happened.
            at: when, in microseconds since the epoch, UTC.

        Returns:
            Its seq: gap-free, from 1.
        """
        event, repaired = _storable(event)
        self._seq += 1
        seq = self._seq
        self.connection.execute(
            "INSERT INTO event (seq, at, run_id, version, payload) VALUES (?, ?, ?, ?, ?)",
            (seq, at, run_of(event), EVENT_VERSION, encode(event)),
        )
        self._index(event, at)
        if repaired and not isinstance(event, Delta):
            text = f"a {type(event).__name__} held characters that are not text; each is stored as U+FFFD"
            self.append(NoticeRaised(level=NoticeLevel.WARNING, text=text, run_id=run_of(event)), at)
        return seq

    def records(self, after: int, limit: int) -> list[Record]:
        """Give the events that follow a seq, in order, at most so many."""
        rows = self.connection.execute(
            "SELECT seq, at, payload FROM event WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit)
        )
        return [Record(seq, at, decode(payload)) for seq, at, payload in rows]

    def meta(self, name: str) -> Any:  # noqa: ANN401 - whatever SQLite holds under that name
        """Give a value of the meta table, or ``None``."""
        return self.value("SELECT value FROM meta WHERE name = ?", name)

    def set_meta(self, name: str, value: str | int) -> None:
        """Set a value of the meta table."""
        self.connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (name, value))

    def value(self, query: str, *bindings: str | int | None) -> Any:  # noqa: ANN401 - the column decides
        """Give the first column of the first row, or ``None``."""
        rows = self.rows(query, *bindings)
        return rows[0][0] if rows else None

    def rows(self, query: str, *bindings: str | int | None) -> list[Any]:
        """Give every row, as tuples; read at once, so that no read transaction stays open."""
        return self.connection.execute(query, bindings).fetchall()

    def _last_seq(self) -> int:
        return int(self.value("SELECT coalesce(max(seq), 0) FROM event"))

    def _index(self, event: KnownEvent | Unknown, at: int) -> None:
        match event:
            case HostStarted():
                self.set_meta("title", event.title)
                self.set_meta("pid", event.pid)
                self.set_meta("started_at", at)
                self.connection.executemany(
                    "INSERT OR IGNORE INTO label (label) VALUES (?)", [(label,) for label in event.labels]
                )
            case RunStarted():
                self._start_run(event, at)
            case RunFinished():
                self._end_run(event, at)
            case SessionClosed():
                self.set_meta("over", "closed")
                self.return_unbound(ReturnReason.RUN_ENDED, at)
            case ControlRequested():
                self.connection.execute(
                    "INSERT INTO control (id, place, action, run_id, requested_by, state)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    (event.control_id, self._seq, event.action, event.run_id, event.by, "requested"),
                )
            case ControlApplied():
                self.connection.execute("UPDATE control SET state = 'applied' WHERE id = ?", (event.control_id,))
            case ControlRefused():
                self.connection.execute("UPDATE control SET state = 'refused' WHERE id = ?", (event.control_id,))
            case _:
                pass  # the rest is told by its event alone

    def return_unbound(self, reason: ReturnReason, at: int) -> None:
        """Return the mail of labels whose next run will never start."""
        self._return(
            self.rows("SELECT id, run_id FROM message WHERE state = 'unbound' ORDER BY place"), reason, at
        )

    def _start_run(self, event: RunStarted, at: int) -> None:
        self.connection.execute(
            "INSERT INTO run (run_id, label, ordinal, reading, live, started) VALUES (?, ?, ?, ?, 1, ?)",
            (event.run_id, event.label, event.ordinal, event.reading, self._seq),
        )
        self.connection.execute("INSERT OR IGNORE INTO label (label) VALUES (?)", (event.label,))
        if not event.reading:
            return
        name = display_name(event.label, event.ordinal)
        waiting = "SELECT id FROM message WHERE label = ? AND state = 'unbound' ORDER BY place"
        for (message_id,) in self.rows(waiting, event.label):
            self.connection.execute(
                "UPDATE message SET state = 'queued', run_id = ? WHERE id = ?", (event.run_id, message_id)
            )
            self.append(MessageBound(message_id=message_id, run_id=event.run_id, to=name), at)

    def _end_run(self, event: RunFinished, at: int) -> None:
        self.connection.execute("UPDATE run SET live = 0 WHERE run_id = ?", (event.run_id,))
        reason = _RETURNS.get(event.outcome, ReturnReason.RUN_ENDED)
        left = "SELECT id, run_id FROM message WHERE run_id = ? AND state = 'queued' ORDER BY place"
        self._return(self.rows(left, event.run_id), reason, at)

    def _return(self, messages: list[tuple[str, str | None]], reason: ReturnReason, at: int) -> None:
        for message_id, run_id in messages:
            self.connection.execute(
                "UPDATE message SET state = 'undeliverable', reason = ? WHERE id = ?", (reason, message_id)
            )
            self.append(MessageReturned(message_id=message_id, reason=reason, run_id=run_id), at)


def is_durable(event: KnownEvent | Unknown) -> bool:
    """Whether an event must survive a power cut; what streams by need not, its history entry will tell it."""
    return not isinstance(event, Delta)


def _storable(event: KnownEvent | Unknown) -> tuple[KnownEvent | Unknown, bool]:
    try:
        encode(event)
    except UnicodeEncodeError:
        return _repair(event), True
    return event, False


def _repair(value: Any) -> Any:  # noqa: ANN401 - walks a struct of any event's shape
    if type(value) is str:  # an enum's value is its own class, and always text
        return "".join("\ufffd" if 0xD800 <= ord(character) <= 0xDFFF else character for character in value)
    if isinstance(value, tuple):
        return tuple(map(_repair, value))
    if isinstance(value, msgspec.Struct):
        changed = {name: _repair(getattr(value, name)) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **changed)
    return value
