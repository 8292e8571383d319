"""Following a session in plain words or as JSON lines, for as long as it lives."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from dashboard.cli.addressing import AddressError, runs_called
from dashboard.cli.folding import PAGE, every_record
from dashboard.cli.plain.json_lines import json_line
from dashboard.cli.plain.narration import Narrator, PlainLines
from dashboard.core.events import RunStarted
from dashboard.core.labels import subagent_label
from dashboard.core.records import Record, run_of
from dashboard.journal.reaping import look, readable
from dashboard.journal.session import JournalOperatorSession
from dashboard.journal.store import Store

LOOK_SECONDS = 0.05
PROBE_SECONDS = 0.5


class Selection:
    """Which runs are told: those that a name fits now, and of a label those that will start as well.

    Args:
        agent: a run's id or name, short or long, or a label; ``None`` for all that happens.
        store: the session, as it stands.

    Raises:
        AddressError: nothing is called so, and nothing can come to be.
    """

    def __init__(self, agent: str | None, store: Store) -> None:
        self._all = agent is None
        self._labels: set[str] = set()
        self._run_ids: set[str] = set()
        if agent is None:
            return
        labels = store.labels()
        self._labels = {label for label in (agent, subagent_label(agent)) if label in labels}
        try:
            self._run_ids = {run.run_id for run in runs_called(agent, store.runs())}
        except AddressError:
            if not self._labels:
                raise

    def start(self, record: Record) -> None:
        """Take note of a run that starts."""
        event = record.event
        if isinstance(event, RunStarted) and event.label in self._labels:
            self._run_ids.add(event.run_id)

    def __contains__(self, run_id: str | None) -> bool:
        return self._all or run_id in self._run_ids


class Teller:
    """Makes lines of a session's events, as they come.

    Args:
        selection: whose.
        as_json: JSON lines instead of words.
    """

    def __init__(self, selection: Selection, *, as_json: bool) -> None:
        self._selection = selection
        self._as_json = as_json
        self._narrator = Narrator()
        self._plain = PlainLines()

    def lines(self, record: Record) -> Iterator[str]:
        """Give the lines of the next event; none for one that is not wanted."""
        self._selection.start(record)
        if self._as_json:
            if run_of(record.event) in self._selection:
                yield json_line(record)
            return
        for told in self._narrator.tell(record):
            if told.run_id in self._selection:
                yield from self._plain.of(told)


def tail(
    folder: Path, operator: str, agent: str | None, *, follow: bool, as_json: bool, last: int | None
) -> Iterator[str]:
    """Give the lines of a session: what has happened, and with ``follow`` what goes on happening until it is over.

    Args:
        folder: the session's folder; its host is looked at first.
        operator: who looks: a host stays as long as somebody follows.
        agent: the run or the label that is wanted; ``None`` for all.
        follow: whether to go on.
        as_json: JSON lines instead of words.
        last: how many of the lines so far; ``None`` for all.

    Raises:
        AddressError: no run of the session is called so.
        JournalError: the journal cannot be read.
    """
    look(folder)
    with readable(folder) as store:
        teller = Teller(Selection(agent, store), as_json=as_json)
        upto = 0
        past: deque[str] = deque(maxlen=last)
        for record in every_record(store.records):
            upto = record.seq
            past.extend(teller.lines(record))
            if last is None:
                yield from _taken(past)
    yield from past
    if not follow:
        return
    session = JournalOperatorSession(folder, operator)
    try:
        for record in _until_over(session, upto):
            yield from teller.lines(record)
    finally:
        session.close()


def _taken(lines: deque[str]) -> Iterator[str]:
    while lines:
        yield lines.popleft()


def _until_over(session: JournalOperatorSession, after: int) -> Iterator[Record]:
    """Give every event behind a seq, and wait for more, until the session is over and all of it was given."""
    probe_at, over = 0.0, False
    while True:
        page = session.read(after, PAGE)
        yield from page
        if page:
            after = page[-1].seq
            continue
        if over:
            return  # it was over before the last look, which found nothing more
        if time.monotonic() >= probe_at:
            over = session.probe().state.over
            probe_at = time.monotonic() + PROBE_SECONDS
        if not over:
            time.sleep(LOOK_SECONDS)
