"""What a transaction is made of: events on their way, and jobs that answer once they are stored.

Pieces of streamed text are joined. A job (send, take, finish) runs in the same transaction as what was emitted
before it, so that a boundary never overtakes the text that led to it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from enum import Enum, auto
from typing import Any, Generic, Protocol, TypeGuard, TypeVar

import apsw
import msgspec

from dashboard.core.errors import JournalError
from dashboard.core.events import Delta, KnownEvent, NoticeLevel, NoticeRaised
from dashboard.journal.ledger import Ledger
from dashboard.journal.schema import TORN

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
L = TypeVar("L", bound=Ledger, contravariant=True)  # a job for any ledger is a job for each
L_co = TypeVar("L_co", bound=Ledger, covariant=True)


class _State(Enum):
    WAITING = auto()
    RUNNING = auto()
    ABANDONED = auto()


class Job(Generic[L, T]):
    """A piece of work on a ledger, and the future of its result."""

    def __init__(self, work: Callable[[L], T]) -> None:
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

    def run(self, ledger: L) -> None:
        """Do the work inside a transaction; ``settle`` tells the caller once that has been committed."""
        with self._lock:
            # from here on its future cannot be cancelled: what is written must be told
            if self._state is _State.ABANDONED or not self.future.set_running_or_notify_cancel():
                return
            self._state = _State.RUNNING
        try:
            with ledger.savepoint():
                result = self._work(ledger)
        except TRANSIENT:
            raise  # the journal's trouble, not the job's
        except Exception as error:
            if not ledger.in_transaction:
                raise
            # a refusal is an answer, and a bug its own: it undoes this job, not its neighbours
            failed = unwritten(error) if isinstance(error, TORN) else error
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


Item = Emitted | Job[Any, Any]


class Writer(Protocol[L_co]):
    """How a process writes to its session's ledger."""

    def emit(self, event: KnownEvent) -> None:
        """Append an event soon; never waits."""
        ...

    def submit(self, job: Job[L_co, T]) -> Job[Any, T]:
        """Run a job after everything that was emitted before it."""
        ...

    def close(self) -> None:
        """Write what is left, and let go of the ledger."""
        ...


def commit(ledger: Ledger, items: list[Item]) -> None:
    """Write items in order, in one transaction, then hand the jobs their results.

    Raises:
        apsw.Error: nothing was written; no job has its result.
    """
    if not items:
        return
    durable = any(isinstance(item, Job) or is_durable(item.event) for item in items)
    with ledger.transaction(durable):
        for item in _joined(items):
            if isinstance(item, Job):
                item.run(ledger)
            else:
                _append(ledger, item)
    for item in items:
        if isinstance(item, Job):
            item.settle()


def is_delta(item: Item) -> TypeGuard[EmittedDelta]:
    """Whether it is a piece of streamed text, which can wait for more to be joined with."""
    return isinstance(item, Emitted) and isinstance(item.event, Delta)


def is_durable(event: KnownEvent) -> bool:
    """Whether an event must survive a power cut; what streams by need not, its history entry will tell it."""
    return not isinstance(event, Delta)


def unwritten(error: Exception) -> JournalError:
    """Give what a job fails with when the file cannot be written just now."""
    return JournalError("the journal could not be written", str(error))


def _append(ledger: Ledger, item: Emitted) -> None:
    """Append an event; one that cannot be stored is told by a notice instead, and takes nothing else with it."""
    try:
        with ledger.savepoint():
            ledger.append(item.event, item.at)
    except TRANSIENT:
        raise
    except Exception as error:
        if not ledger.in_transaction:
            raise
        _log.exception("an event could not be recorded")
        text = f"a {type(item.event).__name__} could not be recorded: {type(error).__name__}: {error}"
        ledger.append(NoticeRaised(level=NoticeLevel.ERROR, text=text), item.at)


def _joined(items: Iterable[Item]) -> Iterable[Item]:
    """Join the deltas of each run that nothing else stands between; every other item keeps its place."""
    pieces: dict[str, list[EmittedDelta]] = {}  # per run: deltas of one kind and one round
    for item in items:
        if not is_delta(item):
            yield from map(_join, pieces.values())
            pieces.clear()
            yield item
            continue
        run_id = item.event.run_id
        if run_id in pieces and _key(pieces[run_id][0]) != _key(item):
            yield _join(pieces.pop(run_id))  # reasoning turned into text, or a new round began: keep that order
        pieces.setdefault(run_id, []).append(item)
    yield from map(_join, pieces.values())


def _key(item: EmittedDelta) -> tuple[type, int]:
    return type(item.event), item.event.round


def _join(items: list[EmittedDelta]) -> Emitted:
    first = items[0]
    text = "".join(item.event.text for item in items)
    return Emitted(first.at, msgspec.structs.replace(first.event, text=text))
