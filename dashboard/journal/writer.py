"""The one writer of a process: a thread with the only connection that writes, fed through a queue.

Events go in without waiting; pieces of streamed text are joined for 40 ms. A job (send, take, finish) runs in the
same transaction as what was emitted before it, so a boundary never overtakes the text that led to it.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeGuard, TypeVar

import apsw
import msgspec

from dashboard.core.errors import JournalError
from dashboard.core.events import Delta, KnownEvent, NoticeLevel, NoticeRaised
from dashboard.journal.schema import connect
from dashboard.journal.store import Store, is_durable

if TYPE_CHECKING:
    from pathlib import Path

COALESCE_SECONDS = 0.040
RETRY_SECONDS = 0.5
TRIES_AT_CLOSE = 20
MOST_AT_ONCE = 500  # items a transaction, so that a backlog after trouble is not one giant step
TRANSIENT = (
    apsw.BusyError,
    apsw.LockedError,
    apsw.FullError,
    apsw.IOError,
    apsw.CantOpenError,
    apsw.ReadOnlyError,
)
_log = logging.getLogger(__name__)
T = TypeVar("T")


class _State(Enum):
    WAITING = auto()
    RUNNING = auto()
    ABANDONED = auto()


class Job(Generic[T]):
    """A piece of work on the store, and the future of its result."""

    def __init__(self, work: Callable[[Store], T]) -> None:
        self.future: Future[T] = Future()
        self._work = work
        self._state = _State.WAITING
        self._lock = threading.Lock()
        self._done: Callable[[], None] | None = None

    def abandon(self) -> bool:
        """Call it off. ``False`` if it has begun: then its result is coming, and must be waited for."""
        with self._lock:
            if self._state is _State.WAITING:
                self._state = _State.ABANDONED
            return self._state is _State.ABANDONED

    def run(self, store: Store) -> None:
        """Do the work inside a transaction; ``settle`` tells the caller once that has been committed."""
        with self._lock:
            # from here on its future cannot be cancelled: what is written must be told
            if self._state is _State.ABANDONED or not self.future.set_running_or_notify_cancel():
                return
            self._state = _State.RUNNING
        try:
            with store.savepoint():
                result = self._work(store)
        except TRANSIENT:
            raise  # the journal's trouble, not the job's
        except Exception as error:
            if not store.in_transaction:
                raise
            failed = error  # a refusal is an answer, and a bug its own: it undoes this job, not its neighbours
            self._done = lambda: self.future.set_exception(failed)
        else:
            self._done = lambda: self.future.set_result(result)

    def settle(self) -> None:
        """Hand the result over."""
        if self._done is not None:
            self._done()

    def fail(self, error: Exception) -> None:
        """Hand over that nothing was written."""
        if not self.future.done():
            self.future.set_exception(error)
        self._done = None


class Emitted(msgspec.Struct, frozen=True):
    """An event on its way, with the instant at which it happened."""

    at: int
    event: KnownEvent


class EmittedDelta(Emitted, frozen=True):
    """The same for a delta: a type for the checker alone, nothing makes one."""

    event: Delta


Item = Emitted | Job[Any]


class Writer(Protocol):
    """How a process writes to its session's journal."""

    def emit(self, event: KnownEvent) -> None:
        """Append an event soon; never waits."""
        ...

    def submit(self, job: Job[T]) -> Job[T]:
        """Run a job after everything that was emitted before it."""
        ...

    def close(self) -> None:
        """Write what is left, and let go of the file."""
        ...


class ThreadWriter:
    """The writer of a living process.

    Args:
        path: the journal.
        clock: microseconds since the epoch, UTC.
        on_death: called in the thread if it cannot go on, by a bug of ours: nothing would be recorded any more.
    """

    def __init__(self, path: Path, clock: Callable[[], int], on_death: Callable[[], object] = bool) -> None:
        self._clock = clock
        self._on_death = on_death
        self._dead = False
        self._items: queue.SimpleQueue[Item | None] = queue.SimpleQueue()
        self._opened: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, args=(path,), name="journal-writer", daemon=True)
        self._thread.start()
        self._opened.result()

    def emit(self, event: KnownEvent) -> None:
        """Append an event soon, stamped with the time of this call."""
        self._items.put(Emitted(self._clock(), event))

    def submit(self, job: Job[T]) -> Job[T]:
        """Queue a job behind everything emitted so far."""
        if self._dead:
            job.fail(_ended())
        else:
            self._items.put(job)
        return job

    def close(self) -> None:
        """Write what is left and end the thread."""
        self._items.put(None)
        self._thread.join()

    def _run(self, path: Path) -> None:
        try:
            store = Store(connect(path))
        except Exception as error:  # handed to whoever opened this writer
            self._opened.set_exception(error)
            return
        self._opened.set_result(None)
        waiting: list[Item] = []
        try:
            self._write_until_closed(store, waiting)
        except Exception:
            _log.critical("the journal's writer cannot go on", exc_info=True)
            self._dead = True
            self._fail_all(waiting)
            self._on_death()
        finally:
            store.connection.close()

    def _fail_all(self, waiting: list[Item]) -> None:
        """Answer whoever waits for a job: nothing will come any more."""
        while not self._items.empty():
            left = self._items.get()
            if left is not None:
                waiting.append(left)
        for item in waiting:
            if isinstance(item, Job):
                item.fail(_ended())

    def _write_until_closed(self, store: Store, waiting: list[Item]) -> None:
        closing = False
        tries_left = TRIES_AT_CLOSE
        while not (closing and not waiting):
            closing = self._collect(waiting) or closing
            try:
                while waiting:
                    commit(store, waiting[:MOST_AT_ONCE])
                    del waiting[:MOST_AT_ONCE]
            except TRANSIENT as error:
                _keep_events(waiting, error)
                tries_left -= closing
                if tries_left:
                    time.sleep(RETRY_SECONDS)
                    continue
                _log.critical("the journal could not be written to the end; %d events are lost", len(waiting))
                waiting.clear()

    def _collect(self, waiting: list[Item]) -> bool:
        """Gather what is there; if that is only deltas, wait for more until the first is 40 ms old."""
        deadline: float | None = None
        while True:
            if not waiting:
                timeout = None
            elif deadline is None or not all(_is_delta(item) for item in waiting):
                timeout = 0.0
            else:
                timeout = max(0.0, deadline - time.monotonic())
            try:
                item = self._items.get(timeout=timeout) if timeout != 0.0 else self._items.get_nowait()
            except queue.Empty:
                return False
            if item is None:
                return True
            if deadline is None:
                deadline = time.monotonic() + COALESCE_SECONDS
            waiting.append(item)


class InlineWriter:
    """A writer that writes at once, in the caller's thread: deterministic, for recordings and tests.

    Args:
        path: the journal.
        clock: microseconds since the epoch, UTC.
    """

    def __init__(self, path: Path, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._store = Store(connect(path))

    def emit(self, event: KnownEvent) -> None:
        """Append an event now."""
        commit(self._store, [Emitted(self._clock(), event)])

    def submit(self, job: Job[T]) -> Job[T]:
        """Run a job now."""
        commit(self._store, [job])
        return job

    def close(self) -> None:
        """Let go of the file."""
        self._store.connection.close()


def commit(store: Store, items: list[Item]) -> None:
    """Write items in order, in one transaction, then hand the jobs their results.

    Raises:
        apsw.Error: nothing was written; no job has its result.
    """
    if not items:
        return
    durable = any(isinstance(item, Job) or is_durable(item.event) for item in items)
    with store.transaction(durable):
        for item in _joined(items):
            if isinstance(item, Job):
                item.run(store)
            else:
                _append(store, item)
    for item in items:
        if isinstance(item, Job):
            item.settle()


def _append(store: Store, item: Emitted) -> None:
    """Append an event; one that cannot be stored is told by a notice instead, and takes nothing else with it."""
    try:
        with store.savepoint():
            store.append(item.event, item.at)
    except TRANSIENT:
        raise
    except Exception as error:
        if not store.in_transaction:
            raise
        _log.exception("an event could not be recorded")
        text = f"a {type(item.event).__name__} could not be recorded: {type(error).__name__}: {error}"
        store.append(NoticeRaised(level=NoticeLevel.ERROR, text=text), item.at)


def _ended() -> JournalError:
    return JournalError("the journal's writer has ended", "see the log", "Attach again once the cause is gone")


def _joined(items: Iterable[Item]) -> Iterable[Item]:
    """Join the deltas of each run that nothing else stands between; every other item keeps its place."""
    pieces: dict[str, list[EmittedDelta]] = {}  # per run: deltas of one kind and one round
    for item in items:
        if not _is_delta(item):
            yield from map(_join, pieces.values())
            pieces.clear()
            yield item
            continue
        run_id = item.event.run_id
        if run_id in pieces and _key(pieces[run_id][0]) != _key(item):
            yield _join(pieces.pop(run_id))  # reasoning turned into text, or a new round began: keep that order
        pieces.setdefault(run_id, []).append(item)
    yield from map(_join, pieces.values())


def _is_delta(item: Item) -> TypeGuard[EmittedDelta]:
    return isinstance(item, Emitted) and isinstance(item.event, Delta)


def _key(item: EmittedDelta) -> tuple[type, int]:
    return type(item.event), item.event.round


def _join(items: list[EmittedDelta]) -> Emitted:
    first = items[0]
    text = "".join(item.event.text for item in items)
    return Emitted(first.at, msgspec.structs.replace(first.event, text=text))


def _keep_events(waiting: list[Item], error: apsw.Error) -> None:
    """Fail the jobs, keep the events for another try: an event has nobody else who would tell it again."""
    _log.error("the journal could not be written, and will be tried again: %s", error)
    for item in waiting:
        if isinstance(item, Job):
            item.fail(JournalError("the journal could not be written", str(error)))
    waiting[:] = [item for item in waiting if not isinstance(item, Job)]
