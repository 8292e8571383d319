"""What both stores do with an event: mend it, insert it, and let the rules of mail act before and after."""

from __future__ import annotations

from abc import abstractmethod

from dashboard.core.events import KnownEvent, RunFinished, Unknown
from dashboard.journal import failpoints
from dashboard.journal.ledger import Ledger
from dashboard.journal.mailroom import follow, precede, redundant
from dashboard.journal.mending import mend


class EventLog(Ledger):
    """A ledger that has to say only how it inserts one event."""

    def append(self, event: KnownEvent | Unknown, at: int) -> int:
        """Append an event, bring the tables in line with it, and do what follows from it.

        The end of a run that does not live here is passed over: each run ends once, however often that is told.

        Args:
            event: what happened.
            at: when, in microseconds since the epoch, UTC.

        Returns:
            Its seq: gap-free, from 1; that of the last event, if it is passed over.

        Raises:
            JournalError: it cannot be so.
        """
        if redundant(self, event):
            return self.last_seq
        event, notice = mend(event)
        ends = isinstance(event, RunFinished)
        failpoints.at("end.before" if ends else "append.before")
        precede(self, event, at)
        seq = self._insert(event, at)
        follow(self, event, at)
        failpoints.at("end.after" if ends else "append.after")
        if notice is not None:
            self.append(notice, at)
        return seq

    @property
    @abstractmethod
    def last_seq(self) -> int:
        """The seq of the last event; 0 before the first."""

    @abstractmethod
    def _insert(self, event: KnownEvent | Unknown, at: int) -> int:
        """Put an event at the end, and index it; gives its seq."""
