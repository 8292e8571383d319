"""A journal that is only looked at: nothing is written beside it, into it, or to its table of consoles."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import apsw

from dashboard.core.errors import JournalError
from dashboard.core.records import Record
from dashboard.journal.home import JOURNAL_NAME
from dashboard.journal.schema import check_header, check_version
from dashboard.journal.store import Store
from dashboard.journal.tail import reading

BUSY_MILLISECONDS = 2_000


class JournalRecording:
    """The events of a session that ended, or of one that goes on, as ``core.playback`` plays them.

    Who has the journal open to write keeps a log beside it (``journal.db-wal``), which readers share. Where there
    is none nobody has it open, and the file is read as it stands: SQLite's usual way of reading would leave an
    empty log behind. An older format is read as it is, not brought to this one.

    Args:
        folder: the session's folder.

    Raises:
        JournalError: there is no journal there that can be read.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / JOURNAL_NAME
        self._log = folder / f"{JOURNAL_NAME}-wal"
        if not self._path.is_file():
            raise JournalError(f"there is no journal in {folder}", fix="`dashboard sessions` lists the sessions")
        self._shared = self._log.exists()
        self._store = self._open()

    def page(self, after: int, limit: int) -> list[Record]:
        """Give the events that follow a seq, at most so many.

        Raises:
            JournalError: the journal could not be read just now.
        """
        with reading(self._folder):
            return self._fresh().records(after, limit)

    def last_seq(self) -> int:
        """Give the seq of the last event; 0 while there is none.

        Raises:
            JournalError: the journal could not be read just now.
        """
        with reading(self._folder):
            return int(self._fresh().value("SELECT coalesce(max(seq), 0) FROM event"))

    def complete(self) -> bool:
        """Whether the session is over, so that nothing is added any more.

        Raises:
            JournalError: the journal could not be read just now.
        """
        with reading(self._folder):
            return self._fresh().over is not None

    def close(self) -> None:
        """Let go of the file."""
        self._store.connection.close()

    def _fresh(self) -> Store:
        """Give the journal as it is now; somebody may have opened it to write since it was opened here."""
        if not self._shared and self._log.exists():
            self._shared = True
            self._store.connection.close()
            self._store = self._open()
        return self._store

    def _open(self) -> Store:
        return Store(connect_to_look(self._path, shared=self._shared))


def connect_to_look(path: Path, *, shared: bool) -> apsw.Connection:
    """Open a journal and write nothing, neither into it nor beside it.

    Args:
        path: the journal.
        shared: whether there is a log beside it, which has to be read too.

    Raises:
        JournalError: it is missing, foreign, torn, or of a newer version.
    """
    check_header(path)
    how = "mode=ro" if shared else "immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        connection = apsw.Connection(f"file:{quote(str(path.absolute()))}?{how}", flags=flags)
        try:
            connection.set_busy_timeout(BUSY_MILLISECONDS)
            check_version(path, connection)
        except BaseException:
            connection.close()
            raise
    except apsw.Error as error:
        raise JournalError(f"{path} cannot be read as a journal", str(error), "It is left as it is") from error
    return connection
