"""The ledger in memory, for an inbox that stands alone: the same rules, and real transactions by an undo log."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

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
from dashboard.core.labels import RunRef
from dashboard.core.messages import Lane
from dashboard.core.records import Record
from dashboard.journal.clock import Clock, wall_clock
from dashboard.journal.event_log import EventLog
from dashboard.journal.inline import WriterAtOnce
from dashboard.journal.jobs import Item
from dashboard.journal.ledger import CLOSED, MessageMove, StoredMessage, accepted, moved

K = TypeVar("K")
V = TypeVar("V")
_OVER = "over"


class MemoryLedger(EventLog):
    """A session's events in a list, and what indexes them in dicts. Used by one thread at a time."""

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._marks: dict[str, str] = {}
        self._labels: dict[str, None] = {}
        self._runs: dict[str, RunRef] = {}
        self._controls: dict[str, str | None] = {}  # the run of each that is not answered
        self._last_read: dict[str, tuple[int, int]] = {}
        self._messages: dict[str, StoredMessage] = {}
        self._boxes: dict[str | None, dict[str, StoredMessage]] = {}  # what is open, per run; None for the unbound
        self._undo: list[Callable[[], object]] = []  # what takes back each change of this transaction, in order
        self._open = False

    @contextmanager
    def transaction(self, durable: bool = True) -> Iterator[None]:  # noqa: ARG002 - there is no disk to wait for
        """Write in one go, or not at all."""
        self._open = True
        try:
            with self.savepoint():
                yield
        finally:
            self._open = False
            self._undo.clear()

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Undo what fails inside, and only that."""
        mark = len(self._undo)
        try:
            yield
        except BaseException:
            while len(self._undo) > mark:
                self._undo.pop()()
            raise

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._open

    def records(self, after: int, limit: int) -> list[Record]:
        """Give the events that follow a seq, in order, at most so many."""
        return self._records[after : after + limit]

    @property
    def last_seq(self) -> int:
        """The seq of the last event; 0 before the first."""
        return len(self._records)

    @property
    def over(self) -> str | None:
        """Why nothing here reads mail any more; ``None`` while a host may."""
        return self._marks.get(_OVER)

    def end(self, why: str) -> None:
        """Note that nothing here reads mail any more."""
        self._set(self._marks, _OVER, why)

    def runs(self) -> list[RunRef]:
        """Give every run, in the order in which they started."""
        return list(self._runs.values())

    def labels(self) -> set[str]:
        """Give every label that was declared or seen."""
        return set(self._labels)

    def message(self, message_id: str) -> StoredMessage | None:
        """Give a message by its id."""
        return self._messages.get(message_id)

    def messages(self) -> list[StoredMessage]:
        """Give every message, in the order of acceptance."""
        return list(self._messages.values())

    def open_of(self, run_id: str) -> list[StoredMessage]:
        """Give all that is open of a run, held and taken ones too, in the order of acceptance."""
        return sorted(self._of(run_id), key=lambda message: message.accepted)

    def taken(self, run_id: str) -> list[StoredMessage]:
        """Give what a loop that is not ours has drained and not confirmed, in the order of reading."""
        taken = [message for message in self._of(run_id) if message.taken]
        return sorted(taken, key=lambda message: (message.lane is Lane.NEXT_TURN, message.place))

    def unbound(self, label: str | None = None) -> list[StoredMessage]:
        """Give what waits for the next run of a label, or of any, in the order of acceptance."""
        waiting = [message for message in self._of(None) if label in (None, message.label)]
        return sorted(waiting, key=lambda message: message.accepted)

    def claimable(self, run_id: str, lane: Lane, after: int, limit: int) -> list[StoredMessage]:
        """Give what a run can read of a lane, stale or not, in the order of place."""
        readable = [
            message
            for message in self._of(run_id)
            if message.lane is lane and message.place > after and message.claimable
        ]
        return sorted(readable, key=lambda message: message.place)[:limit]

    def wakes(self, run_id: str, at: int, lane: Lane | None = None) -> bool:
        """Whether anything that a run can read wakes it (T2, T3)."""
        return any(
            message.wake and message.claimable and lane in (None, message.lane) and not message.stale(at)
            for message in self._of(run_id)
        )

    def count_open(self, run_id: str) -> int:
        """Count all that is open of a run, held and taken ones too (A14)."""
        return len(self._of(run_id))

    def count_unbound(self, label: str) -> int:
        """Count what waits for the next run of a label (A14)."""
        return len(self.unbound(label))

    def open_controls(self) -> list[tuple[str, str | None]]:
        """Give the id and the run of each request that nobody has answered, in the order of asking."""
        return list(self._controls.items())

    def last_read(self, run_id: str) -> tuple[int, int] | None:
        """Give the round and the history index of the last message that a run read."""
        return self._last_read.get(run_id)

    def _insert(self, event: KnownEvent | Unknown, at: int) -> int:
        seq = len(self._records) + 1
        self._records.append(Record(seq, at, event))
        self._undo.append(self._records.pop)
        self._index(event, seq)
        return seq

    def _index(self, event: KnownEvent | Unknown, seq: int) -> None:
        match event:
            case HostStarted():
                for label in event.labels:
                    self._set(self._labels, label, None)
            case SessionClosed():
                self.end(CLOSED)
            case RunStarted():
                run = RunRef(event.run_id, event.label, event.ordinal, True, event.reading)
                self._set(self._runs, event.run_id, run)
                self._set(self._labels, event.label, None)
            case RunFinished() if event.run_id in self._runs:
                ended = msgspec.structs.replace(self._runs[event.run_id], live=False)
                self._set(self._runs, event.run_id, ended)
            case MessageQueued():
                run_of_it = self._runs.get(event.run_id or "")
                self._put(accepted(event, run_of_it.label if run_of_it else event.to, seq))
            case ControlRequested():
                self._set(self._controls, event.control_id, event.run_id)
            case ControlApplied() | ControlRefused() if event.control_id in self._controls:
                self._drop(self._controls, event.control_id)
            case _ if isinstance(event, MessageMove) and event.message_id in self._messages:
                message = self._messages[event.message_id]
                if message.state.open:
                    self._put(moved(message, event, seq))
                    if isinstance(event, MessageDelivered):
                        self._set(self._last_read, event.run_id, (event.round, event.history_index))
            case _:
                pass  # the rest is told by its event alone

    def _of(self, run_id: str | None) -> Collection[StoredMessage]:
        return self._boxes.get(run_id, {}).values()

    def _put(self, message: StoredMessage) -> None:
        """Put a message as it stands now in the place of what it was, and into the box where it is looked for."""
        before = self._messages.get(message.id)
        self._set(self._messages, message.id, message)
        if before is not None and before.run_id != message.run_id:
            self._drop(self._boxes[before.run_id], message.id)
        box = self._boxes.setdefault(message.run_id, {})
        if message.state.open:
            self._set(box, message.id, message)
        else:
            self._drop(box, message.id)

    def _set(self, table: dict[K, V], key: K, value: V) -> None:
        if key in table:
            self._undo.append(partial(table.__setitem__, key, table[key]))
        else:
            self._undo.append(partial(table.__delitem__, key))
        table[key] = value

    def _drop(self, table: dict[K, V], key: K) -> None:
        self._undo.append(partial(table.__setitem__, key, table.pop(key)))


class MemoryWriter(WriterAtOnce[MemoryLedger]):
    """The writer of an inbox that stands alone: keeps everything in memory, and can be called from any thread.

    Args:
        clock: microseconds since the epoch, UTC.
    """

    def __init__(self, clock: Clock = wall_clock) -> None:
        super().__init__(MemoryLedger(), clock)
        self._listeners: set[asyncio.Future[None]] = set()

    def records(self, after: int = 0, limit: int = sys.maxsize) -> list[Record]:
        """Give the events that follow a seq, in order, at most so many."""
        with self._lock:
            return self._ledger.records(after, limit)

    def changed(self) -> Awaitable[None]:
        """Listen from this call on, in a running event loop; the result is done once anything was recorded."""
        listener = asyncio.get_running_loop().create_future()
        with self._lock:
            self._listeners.add(listener)
        listener.add_done_callback(self._forget)
        return listener

    def close(self) -> None:
        """Do nothing: there is nothing to let go of, and what is recorded stays readable."""

    def _write(self, item: Item) -> None:
        with self._lock:
            before = self._ledger.last_seq
            super()._write(item)
            if self._ledger.last_seq == before:
                return  # a look changes nothing; who waits would only look again
            listeners, self._listeners = self._listeners, set()
        for listener in listeners:
            with contextlib.suppress(RuntimeError):  # its loop has been closed, and nobody waits there
                listener.get_loop().call_soon_threadsafe(_wake, listener)

    def _forget(self, listener: asyncio.Future[None]) -> None:
        with self._lock:
            self._listeners.discard(listener)


def _wake(listener: asyncio.Future[None]) -> None:
    if not listener.done():  # cancelled meanwhile
        listener.set_result(None)
