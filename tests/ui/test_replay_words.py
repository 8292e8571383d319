"""What is said of a recording, as plain text: every kind of record has words, whatever they are about."""

from __future__ import annotations

import msgspec
import pytest

from dashboard.core import events as e
from dashboard.core.messages import ReturnReason
from dashboard.core.outcomes import Outcome
from dashboard.core.playback import Standing
from dashboard.core.projection import Projection
from dashboard.core.records import Record
from dashboard.ui.glyphs import UNICODE
from dashboard.ui.replay_words import event_words, standing_facts
from tests.core.recordings import START, WRITER, WRONG, delivered, queued, started

STANDING = Standing(playing=True, speed=1.0, now=START, seq=1, total=3_201)


def words(*told: e.KnownEvent | e.Unknown) -> str:
    """The words for the last of some events."""
    records = [Record(seq, START, event) for seq, event in enumerate((started("r"), *told), 1)]
    projection = Projection()
    projection.fold(records)
    return event_words(records[-1], projection)


def facts(standing: Standing, shown: int = 1) -> list[str]:
    projection = Projection()
    projection.fold([Record(seq, START, started(f"r{seq}")) for seq in range(1, shown + 1)])
    return [text for text, _ in standing_facts(standing, projection, UNICODE)]


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ([queued("m")], "operator ana wrote to main"),
        ([queued("m", WRITER)], "agent main wrote to main"),
        ([queued("m"), delivered("m")], "main read operator ana's message in round 1"),
        ([delivered("m")], "main read a message in round 1"),
        ([queued("m"), e.MessageExpired(message_id="m")], "came back unread: its time had passed"),
        ([queued("m"), e.MessageWithdrawn(message_id="m", by="bob")], "came back unread: withdrawn by bob"),
        ([queued("m"), e.MessageReturned(message_id="m", reason=ReturnReason.HOST_LOST)], "the host process died"),
        ([e.RunFinished(run_id="r", outcome=Outcome.LOST)], "main ended: its host died"),
        ([e.RunFinished(run_id="r", outcome=Outcome.ANSWERED)], "main ended: answered"),
        (
            [e.ToolReturned(run_id="r", round=1, tool_call_id="c", text="t", is_error=True)],
            "a tool of main failed",
        ),
        ([e.ControlRefused(control_id="k", reason="it has ended")], "the host refused a request: it has ended"),
        ([e.RunBlocked(run_id="r", on="journal")], "main is blocked: journal"),
        ([e.NoticeRaised(level=e.NoticeLevel.NOTE, text="by the way")], "the session: by the way"),
        ([e.TurnStarted(run_id="r", turn=1)], "main: turn started"),
        ([e.Unknown("Danced", "{}", "r")], "main: Danced"),
    ],
)
def test_a_record_is_told_in_a_line(told: list[e.KnownEvent | e.Unknown], says: str) -> None:
    assert says in words(*told)


@pytest.mark.parametrize("event", WRONG)
def test_everything_that_goes_wrong_has_words(event: e.KnownEvent) -> None:
    assert len(words(event)) > 10


def test_foreign_words_are_made_safe_and_cut() -> None:
    hostile = "\x1b[31m\n\u202e" + "x" * 500
    said = words(msgspec.structs.replace(queued("m"), to=hostile))
    assert "<1B>[31m ⏎ <202E>xxx" in said
    assert len(said) <= 120


class TestWhereItIs:
    def test_the_word_the_speed_the_time_and_the_place(self) -> None:
        badge, time, place = facts(STANDING)
        assert badge == " REPLAY ▶ 1x "
        assert time.count(":") == 2
        assert place == "event 1 of 3,201"

    def test_paused_is_a_glyph_and_a_word(self) -> None:
        paused = Standing(playing=False, speed=0.25, now=START, seq=1, total=3_201)
        assert facts(paused)[0] == " REPLAY ‖ paused 0.25x "

    def test_a_gap_that_was_left_out(self) -> None:
        skipping = Standing(playing=True, speed=1.0, now=START, seq=1, total=9, skipped=838_000_000)
        assert facts(skipping)[1] == "idle 13m58s skipped"

    def test_the_end_is_told_once_it_is_drawn(self) -> None:
        ended = Standing(playing=True, speed=1.0, now=START, seq=3, total=3)
        assert facts(ended, shown=2)[1:3] == [facts(STANDING)[1], "event 2 of 3"]
        assert facts(ended, shown=3)[1] == "end of the recording"

    @pytest.mark.parametrize(
        ("complete", "says"), [(True, "the recording is empty"), (False, "nothing is recorded yet")]
    )
    def test_where_there_is_nothing_there_is_no_time_and_no_place(self, complete: bool, says: str) -> None:
        empty = Standing(playing=True, speed=1.0, now=0, seq=0, total=0, complete=complete)
        assert facts(empty, shown=0) == [" REPLAY ▶ 1x ", says]
