"""Deleting sessions that nobody will want any more: first which, then, once that is confirmed, for good."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dashboard.cli.listing import size, table
from dashboard.core.errors import DashboardError
from dashboard.core.sanitize import sanitize_line
from dashboard.journal.catalog import SessionSummary, summarize
from dashboard.journal.clock import Clock, wall_clock
from dashboard.journal.home import check_private, session_folders, sessions_folder
from dashboard.journal.lock import host_is_dead
from dashboard.ui.wording import plural

GOING = ".deleted-"  # what a folder is called while it goes: never a session's name
_SPAN = re.compile(r"(\d{1,6})\s*([hdw])")
_UNITS = {"h": 3_600_000_000, "d": 86_400_000_000, "w": 604_800_000_000}


class SpanError(DashboardError):
    """A span of time that cannot be read."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be deleted, and what would be although it is old, but is kept.

    Args:
        goes: the sessions and their folders.
        kept: the sessions, each with the reason.
        now: when this was looked at, in microseconds since the epoch, UTC.
    """

    goes: tuple[tuple[SessionSummary, Path], ...]
    kept: tuple[tuple[SessionSummary, str], ...]
    now: int


def span(text: str) -> int:
    """Read a span of time such as ``30d``, ``12h`` or ``2w``; gives microseconds.

    Raises:
        SpanError: it is none.
    """
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise SpanError(f"{text!r} is no span of time", fix="Write a number and h, d or w, as in 30d")
    return int(found[1]) * _UNITS[found[2]]


def plan(older: int, clock: Clock = wall_clock) -> Plan:
    """Look which sessions would go. Each is looked at as by any command: a dead host's runs are lost from here on.

    Args:
        older: for how long nothing has happened in them, in microseconds.
        clock: microseconds since the epoch, UTC.
    """
    goes, kept = [], []
    for folder in session_folders():
        summary = summarize(folder, clock)
        now = clock()
        last = summary.last_at or round(folder.stat().st_mtime * 1_000_000)
        if now - last < older:
            continue
        why = _why_kept(summary, folder)
        if why:
            kept.append((summary, why))
        else:
            goes.append((summary, folder))
    return Plan(tuple(goes), tuple(kept), clock())


def plan_lines(found: Plan) -> Iterator[str]:
    """Say what would go and what is kept, in words."""
    if found.goes:
        yield from table([summary for summary, _ in found.goes], found.now)
        total = sum(summary.size for summary, _ in found.goes)
        returned = sum(summary.returned for summary, _ in found.goes)
        lost = f", and with them the text of {plural(returned, 'message')} that came back" if returned else ""
        yield f"{plural(len(found.goes), 'session')} would be deleted, {size(total)} in all{lost}"
    else:
        yield "no session is that old and can go"
    for summary, why in found.kept:
        yield f"kept: {summary.session_id}, {why}"


def delete(found: Plan) -> Iterator[str]:
    """Delete what the plan says, each only if nobody has taken it up meanwhile; says what was done."""
    for left in sessions_folder().glob(f"{GOING}*"):
        shutil.rmtree(left, ignore_errors=True)  # of a deletion that was interrupted
    gone = 0
    for summary, folder in found.goes:
        lock = host_is_dead(folder)
        if lock is None:
            yield f"kept: {summary.session_id}, a host has it"
            continue
        going = folder.with_name(GOING + folder.name)
        try:
            with lock:
                folder.rename(going)  # in one step: half of a session is never taken for one
            shutil.rmtree(going)
        except OSError as error:
            yield f"kept: {summary.session_id}, {error.strerror or error}"
            continue
        gone += 1
    yield f"{plural(gone, 'session')} deleted"


def _why_kept(summary: SessionSummary, folder: Path) -> str:
    if folder.is_symlink():
        return "its folder is a link"
    try:
        check_private(folder)
    except DashboardError as error:
        return str(error)
    if summary.problem:
        return f"it cannot be read: {sanitize_line(summary.problem, 120)}"
    if summary.state.lives:
        return f"it is {summary.state}"
    if summary.pending:
        return f"{plural(summary.pending, 'message')} in it waits still"
    return ""
