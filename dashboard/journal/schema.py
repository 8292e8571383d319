"""The tables of a journal, and how a connection to one is opened and trusted."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import apsw

from dashboard.core.errors import JournalError

APPLICATION_ID = 0x5D_B0_A2_D0
VERSION = 2
OLDEST_SQLITE = (3, 51, 3)  # older ones can reset a WAL that another process still writes to

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
# Only adds, with defaults: a process of format 1 that has the file open goes on writing its named columns. Of its
# messages ``accepted`` stays empty, which is their place. The index answers whether anything wakes by itself.
FROM_1 = """
ALTER TABLE message ADD COLUMN accepted INTEGER;
ALTER TABLE message ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
ALTER TABLE message ADD COLUMN taken INTEGER NOT NULL DEFAULT 0;
ALTER TABLE message ADD COLUMN original BLOB;
DROP INDEX message_open;
CREATE INDEX message_open ON message (run_id, lane, place, wake, held, taken, expires_at) WHERE state = 'queued';
PRAGMA user_version = 2;
"""


def create(path: Path) -> apsw.Connection:
    """Make a new journal and give a connection to it.

    Raises:
        JournalError: something is there already, or the file cannot be made.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = _ready(_connect(path))
        with connection:
            connection.execute(
                f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; {TABLES}"
            )
    except FileExistsError as error:
        raise JournalError(f"{path} is there already", fix="Every session has a journal of its own") from error
    except (OSError, apsw.Error) as error:
        raise JournalError(f"cannot make the journal {path}", str(error)) from error
    return connection


def connect(path: Path) -> apsw.Connection:
    """Open a journal that is there; one of an older format is brought to this one first.

    Raises:
        JournalError: it is missing, foreign, torn, or of a newer version; the file is left as it is.
    """
    if not path.is_file():
        raise JournalError(f"there is no journal at {path}", fix="`dashboard sessions` lists the sessions")
    try:
        connection = _connect(path)
        # looked at before anything is set: setting the journal mode alone would write to a foreign file
        application, version = connection.pragma("application_id"), connection.pragma("user_version")
        if application == APPLICATION_ID and 1 <= version <= VERSION:
            _upgrade(_ready(connection))
            return connection
    except apsw.Error as error:
        raise JournalError(f"{path} cannot be read as a journal", str(error), "It is left as it is") from error
    connection.close()
    if application != APPLICATION_ID:
        raise JournalError(f"{path} is not a journal of this program", fix="It is left as it is")
    raise JournalError(
        f"{path} was written by a newer version (format {version}; this one reads {VERSION})",
        fix="Upgrade with: pip install --upgrade subagent-dashboard",
    )


def _upgrade(connection: apsw.Connection) -> None:
    if connection.pragma("user_version") == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.pragma("user_version") == 1:  # looked at again: another process may have been faster
            connection.execute(FROM_1)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk makes SQLite roll back by itself
            connection.execute("ROLLBACK")
        raise


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
    connection.execute("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF")
    return connection


def _wait_a_little(attempt: int) -> bool:
    """Wait for another process's transaction: jittered, so that two waiters do not meet again; 10 s in all."""
    time.sleep(random.uniform(0.0005, 0.004))  # noqa: S311 - jitter, not a secret
    return attempt < 4_000
