"""The one writer of a living process: a thread with the only connection that writes, fed through a queue.

Events go in without waiting; pieces of streamed text are collected for 40 ms, so that they can be joined.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import apsw

from dashboard.core.errors import JournalClosedError
from dashboard.core.events import KnownEvent
from dashboard.journal.clock import Clock
from dashboard.journal.jobs import TRANSIENT, Emitted, Item, Job, T, commit, is_delta, unwritten
from dashboard.journal.schema import connect
from dashboard.journal.store import Store

if TYPE_CHECKING:
    from pathlib import Path

COALESCE_SECONDS = 0.040
RETRY_SECONDS = 0.5
TRIES_AT_CLOSE = 20
MOST_AT_ONCE = 500  # items a transaction, so that a backlog after trouble is not one giant step
_log = logging.getLogger(__name__)


class ThreadWriter:
    """The writer of a living process.

    Args:
        path: the journal.
        clock: microseconds since the epoch, UTC.
        on_death: called in the thread if it cannot go on, by a bug of ours: nothing would be recorded any more.
    """

    def __init__(self, path: Path, clock: Clock, on_death: Callable[[], object] = bool) -> None:
        self._clock = clock
        self._on_death = on_death
        self._ended = False
        self._items: queue.SimpleQueue[Item | None] = queue.SimpleQueue()
        self._opened: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, args=(path,), name="journal-writer", daemon=True)
        self._thread.start()
        self._opened.result()

    def emit(self, event: KnownEvent) -> None:
        """Append an event soon, stamped with the time of this call."""
        self._items.put(Emitted(self._clock(), event))

    def submit(self, job: Job[Store, T]) -> Job[Any, T]:
        """Queue a job behind everything emitted so far; once the thread has ended, it fails."""
        self._items.put(job)
        if self._ended:
            self._fail_left()  # after the put: whoever ends, or this, finds it
        return job

    def close(self) -> None:
        """Write what is left and end the thread."""
        self._items.put(None)
        self._thread.join()
        self._ended = True
        self._fail_left()

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
            self._ended = True
            for item in waiting:
                _fail(item)
            self._fail_left()
            self._on_death()
        finally:
            store.connection.close()

    def _fail_left(self) -> None:
        """Answer whoever waits for a job that is still queued: nobody will come for it any more."""
        with contextlib.suppress(queue.Empty):
            while True:
                _fail(self._items.get_nowait())

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
            elif deadline is None or not all(is_delta(item) for item in waiting):
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


def _fail(item: Item | None) -> None:
    if isinstance(item, Job):
        why = "the session was closed, or the log says why"
        item.fail(JournalClosedError("the journal's writer has ended", why, "Open the session anew"))


def _keep_events(waiting: list[Item], error: apsw.Error) -> None:
    """Fail the jobs, keep the events for another try: an event has nobody else who would tell it again."""
    _log.error("the journal could not be written, and will be tried again: %s", error)
    for item in waiting:
        if isinstance(item, Job):
            item.fail(unwritten(error))
    waiting[:] = [item for item in waiting if not isinstance(item, Job)]
