"""The ledger in a SQLite file: events appended inside one transaction, and what the rules of mail ask."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from dashboard.core.errors import JournalError
from dashboard.core.events import ControlRefused, KnownEvent, Unknown
from dashboard.core.labels import RunRef, display_name
from dashboard.core.messages import Lane, Message, MessageState, ReturnReason
from dashboard.core.records import EVENT_VERSION, Record, decode, encode, run_of
from dashboard.core.sessions import ControlAnswer
from dashboard.journal import failpoints
from dashboard.journal.event_log import EventLog
from dashboard.journal.indexing import index
from dashboard.journal.ledger import StoredMessage
from dashboard.journal.schema import TORN, leave_as_it_is

if TYPE_CHECKING:
    import apsw

_message = msgspec.json.Decoder(Message)
_MESSAGES = (
    "SELECT m.message, m.original, m.address, m.label, m.run_id, m.state, m.lane, m.accepted, m.place, m.held,"
    " m.taken, m.reason, run.ordinal, delivery.round FROM message AS m"
    " LEFT JOIN run ON run.run_id = m.run_id LEFT JOIN delivery ON delivery.message_id = m.id"
)
_ACCEPTED = "coalesce(m.accepted, m.place)"  # a process of format 1 knows no other order than the place
_PAGE = 1_000
_WAKES = (
    "SELECT 1 FROM message WHERE run_id = ? AND state = 'queued' AND wake AND NOT held AND NOT taken"
    " AND coalesce(expires_at, ?) >= ?"
)


class Store(EventLog):
    """One connection's view of a journal, and the ledger of the mail in it.

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
            self._seq = int(self.value("SELECT coalesce(max(seq), 0) FROM event"))
            yield
            failpoints.at("commit.before")
            self.connection.execute("COMMIT")
            failpoints.at("commit.after")
        except BaseException as error:
            if isinstance(error, TORN):
                leave_as_it_is(self.connection)
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

    @property
    def last_seq(self) -> int:
        """The seq of the last event, in an open transaction; 0 before the first."""
        return self._seq

    def records(self, after: int, limit: int) -> list[Record]:
        """Give the events that follow a seq, in order, at most so many."""
        query = "SELECT seq, at, CAST(payload AS BLOB) FROM event WHERE seq > ? ORDER BY seq LIMIT ?"
        rows = self.rows(query, after, limit)
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
        try:
            return self.connection.execute(query, bindings).fetchall()
        except TORN:
            leave_as_it_is(self.connection)
            raise

    @property
    def over(self) -> str | None:
        """Why nothing here reads mail any more; ``None`` while a host may."""
        over: str | None = self.meta("over")
        return over

    def end(self, why: str) -> None:
        """Note that nothing here reads mail any more."""
        self.set_meta("over", why)

    def runs(self) -> list[RunRef]:
        """Give every run, in the order in which they started."""
        rows = self.rows("SELECT run_id, label, ordinal, live, reading FROM run ORDER BY started")
        return [
            RunRef(run_id, label, ordinal, bool(live), bool(reading))
            for run_id, label, ordinal, live, reading in rows
        ]

    def labels(self) -> set[str]:
        """Give every label that was declared or seen."""
        return {label for (label,) in self.rows("SELECT label FROM label")}

    def message(self, message_id: str) -> StoredMessage | None:
        """Give a message by its id."""
        found = self._messages("WHERE m.id = ?", message_id)
        return found[0] if found else None

    def messages(self) -> list[StoredMessage]:
        """Give every message, in the order of acceptance."""
        return self._messages(f"ORDER BY {_ACCEPTED}")

    def open_of(self, run_id: str) -> list[StoredMessage]:
        """Give all that is open of a run, held and taken ones too, in the order of acceptance."""
        return self._messages(f"WHERE m.run_id = ? AND m.state = 'queued' ORDER BY {_ACCEPTED}", run_id)

    def taken(self, run_id: str) -> list[StoredMessage]:
        """Give what a loop that is not ours has drained and not confirmed, in the order of reading."""
        where = "WHERE m.run_id = ? AND m.state = 'queued' AND m.taken ORDER BY m.lane, m.place"
        return self._messages(where, run_id)  # next_step sorts before next_turn, and is read before it

    def unbound(self, label: str | None = None) -> list[StoredMessage]:
        """Give what waits for the next run of a label, or of any, in the order of acceptance."""
        if label is None:
            return self._messages(f"WHERE m.state = 'unbound' ORDER BY {_ACCEPTED}")
        return self._messages(f"WHERE m.label = ? AND m.state = 'unbound' ORDER BY {_ACCEPTED}", label)

    def claimable(self, run_id: str, lane: Lane, after: int, limit: int) -> list[StoredMessage]:
        """Give what a run can read of a lane, stale or not, in the order of place."""
        where = (
            "WHERE m.run_id = ? AND m.lane = ? AND m.place > ? AND m.state = 'queued' AND NOT m.held"
            " AND NOT m.taken ORDER BY m.place LIMIT ?"
        )
        return self._messages(where, run_id, lane, after, limit)

    def wakes(self, run_id: str, at: int, lane: Lane | None = None) -> bool:
        """Whether anything that a run can read wakes it (T2, T3)."""
        if lane is None:
            return self.value(f"{_WAKES} LIMIT 1", run_id, at, at) is not None
        return self.value(f"{_WAKES} AND lane = ? LIMIT 1", run_id, at, at, lane) is not None

    def count_open(self, run_id: str) -> int:
        """Count all that is open of a run, held and taken ones too (A14)."""
        return int(self.value("SELECT count(*) FROM message WHERE run_id = ? AND state = 'queued'", run_id))

    def count_unbound(self, label: str) -> int:
        """Count what waits for the next run of a label (A14)."""
        return int(self.value("SELECT count(*) FROM message WHERE label = ? AND state = 'unbound'", label))

    def open_controls(self) -> list[tuple[str, str | None]]:
        """Give the id and the run of each request that nobody has answered, in the order of asking."""
        return self.rows("SELECT id, run_id FROM control WHERE state = 'requested' ORDER BY place")

    def answer(self, control_id: str) -> ControlAnswer | None:
        """Give the host's answer to a request; ``None`` while there is none."""
        rows = self.rows("SELECT state, place FROM control WHERE id = ?", control_id)
        if not rows or rows[0][0] == "requested":
            return None
        if rows[0][0] == "applied":
            return ControlAnswer()
        after = rows[0][1]
        while page := self.records(after, _PAGE):  # the reason stands in the event alone
            for record in page:
                event = record.event
                if isinstance(event, ControlRefused) and event.control_id == control_id:
                    return ControlAnswer(event.reason)
            after = page[-1].seq
        return ControlAnswer("its answer is not in the journal")

    def last_read(self, run_id: str) -> tuple[int, int] | None:
        """Give the round and the history index of the last message that a run read."""
        query = "SELECT round, history_index FROM delivery WHERE run_id = ? ORDER BY history_index DESC LIMIT 1"
        rows = self.rows(query, run_id)
        return rows[0] if rows else None

    def _insert(self, event: KnownEvent | Unknown, at: int) -> int:
        self._seq += 1
        seq = self._seq
        self.connection.execute(
            "INSERT INTO event (seq, at, run_id, version, payload) VALUES (?, ?, ?, ?, ?)",
            (seq, at, run_of(event), EVENT_VERSION, encode(event)),
        )
        index(self, event, seq, at)
        return seq

    def _messages(self, where: str, *bindings: str | int | None) -> list[StoredMessage]:
        rows = self.rows(f"{_MESSAGES} {where}", *bindings)
        try:
            return [_stored(*row) for row in rows]
        except (ValueError, TypeError, msgspec.MsgspecError) as error:
            leave_as_it_is(self.connection)
            raise JournalError("a message in the journal cannot be read", str(error)) from error


def _stored(
    message: bytes,
    original: bytes | None,
    address: str,
    label: str,
    run_id: str | None,
    state: str,
    lane: str,
    accepted: int | None,
    place: int,
    held: int,
    taken: int,
    reason: str | None,
    ordinal: int | None,
    round: int | None,  # noqa: A002 - the column's name
) -> StoredMessage:
    current = _message.decode(message)
    return StoredMessage(
        original=_message.decode(original) if original else current,
        address=address,
        to=label if ordinal is None else display_name(label, ordinal),
        label=label,
        run_id=run_id,
        state=MessageState(state),
        lane=Lane(lane),
        body=current.body,
        accepted=place if accepted is None else accepted,
        place=place,
        held=bool(held),
        taken=bool(taken),
        reason=ReturnReason(reason) if reason else None,
        round=round,
    )
