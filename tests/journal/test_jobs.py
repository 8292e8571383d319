"""What one commit makes of events and jobs: deltas joined, each job an answer of its own."""

from __future__ import annotations

import apsw
import pytest

from dashboard.core.errors import JournalError, SendRefusedError
from dashboard.core.events import (
    KnownEvent,
    NoticeLevel,
    NoticeRaised,
    ReasoningDelta,
    RunStarted,
    TextDelta,
)
from dashboard.core.messages import Refusal
from dashboard.journal.jobs import Emitted, Job, commit
from dashboard.journal.ledger import Ledger
from tests.journal.conftest import AnyLedger, of


def notice(text: str) -> NoticeRaised:
    return NoticeRaised(level=NoticeLevel.NOTE, text=text)


def text(piece: str, run_id: str = "r", round_number: int = 1) -> TextDelta:
    return TextDelta(run_id=run_id, round=round_number, text=piece)


def told(ledger: AnyLedger) -> list[KnownEvent]:
    return of(ledger.records(0, 100))


def written(ledger: AnyLedger, *events: KnownEvent) -> list[KnownEvent]:
    """What one commit makes of these events."""
    commit(ledger, [Emitted(1, event) for event in events])
    return told(ledger)


def test_the_deltas_of_one_batch_are_joined_per_run(ledger: AnyLedger) -> None:
    events = written(ledger, text("a", "r"), text("x", "s"), text("b", "r"), text("y", "s"))
    assert events == [text("ab", "r"), text("xy", "s")]


def test_a_delta_never_moves_past_another_event(ledger: AnyLedger) -> None:
    events = written(ledger, text("a"), notice("between"), text("b"))
    assert events == [text("a"), notice("between"), text("b")]


def test_reasoning_text_and_rounds_are_not_joined_with_each_other(ledger: AnyLedger) -> None:
    reasoning = ReasoningDelta(run_id="r", round=1, text="hm")
    events = written(ledger, reasoning, text("a"), text("b"), text("c", round_number=2))
    assert events == [reasoning, text("ab"), text("c", round_number=2)]


def test_a_refusal_undoes_its_own_job_and_nothing_else(ledger: AnyLedger) -> None:

    def refused(ledger: Ledger) -> None:
        ledger.append(notice("never"), 1)
        raise SendRefusedError(Refusal.EMPTY, "nothing to send")

    good: Job[Ledger, int] = Job(lambda ledger: ledger.append(notice("kept"), 1))
    bad: Job[Ledger, None] = Job(refused)
    commit(ledger, [Emitted(1, notice("before")), bad, good])
    with pytest.raises(SendRefusedError):
        bad.future.result()
    assert good.future.result() == 2
    assert told(ledger) == [notice("before"), notice("kept")]


def test_a_job_that_was_called_off_in_time_does_nothing(ledger: AnyLedger) -> None:
    job: Job[Ledger, int] = Job(lambda ledger: ledger.append(notice("never"), 1))
    assert job.abandon()
    commit(ledger, [job])
    assert told(ledger) == []


def test_a_job_that_has_begun_cannot_be_called_off(ledger: AnyLedger) -> None:
    job: Job[Ledger, bool] = Job(lambda ledger: job.abandon())
    commit(ledger, [job])
    assert job.future.result() is False


def test_a_job_with_a_bug_fails_alone(ledger: AnyLedger) -> None:
    started = RunStarted(run_id="r", label="main", ordinal=1, task="t", max_iterations=1)
    job: Job[Ledger, int] = Job(lambda ledger: ledger.append(started, 1))  # no run starts twice
    commit(ledger, [Emitted(1, started), job])
    with pytest.raises(JournalError):
        job.future.result()
    assert told(ledger) == [started]


def test_an_event_that_cannot_be_stored_is_told_by_a_notice_and_takes_nothing_with_it(
    ledger: AnyLedger, caplog: pytest.LogCaptureFixture
) -> None:
    started = RunStarted(run_id="r", label="main", ordinal=1, task="t", max_iterations=1)
    first, second, third = written(ledger, started, started, notice("after"))
    assert (first, third) == (started, notice("after"))
    assert isinstance(second, NoticeRaised)
    assert "RunStarted could not be recorded" in second.text


def test_a_job_that_comes_to_a_torn_page_has_an_error_of_ours_and_no_other_is_touched(ledger: AnyLedger) -> None:
    def torn(ledger: Ledger) -> int:
        raise apsw.CorruptError("database disk image is malformed")

    broken: Job[Ledger, int] = Job(torn)
    sound: Job[Ledger, int] = Job(lambda ledger: ledger.append(notice("b"), 1))
    commit(ledger, [Emitted(1, notice("a")), broken, sound])
    with pytest.raises(JournalError, match="database disk image is malformed"):
        broken.future.result()
    assert sound.future.result() == 2
