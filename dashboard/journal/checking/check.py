"""The check as a whole: one look at one moment of a journal, which others may go on writing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from dashboard.core.errors import JournalError
from dashboard.core.events import Unknown
from dashboard.core.records import Record, decode, run_of
from dashboard.journal.checking.mail import MailCheck
from dashboard.journal.checking.report import MOST_FAULTS, Findings, Report, at_seq
from dashboard.journal.checking.strangers import Strangers
from dashboard.journal.checking.tables import TableCheck
from dashboard.journal.checking.texts import TextCheck
from dashboard.journal.home import JOURNAL_NAME
from dashboard.journal.recording import connect_to_look
from dashboard.journal.schema import TORN, VERSION
from dashboard.journal.store import Store
from dashboard.journal.tail import reading

UNREADABLE = ("unreadable", "untyped")  # what ``decode`` calls that which no version has written


def check(folder: Path) -> Report:
    """Check a session's journal. Nothing is written, and what runs in it goes on.

    Events are taken one after the other, so that a long session needs no more memory than a short one, but for the
    ids of its messages, runs and requests.

    Args:
        folder: the session's folder.

    Raises:
        JournalError: there is no journal there that can be opened as one, or it is of an older format.
    """
    path = folder / JOURNAL_NAME
    log = folder / f"{JOURNAL_NAME}-wal"
    shared = log.exists()
    report = _look(folder, path, shared=shared)
    if not shared and log.exists():  # somebody has opened it meanwhile: what was read may be of two moments
        report = _look(folder, path, shared=True)
    return report


def _look(folder: Path, path: Path, *, shared: bool) -> Report:
    connection = connect_to_look(path, shared=shared)
    try:
        with reading(folder):
            version = connection.pragma("user_version")
            if version < VERSION:
                raise JournalError(
                    f"{path} is of format {version}, and only format {VERSION} can be checked",
                    fix="`dashboard sessions` brings it to this one",
                )
            return _Check(folder.name, Store(connection)).run()
    finally:
        connection.close()


class _Check:
    def __init__(self, session_id: str, store: Store) -> None:
        self._session_id = session_id
        self._store = store
        self._findings = Findings()
        tell, strangers = self._findings.tell, Strangers()
        self._strangers = strangers
        self._texts = TextCheck(tell)
        self._mail = MailCheck(tell, store, strangers)
        self._tables = TableCheck(tell, strangers)
        self._last = 0

    def run(self) -> Report:
        self._read(self._check_file)  # in a state of its own: the longest look needs no other
        self._store.connection.execute("BEGIN")  # the events and the tables are of one moment
        if self._read(self._check_events):  # else all that was told further on would seem to be missing
            self._read(lambda: self._mail.compare(over=self._store.over is not None))
            self._read(lambda: self._tables.compare(self._store))
        return Report(
            session_id=self._session_id,
            events=self._last,
            runs=self._tables.runs,
            messages=self._mail.count,
            delivered=self._mail.delivered,
            faults=tuple(self._findings.faults),
            more_faults=self._findings.more,
            notes=self._findings.notes(),
        )

    def _read(self, look: Callable[[], None]) -> bool:
        """Look at a part, as far as it can be read; whether that was to the end."""
        try:
            look()
        except TORN as error:
            self._findings.tell(f"the file is torn: {error}", JOURNAL_NAME)
        except UnicodeDecodeError as error:
            self._findings.tell(f"the file holds text that is none: {error}", JOURNAL_NAME)
        else:
            return True
        return False

    def _check_file(self) -> None:
        for (said,) in self._store.rows(f"PRAGMA integrity_check({MOST_FAULTS})"):
            if said != "ok":
                self._findings.tell(f"SQLite finds the file damaged: {said}", JOURNAL_NAME)
        for table, row, parent, _ in self._store.rows("PRAGMA foreign_key_check"):
            self._findings.tell(f"a row of {table} ({row}) belongs to none of {parent}", JOURNAL_NAME)

    def _check_events(self) -> None:
        for record in self._records():
            self._texts.take(record)
            self._mail.take(record)
            self._tables.take(record)

    def _records(self) -> Iterator[Record]:
        query = "SELECT seq, at, run_id, payload FROM event ORDER BY seq"
        for seq, at, run_id, payload in self._store.connection.execute(query):
            if seq != self._last + 1:
                self._findings.tell(f"the events go from {self._last} to {seq}", at_seq(seq))
            self._last = seq
            if not isinstance(payload, bytes):
                self._findings.tell("it cannot be decoded: it is no bytes", at_seq(seq))
                continue
            event = decode(payload)
            if isinstance(event, Unknown):
                if event.type in UNREADABLE:
                    self._findings.tell("it cannot be decoded", at_seq(seq))
                else:
                    self._findings.note_unknown(event.type, seq)
                    self._strangers.take(event)
            elif run_of(event) != run_id:
                self._findings.tell(f"it is of run {run_of(event)}, and is kept as one of {run_id}", at_seq(seq))
            yield Record(seq, at, event)
