"""Mail in the journal: SEMANTICS' A lines and the turn rules, one transaction each."""

from __future__ import annotations

import msgspec
import pytest

from dashboard.core.errors import SendRefusedError
from dashboard.core.events import (
    HistoryAppended,
    HostStarted,
    MessageBound,
    MessageDelivered,
    MessageExpired,
    MessageReturned,
    RunFinished,
    SessionClosed,
)
from dashboard.core.history import User
from dashboard.core.mail import BoundaryKind
from dashboard.core.messages import MessageState, Preset, Refusal, ReturnReason, Sender, SenderKind
from dashboard.core.outcomes import Outcome, RunEnd
from dashboard.journal import mailroom
from tests.journal.conftest import Desk, boundary

R1, R2 = "run_1", "run_2"
RESEARCHER = "subagent-researcher"


def two_researchers(desk: Desk) -> None:
    desk.start(R1, RESEARCHER, 1)
    desk.start(R2, RESEARCHER, 2)


class TestAddressing:
    def test_a_run_reads_only_its_own_mail(self, desk: Desk) -> None:
        two_researchers(desk)
        desk.send(f"{RESEARCHER}#2", "check worker.log instead")
        assert desk.take(R1) == []
        assert desk.take(R2) == ["check worker.log instead"]

    def test_a_bare_label_with_two_live_runs_is_refused_and_both_are_named(self, desk: Desk) -> None:
        two_researchers(desk)
        with pytest.raises(SendRefusedError) as refused:
            desk.send(RESEARCHER, "hello")
        assert refused.value.refusal is Refusal.AMBIGUOUS
        assert refused.value.candidates == (f"{RESEARCHER}#1", f"{RESEARCHER}#2")
        assert desk.store.value("SELECT count(*) FROM message") == 0

    def test_a_bare_label_with_one_live_run_is_that_run_for_good(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER, 1)
        receipt = desk.send(RESEARCHER, "hello")
        desk.start(R2, RESEARCHER, 2)
        assert (receipt.run_id, receipt.to) == (R1, f"{RESEARCHER}#1")
        assert desk.take(R2) == []
        assert desk.take(R1) == ["hello"]

    def test_a_declared_label_without_a_run_waits_and_binds_to_the_first_that_starts(self, desk: Desk) -> None:
        desk.append(HostStarted(pid=1, version="0", title="t", labels=("subagent-writer",)))
        receipt = desk.send("subagent-writer", "keep it short")
        assert (receipt.state, receipt.run_id) == (MessageState.UNBOUND, None)
        desk.start("run_w", "subagent-writer")
        bound = desk.events(MessageBound)
        assert bound == [MessageBound(message_id="msg_001", run_id="run_w", to="subagent-writer#1")]
        assert desk.take("run_w", BoundaryKind.TURN_OPEN) == ["keep it short"]

    @pytest.mark.parametrize(
        ("address", "refusal"),
        [
            ("subagent-nobody", Refusal.UNKNOWN),
            (f"{RESEARCHER}#9", Refusal.UNKNOWN),
            ("#2", Refusal.UNKNOWN),
            ("", Refusal.UNKNOWN),
            ("run_ended", Refusal.RUN_ENDED),
            ("subagent-deaf", Refusal.NOT_READING),
        ],
    )
    def test_an_address_that_cannot_be_read_is_refused_and_nothing_is_stored(
        self, desk: Desk, address: str, refusal: Refusal
    ) -> None:
        desk.start("run_ended", "subagent-done")
        desk.append(RunFinished(run_id="run_ended", outcome=Outcome.ANSWERED))
        desk.start("run_deaf", "subagent-deaf", reading=False)
        before = len(desk.events())
        with pytest.raises(SendRefusedError) as refused:
            desk.send(address, "hello")
        assert refused.value.refusal is refusal
        assert len(desk.events()) == before


class TestAcceptance:
    def test_one_id_sent_twice_is_one_message_and_the_same_receipt(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        message = desk.message("hello")
        assert desk.send(R1, message) == desk.send(R1, message)
        assert desk.take(R1) == ["hello"]

    def test_an_id_with_other_content_is_an_error(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        message = desk.message("hello")
        desk.send(R1, message)
        with pytest.raises(SendRefusedError) as refused:
            desk.send(R1, msgspec.structs.replace(message, body="other"))
        assert refused.value.refusal is Refusal.ID_REUSED

    @pytest.mark.parametrize(
        ("body", "refusal"),
        [
            ("", Refusal.EMPTY),
            (" \n\t", Refusal.EMPTY),
            ("x" * 65_537, Refusal.TOO_LARGE),
            ("é" * 32_769, Refusal.TOO_LARGE),
        ],
    )
    def test_a_body_that_is_empty_or_too_large_is_refused(self, desk: Desk, body: str, refusal: Refusal) -> None:
        desk.start(R1, RESEARCHER)
        with pytest.raises(SendRefusedError) as refused:
            desk.send(R1, body)
        assert refused.value.refusal is refusal

    def test_the_1001st_open_message_is_refused_and_none_of_the_others_is_evicted(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        for number in range(1_000):
            desk.send(R1, f"m{number}")
        with pytest.raises(SendRefusedError) as refused:
            desk.send(R1, "one more")
        assert refused.value.refusal is Refusal.FULL
        read = [text for _ in range(32) for text in desk.take(R1)]
        assert read == [f"m{number}" for number in range(1_000)]

    def test_two_identical_texts_are_two_messages(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        desk.send(R1, "again")
        desk.send(R1, "again")
        assert desk.take(R1) == ["again", "again"]


class TestClaiming:
    def test_a_delivery_stands_once_in_the_history_at_its_index_and_round(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        desk.send(R1, "  as typed\n")
        desk.take(R1)
        assert desk.events(HistoryAppended) == [HistoryAppended(run_id=R1, index=2, entry=User("  as typed\n"))]
        assert desk.events(MessageDelivered) == [
            MessageDelivered(run_id=R1, turn=1, round=2, history_index=2, message_id="msg_001")
        ]
        assert desk.state("msg_001") == ("delivered", None)
        assert desk.take(R1) == []

    def test_a_turn_opens_with_next_turn_and_then_next_step(self, desk: Desk) -> None:
        desk.start(R1, "main")
        desk.send(R1, "steer", Preset.STEER)
        desk.send(R1, "follow-up", Preset.FOLLOWUP)
        assert desk.take(R1, BoundaryKind.TURN_OPEN) == ["follow-up", "steer"]

    def test_after_tools_only_next_step_is_read(self, desk: Desk) -> None:
        desk.start(R1, "main")
        desk.send(R1, "follow-up", Preset.FOLLOWUP)
        desk.send(R1, "inject", Preset.INJECT)
        assert desk.take(R1) == ["inject"]

    def test_an_inject_alone_does_not_extend_a_final_turn_but_rides_along_with_a_steer(self, desk: Desk) -> None:
        desk.start(R1, "main")
        desk.send(R1, "inject", Preset.INJECT)
        assert desk.take(R1, BoundaryKind.FINAL) == []
        desk.send(R1, "steer")
        assert desk.take(R1, BoundaryKind.FINAL) == ["inject", "steer"]

    def test_one_boundary_takes_at_most_32_messages_and_the_rest_keep_their_place(self, desk: Desk) -> None:
        desk.start(R1, "main")
        for number in range(33):
            desk.send(R1, str(number))
        assert desk.take(R1) == [str(number) for number in range(32)]
        assert desk.take(R1) == ["32"]

    def test_one_boundary_takes_at_most_64_kib_but_always_the_first(self, desk: Desk) -> None:
        desk.start(R1, "main")
        for letter in "abc":
            desk.send(R1, letter * 40_000)
        assert [text[0] for text in desk.take(R1)] == ["a"]
        assert [text[0] for text in desk.take(R1)] == ["b"]

    def test_expiry_is_tested_at_the_claim(self, desk: Desk) -> None:
        desk.start(R1, "main")
        message = msgspec.structs.replace(desk.message("soon stale"), expires_at=desk.clock() + 1_000_000)
        desk.send(R1, message)
        desk.clock.tick(2)
        assert desk.take(R1) == []
        assert desk.events(MessageExpired) == [MessageExpired(message_id=message.id, run_id=R1)]

    def test_agent_mail_never_resets_the_budget(self, desk: Desk) -> None:
        desk.start(R1, "main")
        desk.send(R1, desk.message("from a sibling", sender=Sender(SenderKind.AGENT, RESEARCHER, R2)))
        desk.send(R1, "from ana")
        with desk.store.transaction():
            taken = mailroom.take(desk.store, R1, boundary(), desk.clock())
        assert [(delivered.wakes, delivered.resets_budget) for delivered in taken] == [(True, False), (True, True)]


class TestTheEndOfARun:
    def finish(self, desk: Desk, outcome: Outcome = Outcome.ANSWERED) -> list[tuple[str, bool]]:
        with desk.store.transaction():
            taken = mailroom.finish(
                desk.store, R1, boundary(BoundaryKind.FINAL), RunEnd(outcome, "a"), desk.clock()
            )
        return [(delivered.text, delivered.opens_turn) for delivered in taken]

    def test_a_late_steer_is_read_instead_of_the_end(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        desk.send(R1, "wait")
        assert self.finish(desk) == [("wait", False)]
        assert desk.events(RunFinished) == []

    def test_a_follow_up_opens_another_turn_of_the_same_run(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        desk.send(R1, "and then?", Preset.FOLLOWUP)
        assert self.finish(desk) == [("and then?", True)]
        assert self.finish(desk) == []

    def test_an_inject_comes_back_with_the_end_of_its_run(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        desk.send(R1, "by the way", Preset.INJECT)
        assert self.finish(desk) == []
        assert desk.state("msg_001") == ("undeliverable", "run_ended")
        assert desk.events(MessageReturned) == [
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
    def test_only_an_answer_can_be_extended(self, desk: Desk, outcome: Outcome, reason: ReturnReason) -> None:
        desk.start(R1, RESEARCHER)
        desk.send(R1, "wait")
        assert self.finish(desk, outcome) == []
        assert desk.state("msg_001") == ("undeliverable", reason)

    def test_after_the_end_a_send_is_refused(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        self.finish(desk)
        with pytest.raises(SendRefusedError) as refused:
            desk.send(f"{RESEARCHER}#1", "too late")
        assert refused.value.refusal is Refusal.RUN_ENDED

    def test_the_close_of_a_session_returns_what_no_run_will_ever_read(self, desk: Desk) -> None:
        desk.append(HostStarted(pid=1, version="0", title="t", labels=("subagent-writer",)))
        desk.send("subagent-writer", "keep it short")
        desk.append(SessionClosed(reason="done"))
        assert desk.state("msg_001") == ("undeliverable", "run_ended")


class TestReaping:
    def test_the_runs_of_a_dead_host_are_lost_and_their_mail_comes_back_once(self, desk: Desk) -> None:
        two_researchers(desk)
        desk.send(R2, "are you there?")
        with desk.store.transaction():
            assert mailroom.reap(desk.store, desk.clock()) == 2
        with desk.store.transaction():
            assert mailroom.reap(desk.store, desk.clock()) == 0
        assert [event.outcome for event in desk.events(RunFinished)] == [Outcome.LOST, Outcome.LOST]  # type: ignore[union-attr]
        assert desk.state("msg_001") == ("undeliverable", "host_lost")
