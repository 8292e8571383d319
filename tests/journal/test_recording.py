"""Looking at a journal without a trace: one that is over, one whose host lives, one whose host was killed."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from dashboard.core.errors import JournalError
from dashboard.core.events import NoticeLevel, NoticeRaised, SessionClosed
from dashboard.journal import schema
from dashboard.journal.home import JOURNAL_NAME, make_session_folder
from dashboard.journal.recording import JournalRecording
from dashboard.journal.session import JournalHostSession
from dashboard.journal.store import Store
from tests.conftest import FakeClock

SESSION = "20260101-000000-aaaa"
KEPT = Path(__file__).parent / "kept"


def trace(folder: Path) -> dict[str, tuple[str, int]]:
    """What a folder holds, byte by byte; the shared memory beside a log is no content of it."""
    return {
        path.name: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in folder.iterdir()
        if not path.name.endswith("-shm")
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with nothing in it."""
    made = tmp_path / "session"
    made.mkdir()
    return made


@contextmanager
def hosted(clock: FakeClock) -> Iterator[JournalHostSession]:
    host = JournalHostSession(make_session_folder(SESSION), clock, inline=True)
    try:
        yield host
    finally:
        host._writer.close()
        host._tail.close()
        host._lock.release()


def note(host: JournalHostSession, text: str) -> None:
    host.emit(NoticeRaised(level=NoticeLevel.NOTE, text=text))


def told(recording: JournalRecording, after: int = 0, limit: int = 100) -> list[str]:
    return [found.event.text for found in recording.page(after, limit) if isinstance(found.event, NoticeRaised)]


def test_a_session_that_is_over_is_read_and_nothing_is_left_beside_it(clock: FakeClock) -> None:
    with hosted(clock) as host:
        note(host, "a")
        note(host, "b")
        folder = host.folder
    before = trace(folder)
    recording = JournalRecording(folder)
    assert told(recording) == ["a", "b"]
    assert told(recording, after=1, limit=1) == ["b"]
    assert recording.last_seq() == 2
    assert sorted(path.name for path in folder.iterdir()) == ["host.lock", JOURNAL_NAME]
    recording.close()
    assert trace(folder) == before


def test_a_session_whose_host_lives_is_read_as_it_grows(clock: FakeClock) -> None:
    with hosted(clock) as host:
        note(host, "a")
        before = trace(host.folder)
        recording = JournalRecording(host.folder)
        assert told(recording) == ["a"]
        assert not recording.complete()
        assert trace(host.folder) == before
        note(host, "b")
        assert told(recording, after=1) == ["b"]
        host.emit(SessionClosed(reason="done"))
        assert recording.complete()
        recording.close()


def test_what_a_killed_host_left_in_its_log_is_read_and_stays_there(clock: FakeClock, tmp_path: Path) -> None:
    with hosted(clock) as host:
        note(host, "a")
        left = tmp_path / "left"
        shutil.copytree(host.folder, left)  # as it stands when the process is gone
    assert (left / f"{JOURNAL_NAME}-wal").stat().st_size > 0
    before = trace(left)
    recording = JournalRecording(left)
    assert told(recording) == ["a"]
    recording.close()
    assert trace(left) == before


def test_one_that_somebody_opens_to_write_meanwhile_is_followed_from_there(clock: FakeClock) -> None:
    with hosted(clock) as host:
        note(host, "a")
        folder = host.folder
    recording = JournalRecording(folder)
    assert told(recording) == ["a"]
    store = Store(schema.connect(folder / JOURNAL_NAME))
    with store.transaction():
        store.append(NoticeRaised(level=NoticeLevel.NOTE, text="b"), clock())
    assert told(recording, after=1) == ["b"]
    recording.close()
    store.connection.close()


def test_it_cannot_write(clock: FakeClock) -> None:
    with hosted(clock) as host:
        for shared in (True, False):
            if not shared:
                host._writer.close()
                host._tail.close()
            recording = JournalRecording(host.folder)
            with pytest.raises(apsw.ReadOnlyError):
                recording._store.connection.execute("DELETE FROM event")
            recording.close()


def test_an_older_format_is_read_and_not_brought_to_this_one(folder: Path) -> None:
    shutil.copy(KEPT / "format-1.db", folder / JOURNAL_NAME)
    before = trace(folder)
    recording = JournalRecording(folder)
    assert len(recording.page(0, 1_000)) == recording.last_seq() > 0
    assert recording.complete() in (True, False)
    recording.close()
    assert trace(folder) == before


def torn(path: Path) -> None:
    path.write_bytes(b"no database at all" * 100)


def foreign(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE t (a)")
    connection.close()


def newer(path: Path) -> None:
    connection = schema.create(path)
    connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    connection.close()


@pytest.mark.parametrize(
    ("make", "says"),
    [(torn, "cannot be read"), (foreign, "not a journal of this program"), (newer, "written by a newer version")],
)
def test_what_is_no_journal_of_ours_is_said_and_left_as_it_is(
    folder: Path, make: Callable[[Path], None], says: str
) -> None:
    make(folder / JOURNAL_NAME)
    before = trace(folder)
    with pytest.raises(JournalError, match=says):
        JournalRecording(folder)
    assert trace(folder) == before


def test_a_folder_without_a_journal_stays_without(folder: Path) -> None:
    with pytest.raises(JournalError, match="there is no journal in"):
        JournalRecording(folder)
    assert trace(folder) == {}
