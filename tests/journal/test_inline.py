"""Writers that have written when they return."""

from __future__ import annotations

import threading
from pathlib import Path

import apsw
import pytest

from dashboard.core.errors import JournalError
from dashboard.core.events import NoticeLevel, NoticeRaised
from dashboard.journal import inline, schema
from dashboard.journal.inline import InlineWriter
from dashboard.journal.jobs import Item, Job
from dashboard.journal.ledger import Ledger
from tests.conftest import FakeClock
from tests.journal.conftest import AnyLedger, AnyWriter, of, records_of


def notice(text: str) -> NoticeRaised:
    return NoticeRaised(level=NoticeLevel.NOTE, text=text)


def test_an_event_is_written_when_the_call_returns(writer: AnyWriter) -> None:
    writer.emit(notice("now"))
    assert of(records_of(writer)) == [notice("now")]


def test_several_threads_write_one_at_a_time(writer: AnyWriter) -> None:
    threads = [threading.Thread(target=writer.emit, args=(notice(str(number)),)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    records = records_of(writer)
    assert [record.seq for record in records] == list(range(1, 21))
    assert {event.text for event in of(records, NoticeRaised)} == {str(number) for number in range(20)}


def test_a_job_that_meets_a_busy_journal_fails_and_the_next_one_does_not(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    schema.create(path).close()
    writer = InlineWriter(path, clock)
    job: Job[AnyLedger, int] = Job(lambda ledger: ledger.append(notice("x"), 1))
    with monkeypatch.context() as patch:
        patch.setattr(inline, "commit", busy)
        assert isinstance(writer.submit(job).future.exception(0), JournalError)
        with pytest.raises(apsw.BusyError):
            writer.emit(notice("an event has no future to fail"))
    writer.emit(notice("later"))
    assert of(records_of(writer)) == [notice("later")]
    writer.close()


def test_a_job_for_a_writer_that_was_closed_fails(tmp_path: Path, clock: FakeClock) -> None:
    path = tmp_path / "journal.db"
    schema.create(path).close()
    writer = InlineWriter(path, clock)
    writer.close()
    job: Job[AnyLedger, int] = Job(lambda ledger: 1)
    assert isinstance(writer.submit(job).future.exception(0), JournalError)


def busy(ledger: Ledger, items: list[Item]) -> None:
    raise apsw.BusyError("database is locked")
