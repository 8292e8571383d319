"""``RoutedMail``: one run's mail for our own loop, claimed and recorded in a ledger (A8, A9, A15)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from dashboard.core.errors import JournalClosedError, JournalError
from dashboard.core.events import RunBlocked, TurnFinished
from dashboard.core.mail import Boundary, BoundaryKind, Delivered
from dashboard.core.outcomes import RunEnd
from dashboard.journal import mailroom
from dashboard.journal.clock import Clock
from dashboard.journal.jobs import Job, T, Writer
from dashboard.journal.ledger import Ledger

TAKE_SECONDS = 0.025
RETRY_SECONDS = 0.25
Changed = Callable[[], Awaitable[None]]
Waits = Callable[[str], bool]
# their mail may have been bound in the transaction that starts the run, which is still on its way
_CLAIMED_UNSEEN = frozenset({BoundaryKind.TURN_OPEN, BoundaryKind.WAKE})
_log = logging.getLogger(__name__)


class RoutedMail:
    """One run's mail.

    Args:
        run_id: the run.
        writer: the process's writer.
        clock: microseconds since the epoch, UTC.
        changed: what it gives is done once the ledger may have changed; for an idle run that waits.
        waits: whether anything is open for a run, by a read alone; without it every take is a transaction.
    """

    def __init__(
        self, run_id: str, writer: Writer[Ledger], clock: Clock, changed: Changed, waits: Waits | None = None
    ) -> None:
        self._run_id = run_id
        self._writer = writer
        self._clock = clock
        self._changed = changed
        self._waits = waits

    async def take(self, boundary: Boundary) -> tuple[Delivered, ...]:
        """Claim and deliver what this boundary reads; a journal busy for 25 ms leaves it to the next (A15)."""
        if self._waits is not None and boundary.kind not in _CLAIMED_UNSEEN and not self._waits(self._run_id):
            return ()  # most boundaries: nothing waits, and no transaction has to find that out
        job = self._submit(lambda ledger: mailroom.take(ledger, self._run_id, boundary, self._clock()))
        try:
            if job.future.done():  # by a writer that writes at once
                return job.future.result()
            future = asyncio.wrap_future(job.future)
            try:
                await asyncio.wait([future], timeout=TAKE_SECONDS)
            except asyncio.CancelledError:
                job.abandon()  # a cancelled run must not claim mail after the fact: it comes back instead (A11)
                raise
            if not future.done() and job.abandon():
                future.cancel()
                return ()
            return await asyncio.shield(future)  # begun: whether it delivers is being decided, and must be known
        except JournalError as error:
            _log.warning("mail of %s stays queued until its next boundary: %s", self._run_id, error)
            return ()

    async def finish(self, boundary: Boundary, end: RunEnd) -> tuple[Delivered, ...]:
        """End the run, or deliver what extends it. Never gives up: a run must not end unrecorded (A9, A15)."""
        return await self._insist(
            "the end",
            lambda ledger: mailroom.finish(ledger, self._run_id, boundary, end, self._clock()),
        )

    async def cancel_turn(self, finished: TurnFinished | None, before: int | None) -> None:
        """Record that a turn was cancelled, and return the mail that waited for it. Never gives up (A11, A15)."""
        await self._insist(
            "the cancelled turn",
            lambda ledger: mailroom.cancel_turn(ledger, self._run_id, finished, before, self._clock()),
        )

    async def wait(self) -> None:
        """Return once a waking message is there (T3)."""
        while True:
            changed = asyncio.ensure_future(self._changed())  # before the look: what comes meanwhile is no secret
            try:
                if await self._woken():
                    return
                await changed
            finally:
                changed.cancel()

    async def _woken(self) -> bool:
        job = self._submit(lambda ledger: ledger.wakes(self._run_id, self._clock()))
        try:
            return await asyncio.wrap_future(job.future)
        except JournalClosedError:
            raise
        except JournalError as error:
            _log.warning("mail of %s cannot be looked at yet: %s", self._run_id, error)
            return False

    async def _insist(self, what: str, work: Callable[[Ledger], T]) -> T:
        """Try until it is recorded; the first failure is told, so that the run shows what it waits for (A15).

        Raises:
            JournalClosedError: it never will be: the session was closed.
        """
        blocked = False
        while True:
            try:
                return await asyncio.wrap_future(self._submit(work).future)
            except JournalClosedError:
                raise  # there is nothing to wait for
            except JournalError as error:
                _log.error("%s of %s cannot be recorded yet: %s", what, self._run_id, error)
                if not blocked:
                    self._writer.emit(RunBlocked(run_id=self._run_id, on="journal"))
                blocked = True
                await asyncio.sleep(RETRY_SECONDS)

    def _submit(self, work: Callable[[Ledger], T]) -> Job[Ledger, T]:
        return self._writer.submit(Job(work))
