"""Playing a recording: what is shown when, whatever the operator presses."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.core import events as e
from dashboard.core.history import User
from dashboard.core.playback import IDLE, PAGE, SAID, SPEEDS, Playback
from dashboard.core.records import Record
from tests.core.recordings import (
    DELTAS,
    FINE,
    START,
    WRONG,
    FakeRecording,
    delivered,
    delta,
    moves,
    queued,
    record,
    recordings,
    wrong,
)

SECOND = 1_000_000
Press = Callable[[Playback], object]
presses: st.SearchStrategy[Press] = st.one_of(
    st.integers(0, 30 * SECOND).map(lambda elapsed: lambda playback: playback.advance(elapsed)),
    st.sampled_from(
        (
            Playback.toggle, Playback.faster, Playback.slower, Playback.step, Playback.next_message,
            Playback.next_error,
        )
    ),
)  # fmt: skip
short = st.integers(0, IDLE)


def played(*gaps: int, speed: float = 1.0) -> Playback:
    """A recording of events with these gaps between them."""
    return Playback(FakeRecording(record([FINE[-1]] * (len(gaps) + 1), (0, *gaps))), speed)


class TestEverything:
    @given(recordings(), st.lists(presses, max_size=40))
    def test_every_record_is_shown_in_order_once_and_none_is_left_out(
        self, records: list[Record], pressed: list[Press]
    ) -> None:
        recording = FakeRecording(records)
        playback = Playback(recording)
        shown: list[Record] = []
        for press in pressed:
            before = playback.seq
            press(playback)
            assert playback.seq >= before
            while len(shown) < playback.seq:  # as a session reads it
                shown.extend(recording.page(len(shown), playback.seq - len(shown)))
        assert shown == records[: playback.seq]
        while playback.step() is not None:
            pass
        assert playback.seq == len(records)
        assert playback.standing().at_end

    @given(recordings())
    def test_it_never_asks_for_more_than_a_page(self, records: list[Record]) -> None:
        recording = FakeRecording(records)
        playback = Playback(recording)
        playback.skip_to(len(records) // 2)
        playback.next_error()
        playback.advance(10 * SECOND)
        assert recording.longest <= PAGE

    @given(recordings(), st.integers(0, 60 * SECOND), st.sampled_from(SPEEDS), st.data())
    def test_time_in_pieces_is_the_same_as_time_at_once(
        self, records: list[Record], elapsed: int, speed: float, data: st.DataObject
    ) -> None:
        cuts = sorted(data.draw(st.lists(st.integers(0, elapsed), max_size=8)))
        pieces, whole = Playback(FakeRecording(records), speed), Playback(FakeRecording(records), speed)
        for start, end in pairwise((0, *cuts, elapsed)):
            pieces.advance(end - start)
        whole.advance(elapsed)
        assert (pieces.seq, pieces.now) == (whole.seq, whole.now)


class TestTime:
    @given(recordings(gaps=short).filter(bool), st.data())
    def test_without_long_gaps_a_recording_takes_as_long_as_it_took(
        self, records: list[Record], data: st.DataObject
    ) -> None:
        length = records[-1].at - records[0].at
        playback = Playback(FakeRecording(records))
        before_last = next((found.at for found in records[::-1] if found.at < records[-1].at), None)
        elapsed = data.draw(st.integers(0, max(0, length - 1)))
        playback.advance(elapsed)
        if before_last is not None:
            assert playback.seq < len(records)
            assert playback.now == records[0].at + elapsed
        playback.advance(length - elapsed)
        assert (playback.seq, playback.now) == (len(records), records[-1].at)

    @given(recordings(), st.sampled_from(SPEEDS), st.integers(0, 15 * SECOND))
    def test_the_speed_divides_the_time(self, records: list[Record], speed: float, quarter: int) -> None:
        real = 4 * quarter  # so that a quarter of it is whole
        fast, plain = Playback(FakeRecording(records), speed), Playback(FakeRecording(records))
        fast.advance(real)
        plain.advance(int(real * speed))
        assert (fast.seq, fast.now) == (plain.seq, plain.now)

    def test_the_first_record_is_there_at_once(self) -> None:
        playback = played(SECOND)
        playback.advance(0)
        assert (playback.seq, playback.now) == (1, START)

    def test_a_gap_of_two_seconds_is_kept_and_nothing_is_said_of_it(self) -> None:
        playback = played(IDLE)
        playback.advance(IDLE - 1)
        assert playback.seq == 1
        playback.advance(1)
        assert playback.seq == 2
        assert playback.standing().skipped == 0

    def test_a_longer_one_is_cut_to_two_seconds_and_what_was_left_out_is_told_for_a_while(self) -> None:
        playback = played(14 * 60 * SECOND, 30 * SECOND, 1)
        playback.advance(IDLE - 1)
        assert (playback.seq, playback.now) == (1, START + IDLE - 1)
        playback.advance(1)
        assert (playback.seq, playback.now) == (2, START + 14 * 60 * SECOND)
        assert playback.standing().skipped == 14 * 60 * SECOND - IDLE
        playback.advance(IDLE)
        assert playback.standing().skipped == 30 * SECOND - IDLE
        playback.advance(SAID)
        assert playback.standing().skipped == 0

    def test_a_jump_passes_over_a_gap_without_a_word(self) -> None:
        playback = played(60 * SECOND, SECOND)
        playback.advance(IDLE)
        assert playback.standing().skipped
        playback.step()
        assert playback.standing().skipped == 0

    def test_a_clock_that_was_set_back_takes_no_time_and_the_next_gap_counts_from_there(self) -> None:
        playback = played(-3_600 * SECOND, SECOND)
        playback.advance(0)
        assert (playback.seq, playback.now) == (2, START - 3_600 * SECOND)
        playback.advance(SECOND - 1)
        assert playback.seq == 2
        playback.advance(1)
        assert playback.seq == 3

    def test_while_it_is_paused_no_time_passes(self) -> None:
        playback = played(SECOND)
        playback.advance(SECOND // 2)
        playback.toggle()
        playback.advance(60 * SECOND)
        assert (playback.seq, playback.now) == (1, START + SECOND // 2)
        playback.toggle()
        playback.advance(SECOND // 2)
        assert playback.seq == 2

    def test_the_speed_doubles_and_halves_between_its_bounds(self) -> None:
        playback = played(SECOND)
        seen = []
        for _ in range(9):
            playback.faster()
            seen.append(playback.standing().speed)
        assert seen == [2, 4, 8, 16, 32, 64, 64, 64, 64]
        for _ in range(12):
            playback.slower()
        assert playback.standing().speed == 0.25
        playback.advance(4 * SECOND - 1)
        assert playback.seq == 1
        playback.advance(1)
        assert playback.seq == 2

    def test_a_speed_that_is_none_of_them_is_refused(self) -> None:
        with pytest.raises(ValueError, match="got 3"):
            played(SECOND, speed=3)


class TestJumps:
    @given(recordings(), st.lists(st.sampled_from(("message", "error", "step")), max_size=20))
    def test_each_goes_where_a_plain_look_finds_it_and_pauses_or_says_that_there_is_none(
        self, records: list[Record], wanted: list[str]
    ) -> None:
        playback = Playback(FakeRecording(records))
        found = {
            "message": moves(records),
            "error": wrong(records),
            "step": [each.seq for each in records if each.event not in DELTAS] + [len(records)],
        }
        go = {"message": playback.next_message, "error": playback.next_error, "step": playback.step}
        for what in wanted:
            before = playback.standing()
            target = next((seq for seq in found[what] if seq > before.seq), None)
            record = go[what]()
            if target is None:
                assert record is None
                assert playback.standing() == before
            else:
                assert record is not None
                assert (record.seq, playback.seq, playback.now) == (target, target, record.at)
                assert not playback.standing().playing
                assert playback.jumped_to == target

    def test_a_delivery_comes_with_the_entry_that_the_message_became(self) -> None:
        entry = e.HistoryAppended(run_id="r", index=1, entry=User("b"))
        other = e.HistoryAppended(run_id="s", index=1, entry=User("b"))
        for following, seq in ((entry, 3), (other, 2)):
            events = (queued("m"), delivered("m"), following)
            playback = Playback(FakeRecording(record(events, (0, 0, 0))))
            playback.next_message()
            found = playback.next_message()
            assert found is not None
            assert (found.seq, playback.seq) == (2, seq)

    @pytest.mark.parametrize(
        "pass_over",
        [lambda it: it.skip_to(2), lambda it: it.advance(0), Playback.step, Playback.next_error],
        ids=["skipped", "played", "stepped", "jumped"],
    )
    def test_a_delivery_is_an_operators_however_the_message_itself_was_passed(self, pass_over: Press) -> None:
        events = (queued("m"), WRONG[0], delta(), delivered("m"))
        playback = Playback(FakeRecording(record(events, (0, 0, 0, 600 * SECOND))))
        pass_over(playback)
        assert 1 <= playback.seq <= 3
        found = playback.next_message()
        assert found is not None
        assert found.seq == 4

    def test_a_step_passes_over_text_that_streams_and_ends_with_it_where_nothing_else_is_left(self) -> None:
        events = (FINE[-1], *DELTAS, FINE[-1], *DELTAS)
        playback = Playback(FakeRecording(record(events, (0,) * len(events))))
        reached = []
        while (found := playback.step()) is not None:
            reached.append(found.seq)
        assert reached == [1, 4, 6]

    @given(recordings(), st.integers(-3, 30))
    def test_what_is_skipped_to_is_shown_at_once_and_it_plays_on(self, records: list[Record], seq: int) -> None:
        playback = Playback(FakeRecording(records))
        playback.skip_to(seq)
        assert playback.seq == max(0, min(seq, len(records)))
        assert playback.jumped_to == playback.seq
        assert playback.standing().playing

    @given(recordings(), st.lists(presses, max_size=20), st.integers(0, 60 * SECOND))
    def test_a_restart_is_as_if_nothing_had_been_shown(
        self, records: list[Record], pressed: list[Press], elapsed: int
    ) -> None:
        again, fresh = Playback(FakeRecording(records)), Playback(FakeRecording(records))
        for press in pressed:
            press(again)
        again.restart()
        while (speed := again.standing().speed) != 1:
            (again.slower if speed > 1 else again.faster)()
        assert again.standing() == fresh.standing()
        again.advance(elapsed)
        fresh.advance(elapsed)
        assert again.standing() == fresh.standing()


class TestTheEnd:
    def test_a_recording_without_records_stands_at_its_end_at_no_time(self) -> None:
        playback = Playback(FakeRecording([]))
        playback.advance(SECOND)
        standing = playback.standing()
        assert (standing.at_end, standing.total, standing.now) == (True, 0, 0)
        assert playback.step() is playback.next_message() is playback.next_error() is None

    def test_at_the_end_the_recorded_time_stands_still(self) -> None:
        playback = played(SECOND)
        playback.advance(60 * SECOND)
        assert playback.now == START + SECOND

    def test_what_a_session_that_lives_adds_is_shown_at_once_and_was_not_idle(self) -> None:
        recording = FakeRecording(record([FINE[0]] * 3, (0, SECOND, 600 * SECOND)), complete=False)
        last = recording.records.pop()
        playback = Playback(recording)
        playback.advance(SECOND)
        assert playback.standing().at_end
        assert not playback.standing().complete
        playback.advance(SECOND)
        recording.records.append(last)
        playback.advance(0)
        assert (playback.seq, playback.now) == (3, last.at)
        assert playback.standing().skipped == 0
