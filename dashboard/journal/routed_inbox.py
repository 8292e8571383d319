"""``RoutedInbox``: the inbox over a journal. Each run opens its own mail, and reads only that (A7)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from dashboard.core.errors import JournalError
from dashboard.core.inbox import Drain
from dashboard.core.mail import Boundary, Delivered
from dashboard.core.outcomes import RunEnd
from dashboard.journal import mailroom
from dashboard.journal.store import Store
from dashboard.journal.writer import Job, Writer

TAKE_SECONDS = 0.025
RETRY_SECONDS = 0.25
_log = logging.getLogger(__name__)
T = TypeVar("T")
Changed = Callable[[], Awaitable[None]]


class RoutedInbox:
    """The inbox of every run of a session.

    Args:
        writer: the process's writer.
        clock: microseconds since the epoch, UTC.
        changed: returns once the journal has changed, for an idle run that waits.
    """

    def __init__(self, writer: Writer, clock: Callable[[], int], changed: Changed) -> None:
        self._writer = writer
        self._clock = clock
        self._changed = changed

    def open_run(self, run_id: str) -> RoutedMail:
        """Open the mail of a run whose ``RunStarted`` was emitted: what our own loop calls, not ``reader``."""
        return RoutedMail(run_id, self._writer, self._clock, self._changed)

    def reader(self, agent: str | None = None) -> Drain:
        """Refuse: a foreign loop has no run in the journal yet whose mail this could be.

        Raises:
            JournalError: always, until an adapter binds a run (P4: such a loop logs it and runs on unread).
        """
        raise JournalError(
            f"a session's inbox was opened by label ({agent!r}) from a loop that the session does not know",
            "mail is routed to runs, and that loop has none here",
            "Run the agent through this package's own loop, or give it a QueueInbox",
        )


class RoutedMail:
    """One run's mail, claimed and recorded in the journal."""

    def __init__(self, run_id: str, writer: Writer, clock: Callable[[], int], changed: Changed) -> None:
        self._run_id = run_id
        self._writer = writer
        self._clock = clock
        self._changed = changed

    async def take(self, boundary: Boundary) -> tuple[Delivered, ...]:
        """Claim and deliver what this boundary reads; a journal busy for 25 ms leaves it to the next (A15)."""
        job = self._job(lambda store: mailroom.take(store, self._run_id, boundary, self._clock()))
        future = asyncio.wrap_future(job.future)
        try:
            await asyncio.wait([future], timeout=TAKE_SECONDS)
        except asyncio.CancelledError:
            job.abandon()  # a cancelled run must not claim mail after the fact: it comes back instead (A11)
            raise
        if not future.done() and job.abandon():
            future.cancel()
            return ()
        try:
            return await asyncio.shield(future)  # begun: whether it delivers is being decided, and must be known
        except JournalError as error:
            _log.warning("mail of %s stays queued until its next boundary: %s", self._run_id, error)
            return ()

    async def finish(self, boundary: Boundary, end: RunEnd) -> tuple[Delivered, ...]:
        """End the run, or deliver what extends it. Never gives up: a run must not end unrecorded (A9, A15)."""
        while True:
            job = self._job(lambda store: mailroom.finish(store, self._run_id, boundary, end, self._clock()))
            try:
                return await asyncio.wrap_future(job.future)
            except JournalError as error:
                _log.error("the end of %s cannot be recorded yet: %s", self._run_id, error)
                await asyncio.sleep(RETRY_SECONDS)

    async def wait(self) -> None:
        """Return once a waking message is there."""
        while True:
            try:
                if await asyncio.wrap_future(self._job(self._woken).future):
                    return
            except JournalError as error:
                _log.warning("mail of %s cannot be looked at yet: %s", self._run_id, error)
            await self._changed()

    def _woken(self, store: Store) -> bool:
        return mailroom.wakes(store, self._run_id, self._clock())

    def _job(self, work: Callable[[Store], T]) -> Job[T]:
        return self._writer.submit(Job(work))
