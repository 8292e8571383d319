"""What an operator is told at once, as plain text."""

from __future__ import annotations

import pytest

from dashboard.core.changes import Changes, News, Refused
from dashboard.core.events import (
    ControlAction,
    ControlRefused,
    ControlRequested,
    NoticeLevel,
    NoticeRaised,
    TurnFinished,
)
from dashboard.core.outcomes import Outcome
from dashboard.core.views import RunView
from dashboard.ui.toasts import toasts
from tests.ui.conftest import OpenStage

RUNS = {"r": RunView("r", "main", 1, "t", None, 0, reading=True, started_at=0, max_iterations=10)}


def told(changes: Changes) -> list[tuple[str, str]]:
    return list(toasts(changes, RUNS, "ana", lambda seq, at: at >= 5))  # the console opened at 5


def refused(asked: ControlRequested | None, at: int = 5) -> Changes:
    answer = ControlRefused(control_id="k", reason="it has ended")
    return Changes(refused=[Refused(asked, News(answer, 1, at))])


def request(action: ControlAction, by: str = "ana") -> ControlRequested:
    return ControlRequested(control_id="k", action=action, by=by, run_id="r")


@pytest.mark.parametrize("action", list(ControlAction))
def test_every_refusal_says_what_was_asked_and_why_it_was_not_done(action: ControlAction) -> None:
    ((text, severity),) = told(refused(request(action)))
    assert text.startswith("The host did not ")
    assert text.endswith(": it has ended")
    assert severity == "warning"


def test_a_refusal_of_ones_own_request_names_the_run_alone() -> None:
    assert told(refused(request(ControlAction.PAUSE)))[0][0] == "The host did not pause main: it has ended"


def test_a_refusal_of_somebody_elses_request_says_whose_it_was() -> None:
    ((text, _),) = told(refused(request(ControlAction.CANCEL, by="bob")))
    assert text == "The host did not stop main, which bob asked for: it has ended"


def test_a_refusal_of_what_is_not_known_still_says_why() -> None:
    assert told(refused(None)) == [("The host refused a request: it has ended", "warning")]


def test_what_was_refused_or_failed_or_noticed_before_this_console_opened_is_no_news() -> None:
    careful = NoticeRaised(level=NoticeLevel.WARNING, text="careful")
    failed = TurnFinished(run_id="r", turn=1, answer="", outcome=Outcome.ERROR, error="overloaded")
    assert told(refused(request(ControlAction.PAUSE), at=4)) == []
    assert told(Changes(notices=[News(careful, 1, 4)], failed_turns=[News(failed, 2, 4)])) == []
    assert len(told(Changes(notices=[News(careful, 1, 5)], failed_turns=[News(failed, 2, 5)]))) == 2


def test_a_notice_names_its_run_and_a_mere_note_is_not_told() -> None:
    notices = [
        NoticeRaised(level=NoticeLevel.NOTE, text="by the way", run_id="r"),
        NoticeRaised(level=NoticeLevel.WARNING, text="careful"),
        NoticeRaised(level=NoticeLevel.ERROR, text="it broke", run_id="r"),
    ]
    changes = Changes(notices=[News(notice, seq, 5) for seq, notice in enumerate(notices, 1)])
    assert told(changes) == [("careful", "warning"), ("main: it broke", "error")]


def test_a_turn_that_failed_is_told_with_its_run_and_its_cause() -> None:
    failed = TurnFinished(run_id="r", turn=1, answer="", outcome=Outcome.ERROR, error="overloaded")
    assert told(Changes(failed_turns=[News(failed, 1, 5)])) == [("main: the turn failed: overloaded", "error")]


async def test_a_console_that_attaches_does_not_tell_again_what_was_told_before(stage: OpenStage) -> None:
    async with stage() as s:
        s.start("r")
        s.clock.tick(-2)  # while another console was open
        for event in (
            NoticeRaised(level=NoticeLevel.WARNING, text="an old warning"),
            TurnFinished(run_id="r", turn=1, answer="", outcome=Outcome.ERROR, error="an old failure"),
            ControlRefused(control_id="k", reason="an old refusal"),
        ):
            s.emit(event)
        s.clock.tick(3)
        s.emit(NoticeRaised(level=NoticeLevel.WARNING, text="a new warning"))
        await s.show()
        assert s.toasts() == "a new warning"
