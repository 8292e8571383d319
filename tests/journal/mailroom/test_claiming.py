"""What a boundary reads, and what the end of a run is extended by (A2, A8, A9, A13, A14, T1 to T6)."""

from __future__ import annotations

import pytest

from dashboard.core.events import HistoryAppended, MessageDelivered, MessageExpired, MessageReturned, RunFinished
from dashboard.core.history import User
from dashboard.core.mail import BoundaryKind
from dashboard.core.messages import Hold, Preset, ReturnReason, Sender, SenderKind
from dashboard.core.outcomes import Outcome
from dashboard.journal import mailroom
from tests.journal.conftest import Desk, boundary

R1, R2 = "run_1", "run_2"
OPENS = [BoundaryKind.TURN_OPEN, BoundaryKind.WAKE]


@pytest.fixture
def root(desk: Desk) -> Desk:
    desk.start(R1, "main")
    return desk


class TestATake:
    def test_a_delivery_stands_once_in_the_history_at_its_index_and_round(self, root: Desk) -> None:
        root.send(R1, "  as typed\n")
        root.take(R1)
        assert root.events(HistoryAppended) == [HistoryAppended(run_id=R1, index=2, entry=User("  as typed\n"))]
        assert root.events(MessageDelivered) == [
            MessageDelivered(run_id=R1, turn=1, round=2, history_index=2, message_id="msg_001")
        ]
        assert root.state("msg_001") == ("delivered", None)
        assert root.stored("msg_001").round == 2
        assert root.take(R1) == []

    def test_several_messages_stand_one_behind_the_other(self, root: Desk) -> None:
        for text in ("one", "two"):
            root.send(R1, text)
        root.take(R1)
        assert [(event.index, event.entry) for event in root.events(HistoryAppended)] == [
            (2, User("one")),
            (3, User("two")),
        ]

    def test_a_loop_that_has_lost_count_of_its_history_reads_nothing(self, root: Desk) -> None:
        root.send(R1, "one")
        root.take(R1)
        root.send(R1, "two")
        with pytest.raises(ValueError, match="has mail at index 2"), root.ledger.transaction():
            mailroom.take(root.ledger, R1, boundary(index=2), root.clock())
        assert root.state("msg_002") == ("queued", None)

    def test_a_turn_opens_with_next_turn_and_then_next_step(self, root: Desk) -> None:
        root.send(R1, "steer", Preset.STEER)
        root.send(R1, "follow-up", Preset.FOLLOWUP)
        assert root.take(R1, BoundaryKind.TURN_OPEN) == ["follow-up", "steer"]

    @pytest.mark.parametrize(
        "kind", [BoundaryKind.AFTER_TOOLS, BoundaryKind.DEGENERATE, BoundaryKind.WRAP_UP, BoundaryKind.RETRY]
    )
    def test_within_a_turn_only_next_step_is_read(self, root: Desk, kind: BoundaryKind) -> None:
        root.send(R1, "follow-up", Preset.FOLLOWUP)
        root.send(R1, "inject", Preset.INJECT)
        assert root.take(R1, kind) == ["inject"]

    def test_an_inject_alone_does_not_extend_a_final_turn_but_rides_along_with_a_steer(self, root: Desk) -> None:
        root.send(R1, "inject", Preset.INJECT)
        assert root.take(R1, BoundaryKind.FINAL) == []
        root.send(R1, "steer")
        assert root.take(R1, BoundaryKind.FINAL) == ["inject", "steer"]

    def test_a_follow_up_does_not_extend_a_final_turn(self, root: Desk) -> None:
        root.send(R1, "inject", Preset.INJECT)
        root.send(R1, "follow-up", Preset.FOLLOWUP)
        assert root.take(R1, BoundaryKind.FINAL) == []

    def test_agent_mail_never_resets_the_budget(self, root: Desk) -> None:
        root.send(R1, root.message("from a sibling", sender=Sender(SenderKind.AGENT, "subagent-a#1", R2)))
        root.send(R1, "from ana")
        root.send(R1, "by the way", Preset.INJECT)
        taken = root.deliver(R1)
        assert [(delivered.wakes, delivered.resets_budget) for delivered in taken] == [
            (True, False),
            (True, True),
            (False, False),
        ]


class TestWaking:
    def test_an_inject_alone_starts_no_idle_root(self, root: Desk) -> None:
        root.send(R1, "inject", Preset.INJECT)
        assert root.take(R1, BoundaryKind.WAKE) == []
        assert root.state("msg_001") == ("queued", None)

    @pytest.mark.parametrize("preset", [Preset.STEER, Preset.FOLLOWUP])
    def test_what_wakes_an_idle_root_takes_all_that_waits_along(self, root: Desk, preset: Preset) -> None:
        root.send(R1, "inject", Preset.INJECT)
        root.send(R1, "waking", preset)
        assert sorted(root.take(R1, BoundaryKind.WAKE)) == ["inject", "waking"]

    def test_what_is_held_or_stale_wakes_nobody(self, root: Desk) -> None:
        root.send(R1, "held")
        root.amend("msg_001", Hold())
        root.send(R1, root.message("stale", expires_in=1))
        root.send(R1, "inject", Preset.INJECT)
        root.clock.tick(2)
        assert root.take(R1, BoundaryKind.WAKE) == []

    def test_the_mail_of_another_run_wakes_nobody_here(self, root: Desk) -> None:
        root.start(R2, "subagent-a")
        root.send(R2, "for the child")
        assert root.take(R1, BoundaryKind.WAKE) == []


class TestOneFollowUpATurn:
    @pytest.mark.parametrize("kind", OPENS)
    def test_a_turn_opens_with_the_first_follow_up_and_all_of_next_step(
        self, root: Desk, kind: BoundaryKind
    ) -> None:
        for text in ("y1", "y2"):
            root.send(R1, text, Preset.FOLLOWUP)
        for text in ("x1", "x2"):
            root.send(R1, text)
        assert root.take(R1, kind, one_followup=True) == ["y1", "x1", "x2"]
        assert root.take(R1, kind, one_followup=True) == ["y2"]

    def test_the_first_that_can_be_read_is_the_first(self, root: Desk) -> None:
        root.send(R1, "held", Preset.FOLLOWUP)
        root.amend("msg_001", Hold())
        root.send(R1, root.message("stale", Preset.FOLLOWUP, expires_in=1))
        root.send(R1, "y", Preset.FOLLOWUP)
        root.clock.tick(2)
        assert root.take(R1, BoundaryKind.TURN_OPEN, one_followup=True) == ["y"]

    def test_the_end_of_a_sub_agents_turn_opens_another_with_one(self, root: Desk) -> None:
        for text in ("y1", "y2"):
            root.send(R1, text, Preset.FOLLOWUP)
        assert root.finish(R1, one_followup=True) == [("y1", True)]
        assert root.finish(R1, one_followup=True) == [("y2", True)]
        assert root.finish(R1, one_followup=True) == []


class TestLimits:
    def test_one_boundary_takes_at_most_32_messages_and_the_rest_keep_their_place(self, root: Desk) -> None:
        for number in range(33):
            root.send(R1, str(number))
        assert root.take(R1) == [str(number) for number in range(32)]
        assert root.take(R1) == ["32"]

    def test_one_boundary_takes_at_most_64_kib_but_always_the_first(self, root: Desk) -> None:
        for letter in "abc":
            root.send(R1, letter * 40_000)
        assert [text[0] for text in root.take(R1)] == ["a"]
        assert [text[0] for text in root.take(R1)] == ["b"]

    def test_a_size_is_counted_in_bytes(self, root: Desk) -> None:
        for letter in "éüö":
            root.send(R1, letter * 20_000)
        assert [text[0] for text in root.take(R1)] == ["é"]

    def test_the_limits_are_those_of_both_lanes_together(self, root: Desk) -> None:
        for number in range(20):
            root.send(R1, f"y{number}", Preset.FOLLOWUP)
            root.send(R1, f"x{number}")
        taken = root.take(R1, BoundaryKind.TURN_OPEN)
        assert taken == [f"y{number}" for number in range(20)] + [f"x{number}" for number in range(12)]

    def test_stale_messages_take_no_room_however_many_they_are(self, root: Desk) -> None:
        for number in range(100):
            root.send(R1, root.message(f"stale {number}", expires_in=1))
        root.send(R1, "fresh")
        root.clock.tick(2)
        assert root.take(R1) == ["fresh"]
        assert len(root.events(MessageExpired)) == 100

    def test_held_messages_take_no_room_however_many_they_are(self, root: Desk) -> None:
        for _ in range(100):
            root.amend(root.send(R1, "held").message_id, Hold())
        root.send(R1, "free")
        assert root.take(R1) == ["free"]


class TestExpiry:
    def test_expiry_is_tested_at_the_claim(self, root: Desk) -> None:
        message = root.message("soon stale", expires_in=1)
        root.send(R1, message)
        root.clock.tick(2)
        assert root.state(message.id) == ("queued", None)
        assert root.take(R1) == []
        assert root.events(MessageExpired) == [MessageExpired(message_id=message.id, run_id=R1)]
        assert root.state(message.id) == ("expired", None)

    def test_a_message_is_fresh_up_to_its_last_microsecond(self, root: Desk) -> None:
        root.send(R1, root.message("just in time", expires_in=1))
        root.clock.tick(1)
        assert root.take(R1) == ["just in time"]


class TestTheEndOfARun:
    def test_a_late_steer_is_read_instead_of_the_end(self, root: Desk) -> None:
        root.send(R1, "wait")
        assert root.finish(R1) == [("wait", False)]
        assert root.events(RunFinished) == []

    def test_a_follow_up_opens_another_turn_of_the_same_run(self, root: Desk) -> None:
        root.send(R1, "and then?", Preset.FOLLOWUP)
        assert root.finish(R1) == [("and then?", True)]
        assert root.events(MessageDelivered)[0].turn == 2
        assert root.finish(R1) == []

    def test_a_steer_is_read_before_a_follow_up_opens_a_turn(self, root: Desk) -> None:
        root.send(R1, "and then?", Preset.FOLLOWUP)
        root.send(R1, "wait")
        assert root.finish(R1) == [("wait", False)]
        assert root.finish(R1) == [("and then?", True)]

    def test_a_follow_up_that_wakes_nobody_opens_no_turn(self, root: Desk) -> None:
        with root.ledger.transaction():
            message = root.message("whenever", Preset.FOLLOWUP)
            quiet = type(message)(message.id, message.body, message.lane, False, message.sender, 0)
            mailroom.accept(root.ledger, R1, quiet, root.clock())
        assert root.finish(R1) == []

    def test_an_inject_comes_back_with_the_end_of_its_run(self, root: Desk) -> None:
        root.send(R1, "by the way", Preset.INJECT)
        assert root.finish(R1) == []
        assert root.state("msg_001") == ("undeliverable", "run_ended")
        assert root.events(MessageReturned) == [
            MessageReturned(message_id="msg_001", reason=ReturnReason.RUN_ENDED, run_id=R1)
        ]

    @pytest.mark.parametrize(
        ("outcome", "reason"),
        [
            (Outcome.CANCELLED, ReturnReason.CANCELLED),
            (Outcome.ERROR, ReturnReason.RUN_ENDED),
            (Outcome.WRAP_UP, ReturnReason.RUN_ENDED),
        ],
    )
    def test_a_steer_extends_an_answer_and_nothing_else(
        self, root: Desk, outcome: Outcome, reason: ReturnReason
    ) -> None:
        root.send(R1, "wait")
        assert root.finish(R1, outcome) == []
        assert root.state("msg_001") == ("undeliverable", reason)

    def test_a_wrap_up_ends_its_turn_and_a_follow_up_opens_another_with_what_waits(self, root: Desk) -> None:
        root.send(R1, "wait")
        root.send(R1, "and then?", Preset.FOLLOWUP)
        assert root.finish(R1, Outcome.WRAP_UP) == [("and then?", True), ("wait", True)]

    @pytest.mark.parametrize("outcome", [Outcome.CANCELLED, Outcome.ERROR])
    def test_a_follow_up_opens_no_turn_after_a_failure(self, root: Desk, outcome: Outcome) -> None:
        root.send(R1, "and then?", Preset.FOLLOWUP)
        assert root.finish(R1, outcome) == []


def test_an_event_of_another_buss_mail_is_recorded_and_changes_nothing(root: Desk) -> None:
    root.append(MessageDelivered(run_id=R1, turn=1, round=1, history_index=1, message_id="msg_elsewhere"))
    root.append(MessageDelivered(run_id=R1, turn=1, round=1, history_index=2))
    assert len(root.events(MessageDelivered)) == 2
    assert root.ledger.messages() == []


def test_a_message_that_came_to_its_end_has_no_other(root: Desk) -> None:
    root.send(R1, "hello")
    root.take(R1)
    root.append(MessageReturned(message_id="msg_001", reason=ReturnReason.RUN_ENDED, run_id=R1))
    assert root.state("msg_001") == ("delivered", None)
