"""Writers that have written when they return, in the caller's thread: for memory, recordings and tests."""

from __future__ import annotations

import threading
from collections import deque
from pathlib import Path
from typing import Any, Generic, TypeVar

import apsw

from dashboard.core.errors import JournalClosedError
from dashboard.core.events import KnownEvent
from dashboard.journal.clock import Clock
from dashboard.journal.jobs import TRANSIENT, Emitted, Item, Job, T, commit, unwritten
from dashboard.journal.ledger import Ledger
from dashboard.journal.schema import connect
from dashboard.journal.store import Store

AnyLedger = TypeVar("AnyLedger", bound=Ledger)


class WriterAtOnce(Generic[AnyLedger]):
    """Writes each event and each job at once, one thread at a time, in the order of the calls.

    Args:
        ledger: what is written to, by nobody else in this process.
        clock: microseconds since the epoch, UTC.
    """

    def __init__(self, ledger: AnyLedger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._lock = threading.RLock()
        self._waiting: deque[Item] = deque()
        self._writing = False

    def emit(self, event: KnownEvent) -> None:
        """Append an event now."""
        self._write(Emitted(self._clock(), event))

    def submit(self, job: Job[AnyLedger, T]) -> Job[Any, T]:
        """Run a job now."""
        self._write(job)
        return job

    def _write(self, item: Item) -> None:
        with self._lock:
            self._waiting.append(item)
            if self._writing:
                return  # a finalizer called from the midst of a commit in this thread: it comes right after that
            self._writing = True
            try:
                while self._waiting:
                    _commit_one(self._ledger, self._waiting.popleft())
            finally:
                self._writing = False


class InlineWriter(WriterAtOnce[Store]):
    """A writer to a journal without a thread of its own: deterministic, for recordings and tests.

    Args:
        path: the journal.
        clock: microseconds since the epoch, UTC.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        super().__init__(Store(connect(path)), clock)

    def close(self) -> None:
        """Let go of the file."""
        self._ledger.connection.close()


def _commit_one(ledger: Ledger, item: Item) -> None:
    try:
        commit(ledger, [item])
    except TRANSIENT as error:
        if not isinstance(item, Job):
            raise
        item.fail(unwritten(error))
    except apsw.ConnectionClosedError:
        if not isinstance(item, Job):
            raise
        item.fail(JournalClosedError("the journal's writer was closed", fix="Open the session anew"))
