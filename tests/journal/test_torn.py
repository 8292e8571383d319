"""A journal that is torn, or none of ours, is refused with its path and left byte for byte as it was."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from dashboard.core.errors import JournalError
from dashboard.core.events import HostStarted, NoticeLevel, NoticeRaised, RunStarted
from dashboard.core.messages import Lane, Message, Preset
from dashboard.journal import mailroom, schema
from dashboard.journal.catalog import host_started, peek, summarize
from dashboard.journal.checking import check
from dashboard.journal.jobs import Job
from dashboard.journal.reaping import look
from dashboard.journal.recording import JournalRecording
from dashboard.journal.session import JournalOperatorSession
from dashboard.journal.store import Store
from dashboard.journal.writer import ThreadWriter
from tests.journal.conftest import ANA

PAGE = 4_096
Damage = Callable[[Path], object]
Use = Callable[[Path], object]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of some hundred pages: in ``closed`` all is in the journal, in ``open`` half is in the log."""
    made = tmp_path_factory.mktemp("whole")
    (made / "closed").mkdir()
    store = Store(schema.create(made / "closed" / "journal.db"))
    with store.transaction():
        store.append(HostStarted(pid=1, version="0", title="t", labels=("a",)), 1)
        store.append(RunStarted(run_id="r", label="main", ordinal=1, task="t", max_iterations=9), 1)
    for number in range(400):
        with store.transaction():
            if number < 300:
                message = Message(f"m{number:04}", f"{number} " + "x" * 1_500, Lane.NEXT_STEP, False, ANA, 1)
                mailroom.accept(store, "main", message, 2)
            else:
                store.append(NoticeRaised(level=NoticeLevel.NOTE, text="y" * 1_500), 2)
    shutil.copytree(made / "closed", made / "open", ignore=shutil.ignore_patterns("*-shm"))
    store.connection.close()
    assert (made / "closed" / "journal.db").stat().st_size > 300 * PAGE
    assert (made / "open" / "journal.db-wal").stat().st_size > 300 * PAGE
    return made


@pytest.fixture(params=["closed", "open"])
def folder(request: pytest.FixtureRequest, whole: Path, tmp_path: Path) -> Path:
    """The same with a log beside it and without, to be damaged."""
    return Path(shutil.copytree(whole / request.param, tmp_path / "20260101-000000-aaaa"))


def content(folder: Path) -> dict[str, bytes]:
    """All that is kept: the lock is always empty, and the index of the log is made anew from it."""
    kept = (file for file in folder.iterdir() if not file.name.endswith(("-shm", ".lock")))
    return {file.name: file.read_bytes() for file in kept}


def cut(part: float) -> Damage:
    return lambda file: os.truncate(file, int(file.stat().st_size * part))


def overwrite(start: int, how: Callable[[bytes], bytes], length: int = PAGE) -> Damage:
    def damage(file: Path) -> None:
        with file.open("r+b") as opened:
            opened.seek(start)
            before = opened.read(length)
            opened.seek(start)
            opened.write(how(before))

    return damage


def flipped(before: bytes) -> bytes:
    return bytes(byte ^ 0xFF for byte in before)


def read_as_a_console(folder: Path) -> None:
    session = JournalOperatorSession(folder, "ana")
    try:
        after = 0
        while records := session.read(after, 100):
            after = records[-1].seq
        session.look(lambda store: store.messages())
    finally:
        session.close()


def send(folder: Path) -> None:
    session = JournalOperatorSession(folder, "ana")
    try:
        asyncio.run(session.send("main", session.compose("hello", Preset.STEER)))
    finally:
        session.close()


def ask_the_writer(folder: Path) -> None:
    """As a program does that reads what became of its mail."""
    with closing(ThreadWriter(folder / "journal.db", lambda: 1)) as writer:
        writer.submit(Job(lambda store: store.messages())).future.result()


def read_a_recording(folder: Path) -> None:
    recording = JournalRecording(folder)
    try:
        recording.page(0, 100_000)
    finally:
        recording.close()


OPENERS: dict[str, Use] = {
    "connect": lambda folder: schema.connect(folder / "journal.db").close(),
    "console": read_as_a_console,
    "send": send,
    "look": look,
    "check": check,
    "recording": read_a_recording,
}
NOT_OURS: dict[str, Damage] = {
    "empty": cut(0),
    "cut within its header": lambda file: os.truncate(file, 60),
    "its header is zero": overwrite(0, lambda before: bytes(len(before)), 100),
    "another program's": overwrite(68, flipped, 4),
    "no database": lambda file: file.write_bytes(b"something else, of the same name " * 1_000),
}


@pytest.mark.parametrize("use", OPENERS.values(), ids=OPENERS)
@pytest.mark.parametrize("damage", NOT_OURS.values(), ids=NOT_OURS)
def test_what_does_not_begin_as_a_journal_is_refused_with_its_path(folder: Path, damage: Damage, use: Use) -> None:
    damage(folder / "journal.db")
    before = content(folder)
    with pytest.raises(JournalError, match=str(folder / "journal.db")):
        use(folder)
    assert content(folder) == before


@pytest.mark.parametrize("part", [0.5, 0.5003, 0.98])
@pytest.mark.parametrize("use", OPENERS.values(), ids=OPENERS)
def test_a_closed_journal_that_was_cut_off_is_refused_with_its_path(
    whole: Path, tmp_path: Path, part: float, use: Use
) -> None:
    folder = Path(shutil.copytree(whole / "closed", tmp_path / "20260101-000000-aaaa"))
    cut(part)(folder / "journal.db")
    before = content(folder)
    with pytest.raises(JournalError, match=f"{folder / 'journal.db'} cannot be read as a journal.*malformed"):
        use(folder)
    assert content(folder) == before


TORN: dict[str, Damage] = {
    "cut in half": cut(0.5),
    **{f"page {page} is flipped": overwrite(page * PAGE, flipped) for page in (1, 2, 10, 100)},
    **{f"page {page} is zero": overwrite(page * PAGE, lambda _: bytes(PAGE)) for page in (2, 150)},
}
LOOKS: dict[str, Use] = {
    "console": read_as_a_console,
    "send": send,
    "ask": ask_the_writer,
    "look": look,
    "summary": summarize,
    "title": peek,
    "hand-shake": host_started,
    "check": check,
    "recording": read_a_recording,
}


@pytest.mark.parametrize("use", LOOKS.values(), ids=LOOKS)
@pytest.mark.parametrize("damage", TORN.values(), ids=TORN)
def test_whoever_comes_to_a_torn_page_gets_an_error_of_ours_and_a_reader_leaves_all_as_it_was(
    folder: Path, damage: Damage, use: Use
) -> None:
    """Which look comes to which page is SQLite's to decide.

    Who closes a journal last would write the log back into it: not once it is known to be torn.
    """
    damage(folder / "journal.db")
    before = content(folder)
    try:
        use(folder)
    except JournalError:
        assert use in (send, ask_the_writer) or content(folder) == before


@pytest.mark.parametrize("damage", TORN.values(), ids=TORN)
def test_a_check_finds_every_torn_page_and_writes_nothing(whole: Path, tmp_path: Path, damage: Damage) -> None:
    folder = Path(shutil.copytree(whole / "closed", tmp_path / "20260101-000000-aaaa"))
    damage(folder / "journal.db")
    before = content(folder)
    try:
        found = str(check(folder).faults)
    except JournalError as error:
        found = str(error)
    assert "malformed" in found or "damaged" in found
    assert content(folder) == before


def test_a_look_at_a_whole_journal_leaves_what_another_has_yet_to_write_back(whole: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(whole / "open", tmp_path / "20260101-000000-aaaa"))
    before = content(folder)
    assert peek(folder) == "t"
    assert host_started(folder)
    assert check(folder).faults == ()
    assert content(folder) == before


def test_a_newer_journal_is_left_with_its_log(whole: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(whole / "open", tmp_path / "20260101-000000-aaaa"))
    connection = apsw.Connection(str(folder / "journal.db"))
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    connection.close()
    before = content(folder)
    for use in (*OPENERS.values(), look):
        with pytest.raises(JournalError, match="newer version"):
            use(folder)
    assert content(folder) == before
