"""The writer: order, joined deltas, and jobs that answer only once they are on disk."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from dashboard.core.errors import JournalError, SendRefusedError
from dashboard.core.events import (
    KnownEvent,
    NoticeLevel,
    NoticeRaised,
    ReasoningDelta,
    Record,
    RunStarted,
    TextDelta,
)
from dashboard.core.messages import Refusal
from dashboard.journal import schema
from dashboard.journal import writer as writer_module
from dashboard.journal.store import Store
from dashboard.journal.tail import Tail
from dashboard.journal.writer import Emitted, InlineWriter, Item, Job, ThreadWriter, commit
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


def text(piece: str, run_id: str = "r", round_number: int = 1) -> TextDelta:
    return TextDelta(run_id=run_id, round=round_number, text=piece)


def written(path: Path, clock: FakeClock, *events: KnownEvent) -> list[KnownEvent]:
    """What one commit makes of these events."""
    store = Store(schema.connect(path))
    commit(store, [Emitted(clock(), event) for event in events])
    store.connection.close()
    return [record.event for record in stored(path)]  # type: ignore[misc]


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


def test_the_deltas_of_one_batch_are_joined_per_run(path: Path, clock: FakeClock) -> None:
    events = written(path, clock, text("a", "r"), text("x", "s"), text("b", "r"), text("y", "s"))
    assert events == [text("ab", "r"), text("xy", "s")]


def test_a_delta_never_moves_past_another_event(path: Path, clock: FakeClock) -> None:
    events = written(path, clock, text("a"), notice("between"), text("b"))
    assert events == [text("a"), notice("between"), text("b")]


def test_reasoning_text_and_rounds_are_not_joined_with_each_other(path: Path, clock: FakeClock) -> None:
    reasoning = ReasoningDelta(run_id="r", round=1, text="hm")
    events = written(path, clock, reasoning, text("a"), text("b"), text("c", round_number=2))
    assert events == [reasoning, text("ab"), text("c", round_number=2)]


def test_a_job_runs_behind_everything_that_was_emitted_before_it(path: Path, writer: ThreadWriter) -> None:
    writer.emit(text("a"))
    writer.emit(notice("b"))
    count = writer.submit(Job(lambda store: len(store.records(0, 10)))).future.result()
    assert count == 2


def test_a_refusal_undoes_its_own_job_and_nothing_else(path: Path, clock: FakeClock) -> None:
    store = Store(schema.connect(path))

    def refused(store: Store) -> None:
        store.append(notice("never"), clock())
        raise SendRefusedError(Refusal.EMPTY, "nothing to send")

    good: Job[int] = Job(lambda store: store.append(notice("kept"), clock()))
    bad: Job[None] = Job(refused)
    commit(store, [Emitted(clock(), notice("before")), bad, good])
    store.connection.close()
    with pytest.raises(SendRefusedError):
        bad.future.result()
    assert good.future.result() == 2
    assert [record.event for record in stored(path)] == [notice("before"), notice("kept")]


def test_a_job_that_was_called_off_in_time_does_nothing(path: Path, clock: FakeClock) -> None:
    store = Store(schema.connect(path))
    job: Job[int] = Job(lambda store: store.append(notice("never"), clock()))
    assert job.abandon()
    commit(store, [job])
    store.connection.close()
    assert stored(path) == []


def test_a_job_that_has_begun_cannot_be_called_off(path: Path, clock: FakeClock) -> None:
    store = Store(schema.connect(path))
    job: Job[bool] = Job(lambda store: job.abandon())
    commit(store, [job])
    store.connection.close()
    assert job.future.result() is False


def test_a_job_with_a_bug_fails_alone(path: Path, clock: FakeClock) -> None:
    store = Store(schema.connect(path))
    started = RunStarted(run_id="r", label="main", ordinal=1, task="t", max_iterations=1)
    job: Job[int] = Job(lambda store: store.append(started, clock()))  # the same run twice: a constraint fails
    commit(store, [Emitted(clock(), started), job])
    store.connection.close()
    with pytest.raises(apsw.ConstraintError):
        job.future.result()
    assert [record.event for record in stored(path)] == [started]


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


def test_an_event_that_cannot_be_stored_is_told_by_a_notice_and_takes_nothing_with_it(
    path: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    started = RunStarted(run_id="r", label="main", ordinal=1, task="t", max_iterations=1)
    first, second, third = written(path, clock, started, started, notice("after"))
    assert (first, third) == (started, notice("after"))
    assert isinstance(second, NoticeRaised)
    assert "RunStarted could not be recorded" in second.text


def test_a_disk_that_is_full_keeps_the_events_and_tries_again(
    path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writer_module, "RETRY_SECONDS", 0.0)
    full = [True, True]
    real = writer_module.commit

    def commit_when_there_is_room(store: Store, items: list[Item]) -> None:
        if items and full:
            full.pop()
            raise apsw.FullError("database or disk is full")
        real(store, items)

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
    job = Job(lambda store: len(store.records(0, 10)))
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


def test_a_lone_surrogate_is_stored_as_a_replacement_and_said_so(path: Path, clock: FakeClock) -> None:
    events = written(path, clock, notice("a\ud800b"))
    assert events[0] == notice("a\ufffdb")
    assert isinstance(events[1], NoticeRaised)
    assert "U+FFFD" in events[1].text


def test_an_inline_writer_has_written_when_it_returns(path: Path, clock: FakeClock) -> None:
    writer = InlineWriter(path, clock)
    writer.emit(notice("now"))
    assert writer.submit(Job(lambda store: store.value("SELECT count(*) FROM event"))).future.result() == 1
    writer.close()


def test_a_writer_over_no_journal_says_so_to_whoever_opens_it(tmp_path: Path, clock: FakeClock) -> None:
    with pytest.raises(JournalError, match="no journal"):
        ThreadWriter(tmp_path / "journal.db", clock)
