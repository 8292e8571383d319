"""What sessions there are, and how each of them stands."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import msgspec

from dashboard.core.errors import DashboardError, JournalError
from dashboard.core.sessions import HostState
from dashboard.journal.clock import Clock, wall_clock
from dashboard.journal.home import JOURNAL_NAME, session_folders
from dashboard.journal.reaping import look, readable

if TYPE_CHECKING:
    from pathlib import Path


class SessionSummary(msgspec.Struct, frozen=True):
    """One session in a list.

    Args:
        session_id: its name.
        state: running, not responding, closed or lost.
        title: what its host said that it is about.
        started_at: microseconds since the epoch, UTC; 0 if its host never started.
        last_at: when anything last happened in it, in the same unit: of a lost one, when its host was last alive.
        runs: how many runs it had.
        live: how many of them have not ended.
        pending: how many messages wait.
        returned: how many came back unread.
        size: bytes on disk.
        problem: why it could not be read, or its dead host not be reaped; else empty.
    """

    session_id: str
    state: HostState
    title: str = ""
    started_at: int = 0
    last_at: int = 0
    runs: int = 0
    live: int = 0
    pending: int = 0
    returned: int = 0
    size: int = 0
    problem: str = ""


def summarize(folder: Path, clock: Clock = wall_clock) -> SessionSummary:
    """Say how a session stands. Whoever looks is the reaper: a dead host's runs are lost from here on.

    Args:
        folder: the session's folder.
        clock: microseconds since the epoch, UTC.
    """
    problem = ""
    try:
        state = look(folder, clock).state
    except (DashboardError, OSError) as error:
        state, problem = HostState.LOST, str(error)
    try:
        return _summarize(folder, state, problem)
    except (JournalError, OSError) as error:  # one bad session hides no other
        return SessionSummary(folder.name, HostState.LOST, size=_size(folder), problem=problem or str(error))


def sessions(clock: Clock = wall_clock) -> list[SessionSummary]:
    """Say how every session stands, the newest first."""
    return [summarize(folder, clock) for folder in reversed(session_folders())]


def peek(folder: Path) -> str:
    """Give what a session is about, without looking at its host; empty where it cannot be read."""
    try:
        with readable(folder) as store:
            return str(store.meta("title") or "")
    except JournalError:
        return ""


def host_started(folder: Path) -> bool:
    """Whether the host of a session has said that it started: what a hand-shake waits for."""
    try:
        with readable(folder) as store:
            return store.meta("pid") is not None
    except JournalError:
        return False  # not made yet


def _summarize(folder: Path, state: HostState, problem: str) -> SessionSummary:
    with readable(folder) as store:
        beat = int(store.meta("heartbeat") or 0)
        last = int(store.value("SELECT at FROM event ORDER BY seq DESC LIMIT 1") or 0)
        return SessionSummary(
            session_id=folder.name,
            state=state,
            title=str(store.meta("title") or ""),
            started_at=int(store.meta("started_at") or 0),
            last_at=beat if state is HostState.LOST else last,  # the last event of a lost one is the reaper's
            runs=store.value("SELECT count(*) FROM run"),
            live=store.value("SELECT count(*) FROM run WHERE live"),
            pending=store.value("SELECT count(*) FROM message WHERE state IN ('queued', 'unbound')"),
            returned=store.value("SELECT count(*) FROM message WHERE state IN ('undeliverable', 'expired')"),
            size=_size(folder),
            problem=problem,
        )


def _size(folder: Path) -> int:
    size = 0
    for part in folder.glob(f"{JOURNAL_NAME}*"):
        with contextlib.suppress(FileNotFoundError):  # the log beside a journal goes with its last reader
            size += part.stat().st_size
    return size
