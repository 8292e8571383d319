"""A reader that never ends keeps the journal's log growing: the host says so, and names who may be reading."""

from __future__ import annotations

import asyncio
from pathlib import Path

import apsw
import pytest

from dashboard.core.events import NoticeLevel, NoticeRaised
from dashboard.journal.checking import check
from dashboard.journal.home import JOURNAL_NAME, make_session_folder
from dashboard.journal.reaping import readable
from dashboard.journal.session import JournalHostSession, JournalOperatorSession
from dashboard.journal.wal_watch import WAL_LIMIT, WalWatch
from tests.conftest import FakeClock
from tests.journal.test_session import die

MIB = 1024 * 1024


class Log:
    """A log of any size beside a journal, and what a host that looks at it is told."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / f"{JOURNAL_NAME}-wal"
        self._watch = WalWatch(folder / JOURNAL_NAME)

    def grow_to(self, mebibytes: int) -> str:
        with self._file.open("ab") as log:
            log.truncate(mebibytes * MIB)
        notice = self._watch.look(lambda: ["ana", "bo", "ana"])
        return notice.text if notice else ""


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


def test_a_log_that_is_not_there_is_no_news(tmp_path: Path) -> None:
    assert WalWatch(tmp_path / JOURNAL_NAME).look(list) is None


def test_the_limit_is_64_mebibytes_and_nothing_is_said_up_to_it(log: Log) -> None:
    assert WAL_LIMIT == 64 * MIB
    assert log.grow_to(64) == ""


def test_what_is_said_has_the_size_and_each_operator_once(log: Log) -> None:
    said = log.grow_to(70)
    assert "has grown to 70 MiB: some console or command holds a read open" in said
    assert said.endswith("consoles seen in the last minute: ana, bo")


def test_it_is_said_again_at_each_doubling_and_not_in_between(log: Log) -> None:
    told = [size for size in (65, 66, 100, 128, 129, 200, 256, 257, 600, 1000, 1025) if log.grow_to(size)]
    assert told == [65, 129, 257, 600, 1025]


def test_it_is_said_anew_once_the_log_has_shrunk(log: Log) -> None:
    assert log.grow_to(300)
    assert not log.grow_to(64)
    assert log.grow_to(65)


async def test_a_reader_that_hangs_in_its_read_is_warned_of_and_nothing_is_lost(clock: FakeClock) -> None:
    host = JournalHostSession(make_session_folder("20260101-000000-aaaa"), clock, wal_limit=MIB)
    await host.start("0", "title", ())
    away = JournalOperatorSession(host.folder, "cy", clock)
    away.probe()
    away.close()
    clock.tick(61)
    console = JournalOperatorSession(host.folder, "ana", clock)
    console.probe()
    console.close()
    hanging = apsw.Connection(str(host.folder / JOURNAL_NAME))
    hanging.execute("BEGIN")
    assert hanging.execute("SELECT count(*) FROM event").get == 1

    async def write_and_beat(mebibytes: int) -> list[NoticeRaised]:
        for _ in range(mebibytes * 20):
            host.emit(NoticeRaised(level=NoticeLevel.NOTE, text="x" * 60_000))
        await asyncio.to_thread(host.inbox.runs)
        host.beat()
        await asyncio.to_thread(host.inbox.runs)
        with readable(host.folder) as store:
            events = [record.event for record in store.records(0, 100_000)]
        return [event for event in events if isinstance(event, NoticeRaised) and event.level == "warning"]

    (first,) = await write_and_beat(1)
    assert "has grown to 1 MiB" in first.text
    assert first.text.endswith("consoles seen in the last minute: ana")
    assert len(await write_and_beat(0)) == 1
    assert len(await write_and_beat(2)) == 2
    hanging.close()
    die(host)
    assert check(host.folder).faults == ()
