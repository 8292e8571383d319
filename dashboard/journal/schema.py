"""The tables of a journal, and how a connection to one is opened and trusted."""

from __future__ import annotations

import contextlib
import os
import random
import time
from pathlib import Path

import apsw

from dashboard.core.errors import JournalError
from dashboard.journal import failpoints
from dashboard.journal.migrations import migrate

APPLICATION_ID = 0x5D_B0_A2_D0
VERSION = 2
OLDEST_SQLITE = (3, 51, 3)  # older ones can reset a WAL that another process still writes to
TORN = (apsw.CorruptError, apsw.NotADBError, apsw.IOError)  # the last: of a file that ends too early
_MAGIC = b"SQLite format 3\0"
_ID_AT = 68  # bytes into the file
LOG_KEPT = 16 * 1024 * 1024  # bytes: what a log that a reader has let grow is cut back to, once it is written anew

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE event (
  seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, run_id TEXT, version INTEGER NOT NULL, payload BLOB NOT NULL
);
CREATE INDEX event_run ON event (run_id, seq);
CREATE TABLE label (label TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE run (
  run_id TEXT PRIMARY KEY, label TEXT NOT NULL, ordinal INTEGER NOT NULL, reading INTEGER NOT NULL,
  live INTEGER NOT NULL, started INTEGER NOT NULL, UNIQUE (label, ordinal)
) WITHOUT ROWID;
CREATE TABLE message (
  id TEXT PRIMARY KEY, place INTEGER NOT NULL, address TEXT NOT NULL, label TEXT NOT NULL, run_id TEXT,
  lane TEXT NOT NULL, wake INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT, expires_at INTEGER,
  sender_kind TEXT NOT NULL, message BLOB NOT NULL, body_bytes INTEGER NOT NULL,
  accepted INTEGER, held INTEGER NOT NULL DEFAULT 0, taken INTEGER NOT NULL DEFAULT 0, original BLOB
) WITHOUT ROWID;
CREATE INDEX message_open ON message (run_id, lane, place, wake, held, taken, expires_at) WHERE state = 'queued';
CREATE INDEX message_unbound ON message (label, place) WHERE state = 'unbound';
CREATE TABLE delivery (
  message_id TEXT PRIMARY KEY REFERENCES message (id), run_id TEXT NOT NULL, round INTEGER NOT NULL,
  history_index INTEGER NOT NULL, seq INTEGER NOT NULL, UNIQUE (run_id, history_index)
) WITHOUT ROWID;
CREATE TABLE control (
  id TEXT PRIMARY KEY, place INTEGER NOT NULL, action TEXT NOT NULL, run_id TEXT, requested_by TEXT NOT NULL,
  state TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE console (id TEXT PRIMARY KEY, operator TEXT NOT NULL, seen_at INTEGER NOT NULL) WITHOUT ROWID;
"""


def create(path: Path) -> apsw.Connection:
    """Make a new journal and give a connection to it. It is there whole, or not at all, wherever this is ended.

    Args:
        path: where; its folder is this process's alone while it holds the host's lock.

    Raises:
        JournalError: something is there already, or the file cannot be made.
    """
    making = path.with_name(f"{path.name}.making")
    try:
        if path.exists():
            raise FileExistsError(path)
        for left in path.parent.glob(f"{making.name}*"):
            left.unlink()  # of a process that was ended in the middle of this, its log too
        _make(making)
        failpoints.at("create.before")
        _name(making, path)
        failpoints.at("create.after")
        return _ready(_connect(path))
    except FileExistsError as error:
        raise JournalError(f"{path} is there already", fix="Every session has a journal of its own") from error
    except (OSError, apsw.Error) as error:
        raise JournalError(f"cannot make the journal {path}", str(error)) from error


def connect(path: Path) -> apsw.Connection:
    """Open a journal that is there; one of an older format is brought to this one first.

    Raises:
        JournalError: it is missing, foreign, torn, or of a newer version; the file is left as it is.
    """
    check_header(path)
    try:
        connection = _connect(path)
    except apsw.Error as error:
        raise JournalError(f"{path} cannot be opened", str(error)) from error
    try:
        check_version(path, connection)  # before anything is set: that alone would write to the file
        migrate(_ready(connection), VERSION)
    except apsw.Error as error:
        close_as_it_is(connection)
        raise JournalError(f"{path} cannot be read as a journal", str(error), "It is left as it is") from error
    except JournalError:
        close_as_it_is(connection)
        raise
    return connection


def check_header(path: Path) -> None:
    """Refuse what is no journal by its first bytes, which no process ever changes, before it is opened as one.

    To open it may already write: of an empty one SQLite deletes the log beside it.

    Raises:
        JournalError: it is missing, foreign, or torn at its beginning.
    """
    if not path.is_file():
        raise JournalError(f"there is no journal at {path}", fix="`dashboard sessions` lists the sessions")
    try:
        # by SQLite, which knows what this process has open: a plain close lets go of all its locks on the file
        file = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
        try:
            header = file.xRead(_ID_AT + 4, 0)
        finally:
            file.xClose()
    except apsw.Error as error:
        raise JournalError(f"{path} cannot be opened", str(error)) from error
    if not header.startswith(_MAGIC):
        why = "it does not begin as one does" if header else "it is empty"
        raise JournalError(f"{path} cannot be read as a journal", why, "It is left as it is")
    if header[_ID_AT:] != APPLICATION_ID.to_bytes(4):
        raise JournalError(f"{path} is not a journal of this program", fix="It is left as it is")


def check_version(path: Path, connection: apsw.Connection) -> int:
    """Give the format of a journal that was opened, one that this version can read.

    Raises:
        JournalError: it is of a newer version.
    """
    version: int = connection.pragma("user_version")
    if not 1 <= version <= VERSION:
        raise JournalError(
            f"{path} was written by a newer version (format {version}; this one reads {VERSION})",
            fix="Upgrade with: pip install --upgrade subagent-dashboard",
        )
    return version


def leave_as_it_is(connection: apsw.Connection) -> None:
    """Let the close of a connection write nothing: what turned out to be torn, or not ours, is left as it is.

    Who closes a journal last would write what stands in the log beside it into the file, and delete the log.
    """
    with contextlib.suppress(OSError):
        if Path(connection.filename_wal).stat().st_size:  # an empty one may go as it came
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)


def close_as_it_is(connection: apsw.Connection) -> None:
    """Close a connection and write nothing."""
    leave_as_it_is(connection)
    connection.close()


def _make(path: Path) -> None:
    """Make a whole journal without events, on the disk and without a log beside it."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        os.fchmod(descriptor, 0o600)  # whatever the umask has left of it
    finally:
        os.close(descriptor)
    connection = _ready(_connect(path))  # with a log from the start, so that no two have to bring it there at once
    with contextlib.closing(connection), connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; {TABLES}")


def _name(made: Path, path: Path) -> None:
    """Give a file its name, and never the place of one that is there.

    Raises:
        FileExistsError: one is there.
    """
    try:
        os.link(made, path)  # unlike a rename, it takes nothing's place
        made.unlink()
    except FileExistsError:
        raise
    except OSError:
        made.rename(path)  # a file system without links; the host's lock keeps others away
    with contextlib.suppress(OSError):  # not every file system can
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # a power cut must not take the name away
        finally:
            os.close(folder)


def _connect(path: Path) -> apsw.Connection:
    found = tuple(int(part) for part in apsw.sqlite_lib_version().split(".")[:3])
    if found < OLDEST_SQLITE:
        raise JournalError(
            f"SQLite {apsw.sqlite_lib_version()} has a bug that can corrupt a journal of several processes",
            fix="Upgrade with: pip install --upgrade apsw",
        )
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_handler(_wait_a_little)
    return connection


def _ready(connection: apsw.Connection) -> apsw.Connection:
    connection.execute(
        "PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;"
        f" PRAGMA journal_size_limit = {LOG_KEPT}"
    ).fetchall()  # what follows a statement that answers is done once the answer is fetched
    return connection


def _wait_a_little(attempt: int) -> bool:
    """Wait for another process's transaction: jittered, so that two waiters do not meet again; 10 s in all."""
    time.sleep(random.uniform(0.0005, 0.004))  # noqa: S311 - jitter, not a secret
    return attempt < 4_000
