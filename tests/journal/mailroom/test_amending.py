"""While a message is open it can be withdrawn, edited, held and promoted; afterwards it is too late (A10)."""

from __future__ import annotations

import pytest

from dashboard.core.errors import SendRefusedError
from dashboard.core.events import HostStarted, MessageEdited, MessageHeld, MessagePromoted, MessageWithdrawn
from dashboard.core.mail import BoundaryKind
from dashboard.core.messages import (
    REASONS,
    Amendment,
    Edit,
    Hold,
    Lane,
    MessageState,
    Preset,
    Promote,
    Receipt,
    Refusal,
    ReturnReason,
    Sender,
    SenderKind,
    Withdraw,
)
from dashboard.core.outcomes import Outcome
from tests.journal.conftest import Desk

R1 = "run_1"
RESEARCHER = "subagent-researcher"
EVERY_CHANGE = [Withdraw(), Edit("other"), Hold(), Hold(held=False), Promote()]


def refused(desk: Desk, message_id: str, change: Amendment, by: Sender | None = None) -> SendRefusedError:
    before = desk.ledger.records(0, 100_000)
    with pytest.raises(SendRefusedError) as caught:
        desk.amend(message_id, change, by) if by else desk.amend(message_id, change)
    assert desk.ledger.records(0, 100_000) == before
    return caught.value


@pytest.fixture
def queued(desk: Desk) -> Desk:
    """A researcher with one steer that it has not read."""
    desk.start(R1, RESEARCHER)
    desk.send(R1, "one")
    return desk


class TestWithdraw:
    def test_a_withdrawn_message_is_never_read(self, queued: Desk) -> None:
        receipt = queued.amend("msg_001", Withdraw())
        assert receipt == Receipt("msg_001", f"{RESEARCHER}#1", R1, MessageState.WITHDRAWN)
        assert queued.events(MessageWithdrawn) == [MessageWithdrawn(message_id="msg_001", by="ana", run_id=R1)]
        assert queued.take(R1) == []
        assert queued.finish(R1) == []
        assert queued.state("msg_001") == ("withdrawn", None)

    def test_its_place_among_the_open_ones_is_free_again(self, queued: Desk) -> None:
        queued.amend("msg_001", Withdraw())
        assert queued.ledger.count_open(R1) == 0

    def test_it_can_be_withdrawn_before_it_has_a_run(self, desk: Desk) -> None:
        desk.append(HostStarted(pid=1, version="0", title="t", labels=("subagent-writer",)))
        desk.send("subagent-writer", "keep it short")
        desk.amend("msg_001", Withdraw())
        desk.start("run_w", "subagent-writer")
        assert desk.take("run_w", BoundaryKind.TURN_OPEN) == []

    def test_a_message_is_read_or_withdrawn_whoever_is_first_and_never_both(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        for number in range(1_000):
            message_id = desk.send(R1, f"m{number}").message_id
            if number % 2:
                desk.amend(message_id, Withdraw())
                assert desk.take(R1) == []
            else:
                assert desk.take(R1) == [f"m{number}"]
                assert refused(desk, message_id, Withdraw()).refusal is Refusal.TOO_LATE
        states = [message.state for message in desk.ledger.messages()]
        assert states == [MessageState.DELIVERED, MessageState.WITHDRAWN] * 500


class TestEdit:
    def test_an_edit_is_what_is_read_and_keeps_its_place(self, queued: Desk) -> None:
        queued.send(R1, "two")
        receipt = queued.amend("msg_001", Edit("uno"))
        assert receipt.state is MessageState.QUEUED
        assert queued.events(MessageEdited) == [
            MessageEdited(message_id="msg_001", body="uno", by="ana", run_id=R1)
        ]
        message = queued.stored("msg_001")
        assert (message.body, message.original.body, message.place) == ("uno", "one", message.accepted)
        assert queued.take(R1) == ["uno", "two"]

    def test_an_edit_to_the_same_body_succeeds_and_is_not_told(self, queued: Desk) -> None:
        assert queued.amend("msg_001", Edit("one")).state is MessageState.QUEUED
        assert queued.events(MessageEdited) == []

    def test_an_edit_can_be_taken_back_by_another(self, queued: Desk) -> None:
        queued.amend("msg_001", Edit("uno"))
        queued.amend("msg_001", Edit("one"))
        message = queued.stored("msg_001")
        assert (message.body, message.original.body) == ("one", "one")

    @pytest.mark.parametrize(("body", "refusal"), [(" \n", Refusal.EMPTY), ("x" * 65_537, Refusal.TOO_LARGE)])
    def test_a_body_that_could_not_be_sent_is_refused(self, queued: Desk, body: str, refusal: Refusal) -> None:
        assert refused(queued, "msg_001", Edit(body)).refusal is refusal
        assert queued.take(R1) == ["one"]


class TestHold:
    def test_a_held_message_is_neither_read_nor_wakes(self, queued: Desk) -> None:
        queued.amend("msg_001", Hold())
        assert queued.events(MessageHeld) == [MessageHeld(message_id="msg_001", held=True, by="ana", run_id=R1)]
        assert not queued.ledger.wakes(R1, queued.clock())
        for kind in BoundaryKind:
            assert queued.take(R1, kind) == []

    def test_a_released_message_is_read_in_its_old_place(self, queued: Desk) -> None:
        queued.send(R1, "two")
        queued.amend("msg_001", Hold())
        queued.amend("msg_001", Hold(held=False))
        assert queued.take(R1) == ["one", "two"]

    def test_what_is_behind_it_passes_it_by(self, queued: Desk) -> None:
        queued.send(R1, "two")
        queued.amend("msg_001", Hold())
        assert queued.take(R1) == ["two"]

    def test_it_stays_held_when_it_meets_its_run(self, desk: Desk) -> None:
        desk.append(HostStarted(pid=1, version="0", title="t", labels=("subagent-writer",)))
        desk.send("subagent-writer", "keep it short")
        desk.amend("msg_001", Hold())
        desk.start("run_w", "subagent-writer")
        assert desk.take("run_w", BoundaryKind.TURN_OPEN) == []
        assert desk.state("msg_001") == ("queued", None)

    def test_a_held_message_counts_as_open_and_comes_back_with_the_end(self, queued: Desk) -> None:
        queued.amend("msg_001", Hold())
        assert queued.ledger.count_open(R1) == 1
        assert queued.finish(R1) == []
        assert queued.state("msg_001") == ("undeliverable", "run_ended")

    def test_a_hold_of_a_held_one_and_a_release_of_a_free_one_succeed_and_are_not_told(self, queued: Desk) -> None:
        queued.amend("msg_001", Hold(held=False))
        assert queued.events(MessageHeld) == []
        queued.amend("msg_001", Hold())
        queued.amend("msg_001", Hold())
        assert len(queued.events(MessageHeld)) == 1

    def test_time_runs_on_for_a_held_message_and_is_looked_at_once_it_can_be_read(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        desk.send(R1, desk.message("soon stale", expires_in=1))
        desk.amend("msg_001", Hold())
        desk.clock.tick(2)
        assert desk.take(R1) == []
        assert desk.state("msg_001") == ("queued", None)
        desk.amend("msg_001", Hold(held=False))
        assert desk.take(R1) == []
        assert desk.state("msg_001") == ("expired", None)


class TestPromote:
    def test_a_follow_up_becomes_the_last_of_the_steer_lane(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        desk.send(R1, "later", Preset.FOLLOWUP)
        desk.send(R1, "one")
        desk.send(R1, "two")
        desk.amend("msg_001", Promote())
        assert desk.events(MessagePromoted) == [MessagePromoted(message_id="msg_001", by="ana", run_id=R1)]
        desk.send(R1, "three")
        message = desk.stored("msg_001")
        assert (message.lane, message.original.lane) == (Lane.NEXT_STEP, Lane.NEXT_TURN)
        assert message.place > message.accepted
        assert desk.take(R1) == ["one", "two", "later", "three"]

    def test_it_wakes_as_it_did(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        desk.send(R1, "later", Preset.FOLLOWUP)
        assert not desk.ledger.wakes(R1, desk.clock(), Lane.NEXT_STEP)
        desk.amend("msg_001", Promote())
        assert desk.ledger.wakes(R1, desk.clock(), Lane.NEXT_STEP)

    def test_a_promotion_before_it_has_a_run_is_kept(self, desk: Desk) -> None:
        desk.append(HostStarted(pid=1, version="0", title="t", labels=("subagent-writer",)))
        desk.send("subagent-writer", "later", Preset.FOLLOWUP)
        desk.send("subagent-writer", "now")
        desk.amend("msg_001", Promote())
        desk.start("run_w", "subagent-writer")
        assert desk.take("run_w") == ["now", "later"]

    def test_a_promotion_of_what_is_in_the_steer_lane_succeeds_and_is_not_told(self, queued: Desk) -> None:
        queued.send(R1, "two")
        assert queued.amend("msg_001", Promote()).state is MessageState.QUEUED
        assert queued.events(MessagePromoted) == []
        assert queued.take(R1) == ["one", "two"]


class TestTooLate:
    @pytest.mark.parametrize("change", EVERY_CHANGE, ids=lambda change: type(change).__name__)
    def test_nothing_can_be_done_to_a_message_that_was_read(self, queued: Desk, change: Amendment) -> None:
        queued.take(R1)
        error = refused(queued, "msg_001", change)
        assert error.refusal is Refusal.TOO_LATE
        assert str(error) == "the message was read in round 2"

    def test_the_sentence_names_how_a_message_ended(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        desk.send(R1, "withdrawn")
        desk.amend("msg_001", Withdraw())
        desk.send(R1, desk.message("expired", expires_in=1))
        desk.clock.tick(2)
        desk.take(R1)
        desk.send(R1, "returned")
        desk.finish(R1, Outcome.CANCELLED)
        assert [str(refused(desk, f"msg_00{number}", Withdraw())) for number in (1, 2, 3)] == [
            "the message was withdrawn",
            "the message expired before it was read",
            f"the message came back: {REASONS[ReturnReason.CANCELLED]}",
        ]

    def test_what_a_foreign_loop_has_taken_can_only_be_waited_for(self, queued: Desk) -> None:
        queued.drain(R1)
        error = refused(queued, "msg_001", Withdraw())
        assert error.refusal is Refusal.TOO_LATE
        assert "was taken by subagent-researcher#1" in str(error)

    @pytest.mark.parametrize("change", EVERY_CHANGE, ids=lambda change: type(change).__name__)
    def test_an_id_that_nobody_knows_is_unknown(self, queued: Desk, change: Amendment) -> None:
        assert refused(queued, "msg_999", change).refusal is Refusal.UNKNOWN


class TestWhoMay:
    def test_another_operator_may_and_is_named(self, queued: Desk) -> None:
        queued.amend("msg_001", Edit("uno"), Sender(SenderKind.OPERATOR, "bo"))
        assert queued.events(MessageEdited)[0].by == "bo"
        assert queued.stored("msg_001").sender.name == "ana"

    def test_an_agent_amends_its_own_messages_and_no_operators(self, queued: Desk) -> None:
        agent = Sender(SenderKind.AGENT, "subagent-writer#1", "run_w")
        queued.send(R1, queued.message("from a sibling", sender=agent))
        assert queued.amend("msg_002", Edit("from a sister"), agent).state is MessageState.QUEUED
        error = refused(queued, "msg_001", Edit("obey the writer"), agent)
        assert error.refusal is Refusal.UNKNOWN
        assert str(error) == "no message of subagent-writer#1 has the id msg_001"
