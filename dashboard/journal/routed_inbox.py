"""``RoutedInbox``: the inbox of every run of a session. Each run opens its own mail, and reads only that (A7).

Our own loop calls ``open_run`` and gets mail with its boundaries, lanes and records. Any other loop calls
``reader``, as the protocol says, and gets a drain over the mail of a run: the one that an adapter has bound in
``foreign_run``, or one that starts with the call and lives as long as the drain does.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections import Counter

from dashboard.core.errors import SendRefusedError
from dashboard.core.events import KnownEvent, RunFinished, RunStarted
from dashboard.core.ids import ENTROPY_BYTES, sortable_id
from dashboard.core.inbox import Drain
from dashboard.core.labels import GENERIC_LABEL
from dashboard.core.messages import Refusal, Sender, SenderKind
from dashboard.core.outcomes import Outcome
from dashboard.journal import mailroom
from dashboard.journal.clock import Clock, wall_clock
from dashboard.journal.correspondent import Correspondent
from dashboard.journal.foreign_drain import ForeignDrain, foreign_run
from dashboard.journal.jobs import Job, Writer
from dashboard.journal.ledger import Ledger
from dashboard.journal.mail_desk import MailDesk
from dashboard.journal.memory import MemoryWriter
from dashboard.journal.routed_mail import Changed, RoutedMail, Waits

__all__ = ["RoutedInbox", "foreign_run"]

LOOK_SECONDS = 0.05


class RoutedInbox(Correspondent):
    """The inbox of every run of a session, and the bus that they are told on; write to them as its operator.

    Alone it keeps everything in memory: give it to agents, call ``steer`` from anywhere, and read ``messages``.

    Args:
        writer: the process's writer, over a ledger that begins with this inbox; one in memory by default.
        operator: whose name the messages carry that are sent here (A12).
        clock: microseconds since the epoch, UTC.
        changed: what it gives is done once the ledger may have changed; by default a writer in memory says so, and
            any other is looked at 20 times a second while a run is idle.
        waits: whether anything is open for a run, by a read alone, where that is cheaper than a transaction.
    """

    def __init__(
        self,
        writer: Writer[Ledger] | None = None,
        *,
        operator: str = "operator",
        clock: Clock = wall_clock,
        changed: Changed | None = None,
        waits: Waits | None = None,
    ) -> None:
        writer = MemoryWriter(clock) if writer is None else writer
        super().__init__(writer, MailDesk(writer, Sender(SenderKind.OPERATOR, operator), clock))
        self._clock = clock
        self._changed = changed or (writer.changed if isinstance(writer, MemoryWriter) else _look_again)
        self.runtime: object = None  # what runs agents on this bus keeps here what they share
        self._waits = waits
        self._ordinals: Counter[str] = Counter()
        self._counting = threading.Lock()
        self._foreign: dict[str, bool] = {}  # the live runs of other loops, and whether each ends with its drain

    def emit(self, event: KnownEvent) -> None:
        """Append an event of a run; never waits."""
        match event:
            case RunStarted():
                with self._counting:
                    self._ordinals[event.label] = max(self._ordinals[event.label], event.ordinal)
            case RunFinished():
                self._foreign.pop(event.run_id, None)
            case _:
                pass
        self._writer.emit(event)

    def next_ordinal(self, label: str) -> int:
        """Count one more run of this label: 1 for the first (A5)."""
        with self._counting:
            self._ordinals[label] += 1
            return self._ordinals[label]

    def open_run(self, run_id: str) -> RoutedMail:
        """Open the mail of a run whose ``RunStarted`` was emitted: what our own loop calls, not ``reader``."""
        return RoutedMail(run_id, self._writer, self._clock, self._changed, self._waits)

    def reader(self, agent: str | None = None) -> Drain:
        """Open a drain for a loop that is not ours (P1, P2); never waits.

        The drain gives the bodies, first all of ``next_step`` and then the follow-ups, once any of them wakes; it
        is all that such a loop has, so that a follow-up cannot wait for a turn. What it gave is delivered once the
        loop drains again, or its run ends well; if it ends otherwise, it is ``in_doubt`` (A1). Letting go of the
        drain ends a run that started with this call.

        Args:
            agent: the label of the run that opens it. Where ``foreign_run`` is set, that run is opened and the
                label is not looked at; else a run of this label starts, ``subagent`` if it is ``None``.
        """
        bound = foreign_run.get()
        if bound is not None:
            self._foreign.setdefault(bound, False)
            return ForeignDrain(bound, self._writer, self._clock, self._give_up)
        run_id = sortable_id("run", self._clock(), os.urandom(ENTROPY_BYTES))
        label = GENERIC_LABEL if agent is None else agent
        drain = ForeignDrain(run_id, self._writer, self._clock, self._give_up)
        self._foreign[run_id] = True
        ended = "its loop let go of its reader, and did not say how it ended"
        weakref.finalize(drain, self._let_go, run_id, ended).atexit = False  # the writer may be gone by then
        self.emit(
            RunStarted(
                run_id=run_id,
                label=label,
                ordinal=self.next_ordinal(label),
                task="",  # its loop's own, as is its budget: neither is known here
                max_iterations=1,
            )
        )
        return drain

    def end_run(self, run_id: str, outcome: Outcome, answer: str = "", error: str = "") -> None:
        """End a foreign run, once; never waits, and is not lost to a busy journal (A1, A15).

        Args:
            run_id: the run: the one that the adapter bound in ``foreign_run``, or one of ``runs``.
            outcome: ``answered`` and ``wrap_up`` deliver what it has taken; any other leaves that ``in_doubt``.
            answer: its answer, if it has one.
            error: what went wrong, or who cancelled it.
        """
        self.emit(RunFinished(run_id=run_id, outcome=outcome, answer=answer, error=error))

    def end_foreign_runs(self, why: str) -> None:
        """End every foreign run that lives, before the session closes; never waits.

        Args:
            why: what ends them, for people.
        """
        for run_id in list(self._foreign):
            self._let_go(run_id, why)

    def as_agent(self, run_id: str) -> Correspondent:
        """Give the same side for a run that writes to others: its mail carries that run's id and name (A12).

        Raises:
            SendRefusedError: ``unknown``: no such run has started.
        """
        run = next((run for run in self.runs() if run.run_id == run_id), None)
        if run is None:
            raise SendRefusedError(Refusal.UNKNOWN, f"no run {run_id} in this session")
        sender = Sender(SenderKind.AGENT, run.name, run_id)
        return Correspondent(self._writer, MailDesk(self._writer, sender, self._clock))

    def _give_up(self, run_id: str, why: str) -> None:
        """Return the mail of a run that cannot read it, and end the run if it lives by its drain alone."""
        self._writer.submit(Job(lambda ledger: mailroom.return_unreadable(ledger, run_id, why, self._clock())))
        if self._foreign.get(run_id):
            self._let_go(run_id, f"its mail could not be read: {why}")

    def _let_go(self, run_id: str, why: str) -> None:
        """End a foreign run that has not ended. A finalizer calls this too, from anywhere: it only emits."""
        if self._foreign.pop(run_id, None) is not None:
            self.end_run(run_id, Outcome.ERROR, error=why)


async def _look_again() -> None:
    await asyncio.sleep(LOOK_SECONDS)
