"""The writing thread: order, patience with a busy or full disk, and nothing that waits for ever."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from dashboard.core.errors import JournalError
from dashboard.core.events import NoticeLevel, NoticeRaised, TextDelta
from dashboard.core.records import Record
from dashboard.journal import schema
from dashboard.journal import writer as writer_module
from dashboard.journal.jobs import Item, Job, commit
from dashboard.journal.ledger import Ledger
from dashboard.journal.store import Store
from dashboard.journal.tail import Tail
from dashboard.journal.writer import ThreadWriter
from tests.conftest import FakeClock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "journal.db"
    schema.create(path).close()
    return path


@pytest.fixture
def writer(path: Path, clock: FakeClock) -> Iterator[ThreadWriter]:
    writer = ThreadWriter(path, clock)
    yield writer
    writer.close()


def stored(path: Path) -> list[Record]:
    tail = Tail(path)
    try:
        return tail.read(0, 100_000)
    finally:
        tail.close()


def notice(text: str) -> NoticeRaised:
    return NoticeRaised(level=NoticeLevel.NOTE, text=text)


def test_seqs_are_gap_free_from_one_in_the_order_of_emission(path: Path, clock: FakeClock) -> None:
    writer = ThreadWriter(path, clock)
    for number in range(500):
        writer.emit(notice(str(number)))
    writer.close()
    records = stored(path)
    assert [record.seq for record in records] == list(range(1, 501))
    assert [record.event for record in records] == [notice(str(number)) for number in range(500)]


def test_an_event_carries_the_time_of_its_emission_not_of_its_commit(path: Path, clock: FakeClock) -> None:
    writer = ThreadWriter(path, clock)
    writer.emit(notice("one"))
    clock.tick(5)
    writer.emit(notice("two"))
    writer.close()
    one, two = stored(path)
    assert two.at - one.at == 5_000_000


def test_a_job_runs_behind_everything_that_was_emitted_before_it(path: Path, writer: ThreadWriter) -> None:
    writer.emit(TextDelta(run_id="r", round=1, text="a"))
    writer.emit(notice("b"))
    count = writer.submit(Job(lambda store: len(store.records(0, 10)))).future.result()
    assert count == 2


def test_a_real_full_disk_loses_no_event_and_leaves_no_gap(
    path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """SQLite rolls back by itself when a transaction outgrows its cache and the disk."""
    monkeypatch.setattr(writer_module, "RETRY_SECONDS", 0.001)
    store = Store(schema.connect(path))
    store.connection.execute("PRAGMA cache_size = 10")
    pages = store.value("PRAGMA page_count")
    store.connection.execute(f"PRAGMA max_page_count = {pages + 40}")
    monkeypatch.setattr(writer_module, "Store", lambda connection: store)
    writer = ThreadWriter(path, clock)
    writer.emit(notice("before"))
    big = writer.submit(Job(lambda store: [store.append(notice("z" * 60_000), clock()) for _ in range(20)]))
    writer.emit(notice("after"))
    with pytest.raises(JournalError, match="could not be written"):
        big.future.result(10)
    assert writer.submit(Job(lambda store: 7)).future.result(10) == 7  # it goes on
    writer.close()
    records = stored(path)
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    assert [record.event for record in records] == [notice("before"), notice("after")]


def test_a_disk_that_is_full_keeps_the_events_and_tries_again(
    path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writer_module, "RETRY_SECONDS", 0.0)
    full = [True, True]
    real = commit

    def commit_when_there_is_room(ledger: Ledger, items: list[Item]) -> None:
        if items and full:
            full.pop()
            raise apsw.FullError("database or disk is full")
        real(ledger, items)

    monkeypatch.setattr(writer_module, "commit", commit_when_there_is_room)
    writer = ThreadWriter(path, clock)
    writer.emit(notice("kept"))
    refused = writer.submit(Job(lambda store: 1))
    while not refused.future.done():
        writer.emit(notice("later"))
    writer.close()
    assert "will be tried again" in caplog.text
    assert notice("kept") in [record.event for record in stored(path)]


def test_a_future_that_was_cancelled_does_not_end_the_writer(writer: ThreadWriter, path: Path) -> None:
    job: Job[Store, int] = Job(lambda store: len(store.records(0, 10)))
    job.future.cancel()
    writer.submit(job)
    assert writer.submit(Job(lambda store: 7)).future.result(5) == 7


def test_a_writer_that_cannot_go_on_says_so_and_refuses_what_comes_after(
    path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    died = threading.Event()
    writer = ThreadWriter(path, clock, died.set)
    monkeypatch.setattr(writer_module, "commit", lambda store, items: 1 // 0)
    writer.emit(notice("x"))
    assert died.wait(5)
    with pytest.raises(JournalError, match="writer has ended"):
        writer.submit(Job(lambda store: 7)).future.result(5)
    assert "cannot go on" in caplog.text
    writer.close()


def test_a_busy_journal_is_waited_for_and_loses_nothing(path: Path, writer: ThreadWriter) -> None:
    other = Store(schema.connect(path))
    held, released = threading.Event(), threading.Event()

    def hold() -> None:
        with other.transaction():
            held.set()
            released.wait(5)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(5)
    writer.emit(notice("patient"))
    job = writer.submit(Job(lambda store: len(store.records(0, 10))))
    released.set()
    holder.join()
    assert job.future.result(5) == 1
    other.connection.close()


def test_a_writer_over_no_journal_says_so_to_whoever_opens_it(tmp_path: Path, clock: FakeClock) -> None:
    with pytest.raises(JournalError, match="no journal"):
        ThreadWriter(tmp_path / "journal.db", clock)


def test_a_job_after_the_end_fails_at_once(path: Path, clock: FakeClock) -> None:
    writer = ThreadWriter(path, clock)
    writer.close()
    assert isinstance(writer.submit(Job(lambda store: 7)).future.exception(5), JournalError)


def test_a_job_that_came_behind_the_end_fails_as_well(path: Path, clock: FakeClock) -> None:
    writer = ThreadWriter(path, clock)
    writer._items.put(None)
    late: Job[Store, int] = Job(lambda store: 7)
    writer._thread.join()
    writer.submit(late)
    assert not late.future.done()
    writer.close()
    assert isinstance(late.future.exception(5), JournalError)
