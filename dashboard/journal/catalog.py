"""What sessions there are, and how each of them stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import msgspec

from dashboard.core.errors import JournalError
from dashboard.core.sessions import HostState
from dashboard.journal.clock import wall_clock
from dashboard.journal.home import JOURNAL_NAME, session_folders
from dashboard.journal.ledger import CLOSED
from dashboard.journal.lock import host_is_dead, living_state
from dashboard.journal.tail import Tail

if TYPE_CHECKING:
    from pathlib import Path


class SessionSummary(msgspec.Struct, frozen=True):
    """One session in a list.

    Args:
        session_id: its name.
        state: running, not responding, closed or lost.
        title: what its host said that it is about.
        started_at: microseconds since the epoch, UTC; 0 if its host never started.
        runs: how many runs it had.
        live: how many of them have not ended.
        pending: how many messages wait.
        size: bytes on disk.
        problem: why it could not be read, or empty.
    """

    session_id: str
    state: HostState
    title: str = ""
    started_at: int = 0
    runs: int = 0
    live: int = 0
    pending: int = 0
    size: int = 0
    problem: str = ""


def summarize(folder: Path, now: int | None = None) -> SessionSummary:
    """Read how a session stands, without changing anything that it says.

    Args:
        folder: the session's folder.
        now: microseconds since the epoch, UTC; the wall clock's by default.
    """
    try:
        return _summarize(folder, wall_clock() if now is None else now)
    except (JournalError, apsw.Error, OSError) as error:
        return SessionSummary(folder.name, HostState.LOST, problem=str(error))  # one bad session hides no other


def host_started(folder: Path) -> bool:
    """Whether the host of a session has said that it started: what a hand-shake waits for."""
    try:
        tail = Tail(folder / JOURNAL_NAME)
    except JournalError:
        return False  # not made yet, or being made at this moment
    try:
        return tail.store.meta("pid") is not None
    except apsw.SQLError:
        return False  # its tables are not there yet
    finally:
        tail.close()


def _summarize(folder: Path, now: int) -> SessionSummary:
    dead = host_is_dead(folder)
    if dead is not None:
        dead.release()
    tail = Tail(folder / JOURNAL_NAME)
    try:
        store = tail.store
        if dead is None:
            state = living_state(int(store.meta("heartbeat") or 0), now)
        else:
            state = HostState.CLOSED if store.over == CLOSED else HostState.LOST
        return SessionSummary(
            session_id=folder.name,
            state=state,
            title=str(store.meta("title") or ""),
            started_at=int(store.meta("started_at") or 0),
            runs=store.value("SELECT count(*) FROM run"),
            live=store.value("SELECT count(*) FROM run WHERE live"),
            pending=store.value("SELECT count(*) FROM message WHERE state IN ('queued', 'unbound')"),
            size=sum(part.stat().st_size for part in folder.glob(f"{JOURNAL_NAME}*")),
        )
    finally:
        tail.close()


def sessions(now: int | None = None) -> list[SessionSummary]:
    """Read how every session stands, the newest first."""
    return [summarize(folder, now) for folder in reversed(session_folders())]
