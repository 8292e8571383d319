"""A loop that is not ours drains: taken first, delivered once it shows that it goes on, else in doubt (A1, A2)."""

from __future__ import annotations

import pytest

from dashboard.core.events import (
    HistoryAppended,
    MessageDelivered,
    MessageTaken,
    NoticeRaised,
    RunFinished,
    SessionClosed,
)
from dashboard.core.history import User
from dashboard.core.mail import BoundaryKind
from dashboard.core.messages import Hold, Preset
from dashboard.core.outcomes import Outcome
from dashboard.journal import mailroom
from tests.journal.conftest import Desk

R1 = "run_1"


@pytest.fixture
def run(desk: Desk) -> Desk:
    desk.start(R1, "crew")
    return desk


class TestADrain:
    def test_what_it_gives_is_taken_and_not_given_again(self, run: Desk) -> None:
        run.send(R1, "  as typed\n")
        assert run.drain(R1) == ["  as typed\n"]
        assert run.events(MessageTaken) == [MessageTaken(message_id="msg_001", run_id=R1)]
        assert run.stored("msg_001").taken
        assert run.state("msg_001") == ("queued", None)
        assert run.drain(R1) == []

    def test_steers_come_before_follow_ups_which_come_at_the_same_drain(self, run: Desk) -> None:
        run.send(R1, "y", Preset.FOLLOWUP)
        run.send(R1, "x")
        assert run.drain(R1) == ["x", "y"]

    def test_injects_alone_stay_queued_and_ride_along_with_what_wakes(self, run: Desk) -> None:
        run.send(R1, "inject", Preset.INJECT)
        assert run.drain(R1) == []
        run.send(R1, "y", Preset.FOLLOWUP)
        assert run.drain(R1) == ["inject", "y"]

    def test_what_is_held_or_stale_is_not_given(self, run: Desk) -> None:
        run.send(R1, "held")
        run.amend("msg_001", Hold())
        run.send(R1, run.message("stale", expires_in=1))
        run.clock.tick(2)
        run.send(R1, "fresh")
        assert run.drain(R1) == ["fresh"]
        assert run.state("msg_002") == ("expired", None)

    def test_it_gives_at_most_32_messages(self, run: Desk) -> None:
        for number in range(40):
            run.send(R1, str(number))
        assert [len(run.drain(R1)) for _ in range(3)] == [32, 8, 0]

    def test_what_is_taken_counts_as_open_and_wakes_nobody(self, run: Desk) -> None:
        run.send(R1, "x")
        run.drain(R1)
        assert run.ledger.count_open(R1) == 1
        assert not run.ledger.wakes(R1, run.clock())
        assert run.take(R1, BoundaryKind.TURN_OPEN) == []


class TestConfirming:
    def test_the_next_drain_delivers_what_the_last_one_gave_in_the_order_in_which_it_gave_it(
        self, run: Desk
    ) -> None:
        run.send(R1, "y", Preset.FOLLOWUP)
        run.send(R1, "x")
        run.drain(R1)
        run.send(R1, "z")
        run.drain(R1)
        assert run.events(HistoryAppended) == [
            HistoryAppended(run_id=R1, index=0, entry=User("x")),
            HistoryAppended(run_id=R1, index=1, entry=User("y")),
        ]
        assert [(event.message_id, event.round) for event in run.events(MessageDelivered)] == [
            ("msg_002", 1),
            ("msg_001", 1),
        ]
        assert run.stored("msg_003").taken

    def test_the_history_is_counted_on_from_drain_to_drain(self, run: Desk) -> None:
        for text in ("a", "b", "c"):
            run.send(R1, text)
            run.drain(R1)
        run.drain(R1)
        assert [(event.round, event.history_index) for event in run.events(MessageDelivered)] == [
            (1, 0),
            (2, 1),
            (3, 2),
        ]

    @pytest.mark.parametrize("outcome", [Outcome.ANSWERED, Outcome.WRAP_UP])
    def test_a_run_that_ends_well_has_read_what_it_took(self, run: Desk, outcome: Outcome) -> None:
        run.send(R1, "x")
        run.drain(R1)
        run.send(R1, "late")
        run.append(RunFinished(run_id=R1, outcome=outcome))
        assert run.state("msg_001") == ("delivered", None)
        assert run.state("msg_002") == ("undeliverable", "run_ended")
        told = [type(event) for event in run.events(MessageDelivered, HistoryAppended, RunFinished)]
        assert told == [MessageDelivered, HistoryAppended, RunFinished]

    @pytest.mark.parametrize(
        ("outcome", "reason"),
        [(Outcome.ERROR, "run_ended"), (Outcome.CANCELLED, "cancelled"), (Outcome.LOST, "host_lost")],
    )
    def test_of_a_run_that_ends_otherwise_nobody_knows_whether_it_read_what_it_took(
        self, run: Desk, outcome: Outcome, reason: str
    ) -> None:
        run.send(R1, "x")
        run.drain(R1)
        run.send(R1, "late")
        run.append(RunFinished(run_id=R1, outcome=outcome))
        assert run.state("msg_001") == ("undeliverable", "in_doubt")
        assert run.state("msg_002") == ("undeliverable", reason)
        assert run.events(MessageDelivered, HistoryAppended) == []

    def test_a_session_that_closes_first_leaves_it_in_doubt(self, run: Desk) -> None:
        run.send(R1, "x")
        run.drain(R1)
        run.append(SessionClosed(reason="done"))
        assert run.state("msg_001") == ("undeliverable", "in_doubt")


def test_a_drain_that_has_failed_returns_what_is_open_and_says_why(run: Desk) -> None:
    run.send(R1, "taken")
    run.drain(R1)
    run.send(R1, "waiting")
    with run.ledger.transaction():
        mailroom.return_unreadable(run.ledger, R1, "KeyError: 'x'", run.clock())
    assert run.state("msg_001") == ("undeliverable", "in_doubt")
    assert run.state("msg_002") == ("undeliverable", "reader_failed")
    (notice,) = run.events(NoticeRaised)
    assert (notice.run_id, "KeyError" in notice.text) == (R1, True)
