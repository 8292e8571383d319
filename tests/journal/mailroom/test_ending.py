"""What the start, the cancelling and the end of runs mean for mail (A1, A9, A11)."""

from __future__ import annotations

import pytest

from dashboard.core.errors import JournalError, SendRefusedError
from dashboard.core.events import (
    ControlAction,
    ControlApplied,
    ControlRefused,
    ControlRequested,
    Event,
    HostStarted,
    MessageReturned,
    NoticeRaised,
    RunFinished,
    RunStarted,
    SessionClosed,
    TurnFinished,
)
from dashboard.core.messages import Hold, Preset, Promote, Refusal
from dashboard.core.outcomes import Outcome
from dashboard.journal import mailroom
from tests.journal.conftest import Desk

R1, R2 = "run_1", "run_2"
RESEARCHER = "subagent-researcher"
CANCELLED = TurnFinished(run_id=R1, turn=1, answer="", outcome=Outcome.CANCELLED, error="stopped by ana")


class TestAStart:
    @pytest.mark.parametrize(("run_id", "ordinal"), [(R1, 2), (R2, 1)])
    def test_a_run_starts_once_and_no_two_have_one_name(self, desk: Desk, run_id: str, ordinal: int) -> None:
        desk.start(R1, RESEARCHER, 1)
        with pytest.raises(JournalError, match="started already"):
            desk.start(run_id, RESEARCHER, ordinal)
        assert len(desk.events(RunStarted)) == 1
        assert [run.run_id for run in desk.ledger.runs()] == [R1]


class TestAnEnd:
    def test_after_the_end_a_send_is_refused(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        desk.finish(R1)
        with pytest.raises(SendRefusedError) as refused:
            desk.send(f"{RESEARCHER}#1", "too late")
        assert refused.value.refusal is Refusal.RUN_ENDED

    def test_it_is_recorded_once_however_often_it_is_told(self, desk: Desk) -> None:
        desk.start("run_1", "main")
        desk.finish("run_1")
        desk.send("main", "for the next one")
        before = desk.events(Event)
        assert desk.finish("run_1", Outcome.CANCELLED) == []
        for run_id in ("run_1", "run_never_started"):
            desk.append(RunFinished(run_id=run_id, outcome=Outcome.ERROR))
        assert desk.events(Event) == before

    def test_the_end_of_one_run_returns_no_others_mail(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER, 1)
        desk.start(R2, RESEARCHER, 2)
        desk.send(R2, "go on")
        desk.finish(R1)
        assert desk.take(R2) == ["go on"]

    def test_mail_comes_back_in_the_order_in_which_it_was_accepted(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        desk.send(R1, "later", Preset.FOLLOWUP)
        desk.send(R1, "now")
        desk.amend("msg_001", Promote())
        desk.finish(R1, Outcome.ERROR)
        assert [event.message_id for event in desk.events(MessageReturned)] == ["msg_001", "msg_002"]

    def test_the_close_of_a_session_returns_what_no_run_will_ever_read(self, desk: Desk) -> None:
        desk.append(HostStarted(pid=1, version="0", title="t", labels=("subagent-writer",)))
        desk.send("subagent-writer", "keep it short")
        desk.append(SessionClosed(reason="done"))
        assert desk.state("msg_001") == ("undeliverable", "run_ended")

    def test_the_close_of_a_session_returns_also_the_mail_of_a_run_that_nobody_ended(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        desk.send(R1, "go on")
        desk.append(SessionClosed(reason="done"))
        assert desk.state("msg_001") == ("undeliverable", "run_ended")


class TestCancellingATurn:
    def cancel(self, desk: Desk, before: int | None, finished: TurnFinished | None = CANCELLED) -> None:
        with desk.ledger.transaction():
            mailroom.cancel_turn(desk.ledger, R1, finished, before, desk.clock())

    def test_the_turn_ends_and_what_waited_comes_back_held_or_not_in_both_lanes(self, desk: Desk) -> None:
        desk.start(R1, "main")
        desk.send(R1, "steer")
        desk.send(R1, "follow-up", Preset.FOLLOWUP)
        desk.send(R1, "held")
        desk.amend("msg_003", Hold())
        self.cancel(desk, None)
        assert desk.events(TurnFinished) == [CANCELLED]
        assert [desk.state(f"msg_00{number}") for number in (1, 2, 3)] == [("undeliverable", "cancelled")] * 3

    def test_what_was_accepted_after_the_request_stays(self, desk: Desk) -> None:
        desk.start(R1, "main")
        desk.send(R1, "old")
        asked = desk.append(NoticeRaised(level="note", text="a request to cancel"))  # type: ignore[arg-type]
        desk.send(R1, "new")
        self.cancel(desk, asked)
        assert desk.state("msg_001") == ("undeliverable", "cancelled")
        assert desk.take(R1) == ["new"]

    def test_a_promotion_makes_no_message_younger(self, desk: Desk) -> None:
        desk.start(R1, "main")
        desk.send(R1, "old", Preset.FOLLOWUP)
        asked = desk.append(NoticeRaised(level="note", text="a request to cancel"))  # type: ignore[arg-type]
        desk.amend("msg_001", Promote())
        self.cancel(desk, asked)
        assert desk.state("msg_001") == ("undeliverable", "cancelled")

    def test_an_idle_root_only_gives_its_mail_back_and_lives(self, desk: Desk) -> None:
        desk.start(R1, "main")
        desk.send(R1, "inject", Preset.INJECT)
        self.cancel(desk, None, finished=None)
        assert desk.events(TurnFinished, RunFinished) == []
        assert desk.state("msg_001") == ("undeliverable", "cancelled")
        desk.send(R1, "new")
        assert desk.take(R1) == ["new"]

    def test_the_mail_of_other_runs_stays(self, desk: Desk) -> None:
        desk.start(R1, "main")
        desk.start(R2, RESEARCHER)
        desk.send(R2, "go on")
        self.cancel(desk, None)
        assert desk.take(R2) == ["go on"]


class TestOpenControls:
    """What operators asked for is applied or refused, also when nobody is left to do it."""

    @pytest.mark.parametrize("how", ["closed", "lost"])
    def test_what_nobody_will_do_any_more_is_refused(self, desk: Desk, how: str) -> None:
        for number in (1, 2, 3):
            asked = ControlRequested(control_id=f"ctl_{number}", action=ControlAction.PAUSE, by="ana", run_id="r")
            desk.append(asked)
        desk.append(ControlApplied(control_id="ctl_1", action=ControlAction.PAUSE, run_id="r"))
        desk.append(ControlRefused(control_id="ctl_2", reason="it has ended"))
        if how == "closed":
            desk.append(SessionClosed(reason="done"))
        else:
            with desk.ledger.transaction():
                mailroom.reap(desk.ledger, desk.clock())
        why = {"closed": "the session was closed", "lost": "the host process died"}[how]
        (refused,) = [event for event in desk.events(ControlRefused) if event.control_id != "ctl_2"]
        assert refused == ControlRefused(control_id="ctl_3", reason=why, run_id="r")
        assert desk.ledger.open_controls() == []

    @pytest.mark.parametrize("how", ["closed", "lost"])
    def test_what_is_asked_of_a_session_that_is_over_is_refused_at_once(self, desk: Desk, how: str) -> None:
        """A console may ask in the moment in which the session ends: it must not wait for ever."""
        desk.start(R1, RESEARCHER)
        if how == "closed":
            desk.append(SessionClosed(reason="done"))
        else:
            with desk.ledger.transaction():
                mailroom.reap(desk.ledger, desk.clock())
        desk.append(ControlRequested(control_id="ctl_1", action=ControlAction.STOP_SESSION, by="ana"))
        assert desk.events(Event)[-1] == ControlRefused(
            control_id="ctl_1", reason="the session is over, and no host is there to do it"
        )
        assert desk.ledger.open_controls() == []


class TestReaping:
    def reap(self, desk: Desk) -> int:
        with desk.ledger.transaction():
            return mailroom.reap(desk.ledger, desk.clock())

    def test_the_runs_of_a_dead_host_are_lost_and_their_mail_comes_back_once(self, desk: Desk) -> None:
        desk.append(HostStarted(pid=1, version="0", title="t", labels=("subagent-writer",)))
        desk.start(R1, RESEARCHER, 1)
        desk.start(R2, RESEARCHER, 2)
        desk.send(R2, "are you there?")
        desk.send("subagent-writer", "and you?")
        assert self.reap(desk) == 2
        assert self.reap(desk) == 0
        assert [event.outcome for event in desk.events(RunFinished)] == [Outcome.LOST, Outcome.LOST]
        assert [desk.state(f"msg_00{number}") for number in (1, 2)] == [("undeliverable", "host_lost")] * 2

    def test_what_a_foreign_loop_of_it_had_taken_is_in_doubt(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        desk.send(R1, "taken")
        desk.drain(R1)
        desk.send(R1, "waiting")
        self.reap(desk)
        assert desk.state("msg_001") == ("undeliverable", "in_doubt")
        assert desk.state("msg_002") == ("undeliverable", "host_lost")

    def test_a_session_that_was_closed_has_nothing_to_reap(self, desk: Desk) -> None:
        desk.start(R1, RESEARCHER)
        desk.append(SessionClosed(reason="done"))
        assert self.reap(desk) == 0
