"""Reading a journal as it grows: a cheap look whether anything changed, then the new events."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import apsw

from dashboard.core.errors import JournalError
from dashboard.core.records import Record
from dashboard.journal.schema import connect
from dashboard.journal.store import Store

if TYPE_CHECKING:
    from pathlib import Path


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Turn what SQLite raises into an error that names the session.

    Raises:
        JournalError: its journal is busy, torn, or out of reach.
    """
    try:
        yield
    except (apsw.Error, OSError, UnicodeDecodeError) as error:  # the last: of text that is torn
        raise JournalError(f"the journal of {folder.name} cannot be read", str(error)) from error


class Tail:
    """A connection that only reads. No read transaction stays open between two calls, so the WAL can be reset.

    Args:
        path: the journal.
    """

    def __init__(self, path: Path) -> None:
        self.store = Store(connect(path))
        self.store.connection.execute("PRAGMA query_only = ON")
        self._seen: int | None = None

    def changed(self) -> bool:
        """Whether another connection has committed since the last call; true the first time. About 2 µs."""
        version = self.store.connection.pragma("data_version")
        changed: bool = version != self._seen
        self._seen = version
        return changed

    def read(self, after: int, limit: int) -> list[Record]:
        """Give the events after a seq, in order, at most so many."""
        return self.store.records(after, limit)

    def close(self) -> None:
        """Let go of the file."""
        self.store.connection.close()
