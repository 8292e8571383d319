"""The drain of a loop that is not ours: it knows the protocol alone, and cannot say what it did with a text."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import wait
from contextvars import ContextVar
from functools import partial

from dashboard.core.errors import JournalError
from dashboard.journal import mailroom
from dashboard.journal.clock import Clock
from dashboard.journal.jobs import Job, Writer
from dashboard.journal.ledger import Ledger

DRAIN_SECONDS = 0.025
# the run whose mail ``RoutedInbox.reader`` opens in this context: an adapter tells its start and its end, and sets
# another one around whatever that run spawns
foreign_run: ContextVar[str | None] = ContextVar("foreign_run", default=None)
_log = logging.getLogger(__name__)


class ForeignDrain:
    """Gives what waits for one run, and confirms with each call what the call before gave.

    Args:
        run_id: the run.
        writer: the process's writer.
        clock: microseconds since the epoch, UTC.
        failed: told the run and the reason if it cannot go on.
    """

    def __init__(
        self, run_id: str, writer: Writer[Ledger], clock: Clock, failed: Callable[[str, str], None]
    ) -> None:
        self._run_id = run_id
        self._writer = writer
        self._clock = clock
        self._failed = failed

    def __call__(self) -> list[str]:
        """Give the bodies, in order; a journal busy for 25 ms leaves them to the next call (A15).

        Raises:
            Exception: it is broken, and its open mail has come back as ``reader_failed`` (P4).
        """
        try:
            return self._drain()
        except JournalError as error:
            _log.warning("mail of %s stays queued until its next drain: %s", self._run_id, error)
            return []
        except Exception as error:
            _log.exception("the drain of %s failed; its mail comes back", self._run_id)
            self._failed(self._run_id, f"{type(error).__name__}: {error}")
            raise

    def _drain(self) -> list[str]:
        # the job must not hold the drain: that it is let go of is how the end of its loop is known
        job = self._writer.submit(Job(partial(_drain, self._run_id, self._clock)))
        wait([job.future], DRAIN_SECONDS)
        if not job.future.done() and job.abandon():
            return []
        return job.future.result()


def _drain(run_id: str, clock: Clock, ledger: Ledger) -> list[str]:
    return mailroom.drain(ledger, run_id, clock())
