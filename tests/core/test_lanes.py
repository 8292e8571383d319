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


@given(st.lists(st.tuples(st.sampled_from(Lane), st.booleans())))
def test_send_is_the_primitive_and_allows_all_four_combinations(sends: list[tuple[Lane, bool]]) -> None:
    lanes = Lanes()
    for target, wake in sends:
        lanes = lanes.send("text", target, wake)
    assert lanes.count == len(sends)
    assert lanes.pending == bool(sends)
    assert lanes.wake == any(wake for _, wake in sends)
    assert lanes.extends == any(wake for target, wake in sends if target is Lane.NEXT_STEP)


def test_the_example_of_the_seed() -> None:
    lanes = Lanes().inject("recall: the deploy is frozen").steer("stop and summarize")
    assert lanes.wake
    claimed, lanes = lanes.claim(Lane.NEXT_STEP)
    assert [message.body for message in claimed] == ["recall: the deploy is frozen", "stop and summarize"]
    assert not lanes.pending


def test_a_message_keeps_its_own_lane_unless_another_is_named() -> None:
    followup = message("later", Preset.FOLLOWUP)
    assert Lanes().send(followup).next_turn == (followup,)
    (moved,) = Lanes().steer(followup).next_step
    assert (moved.id, moved.lane, moved.wake) == (followup.id, Lane.NEXT_STEP, True)


def test_texts_are_numbered_without_repeating_a_number_that_was_claimed() -> None:
    _, lanes = Lanes().steer("a").claim(Lane.NEXT_STEP)
    assert lanes.followup("b").next_turn[0].id == "msg_2"


def test_an_inject_wakes_nobody_and_a_follow_up_wakes_without_extending() -> None:
    assert not filled(Preset.INJECT).wake
    assert filled(Preset.INJECT, Preset.STEER).extends
    follow_up = filled(Preset.FOLLOWUP)
    assert follow_up.wake
    assert not follow_up.extends
