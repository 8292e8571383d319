"""The two-lane inbox value (T5)."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dashboard.core.lanes import Lanes
from dashboard.core.messages import Lane, Message, Preset, Sender, SenderKind

ANA = Sender(SenderKind.OPERATOR, "ana")


def message(body: str, preset: Preset = Preset.STEER) -> Message:
    return Message(f"msg_{body}", body, preset.lane, preset.wake, ANA, 0)


def filled(*presets: Preset) -> Lanes:
    lanes = Lanes()
    for number, preset in enumerate(presets):
        lanes = lanes.send(message(str(number), preset))
    return lanes


PRESETS = st.lists(st.sampled_from(Preset))


@given(PRESETS)
def test_each_lane_is_first_in_first_out_and_neither_takes_from_the_other(presets: list[Preset]) -> None:
    lanes = filled(*presets)
    for lane in Lane:
        claimed, _ = lanes.claim(lane)
        assert [sent.body for sent in claimed] == [
            str(at) for at, preset in enumerate(presets) if preset.lane is lane
        ]


@given(PRESETS)
def test_claiming_gives_the_drained_value_and_changes_nothing(presets: list[Preset]) -> None:
    lanes = filled(*presets)
    before = lanes
    claimed, drained = lanes.claim(Lane.NEXT_STEP)
    assert lanes == before
    assert drained.count == lanes.count - len(claimed)
    assert drained.claim(Lane.NEXT_STEP)[0] == ()


@given(PRESETS)
def test_a_value_comes_back_equal_from_json(presets: list[Preset]) -> None:
    lanes = filled(*presets)
    assert msgspec.json.decode(msgspec.json.encode(lanes), type=Lanes) == lanes


def test_an_inject_wakes_nobody_and_a_follow_up_wakes_without_extending() -> None:
    assert not filled(Preset.INJECT).wake
    assert filled(Preset.INJECT, Preset.STEER).extends
    follow_up = filled(Preset.FOLLOWUP)
    assert follow_up.wake
    assert not follow_up.extends
