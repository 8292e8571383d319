"""Trying out what sessions need of the place where they lie: a lock, and a journal that is shared."""

from __future__ import annotations

import tempfile
from pathlib import Path

import apsw

from dashboard.core.errors import DashboardError, HostError, JournalError
from dashboard.core.events import NoticeLevel, NoticeRaised
from dashboard.journal import schema
from dashboard.journal.home import JOURNAL_NAME
from dashboard.journal.lock import hold, host_is_dead
from dashboard.journal.store import Store
from dashboard.journal.tail import Tail


def sqlite_version() -> str:
    """Give the version of the SQLite that journals are written with."""
    return apsw.sqlite_lib_version()


def prove(home: Path) -> None:
    """Make a session's folder, take its lock, write a journal on one connection and read it on another.

    Args:
        home: the state folder; nothing is left behind in it.

    Raises:
        DashboardError: what sessions need does not work there.
    """
    try:
        with tempfile.TemporaryDirectory(prefix=".doctor-", dir=home) as name:
            folder = Path(name)
            with hold(folder):
                _refuses_another(folder)
                _is_shared(folder / JOURNAL_NAME)
    except (OSError, apsw.Error) as error:
        raise JournalError(f"a session cannot be kept in {home}", str(error)) from error


def _refuses_another(folder: Path) -> None:
    try:
        hold(folder).release()
    except HostError:
        pass
    else:
        raise HostError(
            f"two hosts could take one session in {folder.parent}", "its file system does not lock files"
        )
    dead = host_is_dead(folder)
    if dead is not None:
        dead.release()
        raise HostError(f"a living host would be taken for dead in {folder.parent}")


def _is_shared(path: Path) -> None:
    store = Store(schema.create(path))
    tail = Tail(path)
    try:
        tail.changed()
        with store.transaction():
            store.append(NoticeRaised(level=NoticeLevel.NOTE, text="seen"), 1)
        if not tail.changed() or not tail.read(0, 1):
            raise DashboardError(f"what one process writes in {path.parent.parent}, another does not see")
    finally:
        tail.close()
        store.connection.close()
