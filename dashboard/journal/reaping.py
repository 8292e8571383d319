"""Whoever looks at a session whose host has died ends its runs as lost, and gives its unread mail back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import apsw

from dashboard.core.errors import JournalError
from dashboard.core.sessions import HostState, HostStatus
from dashboard.journal import mailroom
from dashboard.journal.clock import Clock, wall_clock
from dashboard.journal.home import JOURNAL_NAME
from dashboard.journal.ledger import CLOSED
from dashboard.journal.lock import host_is_dead, living_state
from dashboard.journal.schema import close_as_it_is, connect
from dashboard.journal.store import Store
from dashboard.journal.tail import Tail, reading

if TYPE_CHECKING:
    from pathlib import Path


def look(folder: Path, clock: Clock = wall_clock) -> HostStatus:
    """Look at the host of a session, as a command does: a host that has died is reaped before this returns.

    Args:
        folder: the session's folder.
        clock: microseconds since the epoch, UTC.

    Raises:
        JournalError: there is no journal that can be read, or its runs could not be ended.
    """
    with reading(folder):
        dead = host_is_dead(folder)
    if dead is not None:
        with dead:  # held until all is written, so that no two reap at once
            _reap(folder, clock)
    with readable(folder) as store:
        pid, beat = int(store.meta("pid") or 0), int(store.meta("heartbeat") or 0)
        over = how_it_ended(store)
    return HostStatus(over or living_state(beat, clock()), pid, beat)


@contextmanager
def readable(folder: Path) -> Iterator[Store]:
    """Open a session's journal to read it, for a few looks.

    Raises:
        JournalError: there is none that can be read.
    """
    with reading(folder):
        tail = Tail(folder / JOURNAL_NAME)
    try:
        with reading(folder):
            yield tail.store
    finally:
        close_as_it_is(tail.store.connection)  # who only looks writes nothing back: that is left to who writes


def how_it_ended(store: Store) -> HostState | None:
    """Say whether a session is over, and how; ``None`` while a host may come to its mail."""
    if store.over is None:
        return None
    return HostState.CLOSED if store.over == CLOSED else HostState.LOST


def _reap(folder: Path, clock: Clock) -> None:
    with readable(folder) as store:
        if store.over is not None:
            return  # the usual case for an old session: nothing is to be written
    store = Store(connect(folder / JOURNAL_NAME))
    try:
        with store.transaction():
            mailroom.reap(store, clock())
    except apsw.Error as error:
        raise JournalError(
            f"the host of {folder.name} has died, and its runs could not be ended",
            str(error),
            "Their mail stays where it is; look again once the journal can be written",
        ) from error
    finally:
        store.connection.close()
