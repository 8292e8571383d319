"""The rules by which evidence becomes a conclusion: what begins together, what came before, how sure that is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dashboard.host.demo.evidence import WINDOW
from dashboard.host.demo.rows import Kind, Row, counted

BEFORE = timedelta(minutes=10)  # a change is looked for so long before the first burst
_IDS = re.compile(r"(?: (?:trace|trace_id|request_id|req|id|span|path)=\S+)+$")
STEP = timedelta(seconds=60)  # changes closer than this are steps of one change


@dataclass(frozen=True, slots=True)
class Case:
    """What the rules see in the evidence.

    Args:
        chain: the beginnings that belong together, the earliest first; one where nothing else begins near it.
        changes: the steps of the change before it, the earliest first.
        settings: what differs between two versions of the settings.
        scattered: errors that never begin suddenly.
        apart: bursts that have nothing to do with the chain.
    """

    chain: tuple[Row, ...]
    changes: tuple[Row, ...]
    settings: tuple[Row, ...]
    scattered: tuple[Row, ...]
    apart: tuple[Row, ...]

    @property
    def first(self) -> Row | None:
        """Where it begins."""
        return self.chain[0] if self.chain else None

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the chain, in the order in which they begin."""
        return tuple(dict.fromkeys(row.file for row in self.chain))


def consider(rows: Sequence[Row]) -> Case:
    """Apply the rules to rows of evidence.

    The widest chain of beginnings within a minute of each other is the incident; the nearest change in the ten
    minutes before its first beginning is what likely set it off.
    """
    errors = [row for row in rows if row.kind is Kind.ERRORS]
    sudden = [row for row in errors if row.sudden and row.at]
    chain = _chain(sudden)
    changes: tuple[Row, ...] = ()
    if chain and (start := chain[0].at):
        changes = _changes(rows, start)
    members = {(row.file, row.line) for row in chain}
    return Case(
        chain,
        changes,
        tuple(row for row in rows if row.kind is Kind.SETTING),
        tuple(row for row in errors if not row.sudden),
        tuple(row for row in sudden if (row.file, row.line) not in members),
    )


def conclusion(case: Case) -> str:
    """Say in a few sentences what the evidence shows, and no more."""
    first = case.first
    if first is None:
        if case.scattered:
            top = max(case.scattered, key=lambda row: row.count)
            with_time = sum(row.at is not None for row in case.scattered)
            timed = "scattered, with no sudden beginning"
            if not with_time:
                timed = "without timestamps, so they have no order in time"
            elif with_time < len(case.scattered):
                timed = "scattered, and only some of them have timestamps"
            return (
                f"The matching lines are {timed}; the most frequent kind is {gist(top)} ({top.times}, {top.cite})."
            )
        return "No line of these files matches the error pattern."
    parts = []
    if case.changes:
        change = case.changes[0]
        parts.append(f"A change came first, at {change.clock}: {gist(change)} ({change.cite}).")
        parts.extend(_of_settings(case.settings))
        parts.append(f"{_gap(change, first)} later the errors begin: {gist(first)} ({first.cite}, {first.times}).")
    else:
        parts.append(f"The errors begin at {first.clock}: {gist(first)} ({first.cite}, {first.times}).")
        parts.extend(_of_settings(case.settings))
    others = [row for row in case.chain if row.file != first.file]
    if others:
        heads = {row.file: row for row in reversed(others)}
        then = sorted(heads.values(), key=lambda row: (row.at is None, row.at, row.file))
        same = [row.cite for row in then if row.at == first.at]
        later = [f"{row.cite} at {row.clock}" for row in then if row.at != first.at]
        parts += [f"At the same instant begins {', '.join(same[:6])}."] if same else []
        parts += [f"Then follow {', '.join(later[:6])}."] if later else []
    if not case.changes:
        parts.append(
            "No change stands in the ten minutes before, so what set it off is not in what was looked at."
        )
    return " ".join(parts)


def confidence(case: Case) -> str:
    """Say how sure the conclusion is, and why."""
    wide = len(case.files)
    if case.first is None:
        return "low: nothing begins suddenly, so nothing can be put in order"
    if case.changes and wide > 2:
        more = ", and the settings differ" if case.settings else ""
        after = _gap(case.changes[0], case.first)
        order = f"errors begin in {wide} files, each within a minute of the one before"
        return f"high: {order}, {after} after a change{more}"
    if case.changes:
        after = _gap(case.changes[0], case.first)
        return f"medium: the errors begin {after} after a change, in {counted(wide, 'file')}"
    return f"{'medium' if wide > 2 else 'low'}: the errors begin in {counted(wide, 'file')}, with no change before"


def gist(row: Row) -> str:
    """Quote a row in a sentence, without the trace and request ids at its end."""
    return f'"{_IDS.sub("", row.text).rstrip(" ,")}"'


def gap(earlier: datetime, later: datetime) -> str:
    """Say how much time lies between two instants."""
    seconds = round((later - earlier).total_seconds())
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min {seconds % 60} s"


def _chain(sudden: Sequence[Row]) -> tuple[Row, ...]:
    ordered = sorted(((row.at, row.file, row.line, row) for row in sudden if row.at), key=lambda item: item[:3])
    chains: list[list[Row]] = []
    latest: datetime | None = None
    for at, _, _, row in ordered:
        if latest is not None and at - latest <= WINDOW:
            chains[-1].append(row)
        else:
            chains.append([row])
        latest = at
    if not chains:
        return ()
    return tuple(
        max(chains, key=lambda chain: (len({row.file for row in chain}), sum(row.count for row in chain)))
    )


def _changes(rows: Sequence[Row], start: datetime) -> tuple[Row, ...]:
    timed = [(row.at, row) for row in rows if row.kind is Kind.CHANGE and row.at]
    before = sorted(
        (item for item in timed if timedelta() <= start - item[0] <= BEFORE),
        key=lambda item: (item[0], item[1].cite),
    )
    steps: list[Row] = []
    edge: datetime | None = None
    for at, row in reversed(before):
        if edge is not None and edge - at > STEP:
            break
        steps.append(row)
        edge = at
    return tuple(reversed(steps))


def _gap(change: Row, first: Row) -> str:
    return gap(change.at, first.at) if change.at and first.at else "Some time"


def told_settings(settings: Sequence[Row]) -> list[Row]:
    """Give the settings that say more than that there is another version."""
    return [row for row in settings if not row.text.startswith("version:")]


def named_setting(case: Case) -> Row | None:
    """Give the first setting that differs in a file which the change itself names."""
    told = " ".join(row.text for row in case.changes)
    return next((row for row in told_settings(case.settings) if row.file.rsplit("/", 1)[-1] in told), None)


def _of_settings(settings: Sequence[Row]) -> list[str]:
    told = told_settings(settings)[:3]
    return [f"The settings differ in {'; '.join(f'{row.text} at {row.cite}' for row in told)}."] if told else []
