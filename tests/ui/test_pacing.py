"""The pace of the console: keys first, and no more panels a frame than it can afford."""

from __future__ import annotations

import pytest

from dashboard.ui.pacing import (
    COVERED_SECONDS,
    LONGEST_HOLD_SECONDS,
    QUIET_SECONDS,
    SLICE_SECONDS,
    SLOW_SECONDS,
    Pacing,
)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def frame(pacing: Pacing, clock: Clock, panels: int, seconds: float, painting: float = 0.0) -> None:
    pacing.begin()
    clock.now += seconds
    pacing.drew(panels)
    pacing.painted(painting)
    pacing.begin()


def test_a_frame_waits_until_the_echo_of_a_key_is_drawn(clock: Clock) -> None:
    pacing = Pacing(clock)
    pacing.begin()
    clock.now += 0.03
    pacing.key()
    assert not pacing.due()
    clock.now += QUIET_SECONDS * 1.01
    assert pacing.due()


def test_who_types_without_a_pause_still_sees_the_agents_go_on(clock: Clock) -> None:
    pacing = Pacing(clock)
    pacing.begin()
    pacing.key()
    keys = 0
    while not pacing.due():
        clock.now += 0.01
        keys += 1
        pacing.key()
    assert LONGEST_HOLD_SECONDS <= keys * 0.01 + 0.001 < LONGEST_HOLD_SECONDS + 0.02


def test_under_something_else_frames_are_rare(clock: Clock) -> None:
    pacing = Pacing(clock)
    pacing.begin()
    clock.now += 0.1
    assert pacing.due()
    assert not pacing.due(covered=True)
    clock.now += COVERED_SECONDS
    assert pacing.due(covered=True)


def test_a_frame_that_is_fast_enough_draws_every_panel(clock: Clock) -> None:
    pacing = Pacing(clock)
    frame(pacing, clock, 50, SLOW_SECONDS / 2, SLOW_SECONDS / 3)
    assert pacing.most is None


@pytest.mark.parametrize(("own", "painting"), [(2.0, 0.0), (0.5, 1.5), (0.0, 2.0)])
def test_after_a_slow_one_as_many_panels_as_fit_whoever_took_the_time(
    clock: Clock, own: float, painting: float
) -> None:
    pacing = Pacing(clock)
    frame(pacing, clock, 50, own * SLOW_SECONDS, painting * SLOW_SECONDS)
    assert pacing.most in (24, 25)


def test_one_panel_is_always_drawn(clock: Clock) -> None:
    pacing = Pacing(clock)
    frame(pacing, clock, 3, 100 * SLOW_SECONDS)
    assert pacing.most == 1


def test_it_finds_back_to_all_of_them(clock: Clock) -> None:
    pacing = Pacing(clock)
    frame(pacing, clock, 50, 10 * SLOW_SECONDS)
    frames = 0
    while (most := pacing.most) is not None:
        frame(pacing, clock, min(50, most), SLOW_SECONDS / 4)
        frames += 1
        assert frames < 30
    assert pacing.most is None


def test_a_frame_without_panels_says_nothing_about_their_cost(clock: Clock) -> None:
    pacing = Pacing(clock)
    frame(pacing, clock, 50, 10 * SLOW_SECONDS)
    most = pacing.most
    frame(pacing, clock, 0, SLOW_SECONDS)
    assert pacing.most == most


def test_a_slice_ends(clock: Clock) -> None:
    in_slice = Pacing(clock).in_slice()
    assert in_slice()
    clock.now += SLICE_SECONDS
    assert not in_slice()
