"""Runs, labels and requests: told again from their events, and held against the tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dashboard.core import events as e
from dashboard.core.records import Record
from dashboard.journal.checking.report import Tell, at_seq
from dashboard.journal.checking.strangers import Strangers
from dashboard.journal.ledger import CLOSED
from dashboard.journal.store import Store


@dataclass(frozen=True, slots=True)
class _Run:
    label: str
    ordinal: int
    reading: bool
    live: bool
    started: int


@dataclass(frozen=True, slots=True)
class _Request:
    place: int
    action: str
    run_id: str | None
    by: str
    state: str = "requested"


class TableCheck:
    """Follows runs, labels and requests.

    Args:
        tell: called with what is wrong, and where.
        strangers: what cannot be judged.
    """

    def __init__(self, tell: Tell, strangers: Strangers) -> None:
        self._tell = tell
        self._strangers = strangers
        self._runs: dict[str, _Run] = {}
        self._labels: set[str] = set()
        self._requests: dict[str, _Request] = {}
        self._closed = False

    @property
    def runs(self) -> int:
        """How many runs started."""
        return len(self._runs)

    def take(self, record: Record) -> None:
        """Take the next event."""
        event = record.event
        match event:
            case e.HostStarted():
                self._labels.update(event.labels)
            case e.SessionClosed():
                self._closed = True
            case e.RunStarted():
                self._runs[event.run_id] = _Run(event.label, event.ordinal, event.reading, True, record.seq)
                self._labels.add(event.label)
            case e.RunFinished() if event.run_id in self._runs:
                self._runs[event.run_id] = replace(self._runs[event.run_id], live=False)
            case e.ControlRequested():
                self._requests[event.control_id] = _Request(record.seq, event.action, event.run_id, event.by)
            case e.ControlApplied():
                self._answer(event.control_id, "applied", record.seq)
            case e.ControlRefused():
                self._answer(event.control_id, "refused", record.seq)
            case _:
                pass

    def compare(self, store: Store) -> None:
        """Hold what the events told against what the tables say."""
        runs = {
            run_id: _Run(label, ordinal, bool(reading), bool(live), started)
            for run_id, label, ordinal, reading, live, started in store.rows(
                "SELECT run_id, label, ordinal, reading, live, started FROM run"
            )
        }
        self._compare("run", self._runs, runs)
        requests = {
            control_id: _Request(place, action, run_id, by, state)
            for control_id, place, action, run_id, by, state in store.rows(
                "SELECT id, place, action, run_id, requested_by, state FROM control"
            )
        }
        self._compare("request", self._requests, requests)
        differ = sorted(self._labels ^ store.labels())
        if differ:
            self._tell(f"the table and the events differ about these labels: {', '.join(differ)}", "labels")
        over = store.over
        if self._closed and over != CLOSED:
            self._tell("it was closed, and is not kept as closed", "the session")
        if over is not None:
            self._check_over()

    def _compare(self, what: str, told: Mapping[str, object], rows: Mapping[str, object]) -> None:
        for name in sorted(told.keys() | rows.keys()):
            if told.get(name) != rows.get(name):
                self._say(f"the table and the events differ about this {what}", name)

    def _check_over(self) -> None:
        for run_id, run in self._runs.items():
            if run.live:
                self._say("it has no end, and the session is over", run_id)
        for control_id, request in self._requests.items():
            if request.state == "requested":
                self._say("it has no answer, and the session is over", control_id)

    def _answer(self, control_id: str, state: str, seq: int) -> None:
        request = self._requests.get(control_id)
        if request is None:
            self._say(f"it was {state}, and nobody had asked for it", control_id, seq)
            return
        if request.state != "requested":
            self._say(f"it was {state}, though it was {request.state} before", control_id, seq)
        self._requests[control_id] = replace(request, state=state)

    def _say(self, what: str, name: str, seq: int | None = None) -> None:
        if name not in self._strangers:
            self._tell(what, name if seq is None else f"{name}, {at_seq(seq)}")
