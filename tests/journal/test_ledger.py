"""What both ledgers promise beneath the rules: order, transactions, and tables in line with the events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

import pytest

from dashboard.core.events import HostStarted, NoticeLevel, NoticeRaised, RunFinished, SessionClosed
from dashboard.core.labels import RunRef
from dashboard.core.messages import Edit, Hold, Lane, Preset, Promote, Withdraw
from dashboard.core.outcomes import Outcome
from dashboard.journal import mailroom
from dashboard.journal.ledger import CLOSED
from tests.journal.conftest import ANA, AnyLedger, Desk, boundary

R1, R2 = "run_1", "run_2"
NOTICE = NoticeRaised(level=NoticeLevel.NOTE, text="hello")


class FailedError(Exception):
    """What a step ends with that is to be undone."""


@contextmanager
def undone(block: AbstractContextManager[None]) -> Iterator[None]:
    """Open a transaction or a savepoint, and fail at its end."""
    with suppress(FailedError), block:
        yield
        raise FailedError


def everything(ledger: AnyLedger) -> list[object]:
    """What can be asked of a ledger."""
    runs = [R1, R2, "run_w"]
    return [
        ledger.records(0, 10_000),
        ledger.over,
        ledger.runs(),
        ledger.labels(),
        ledger.messages(),
        ledger.unbound(),
        ledger.count_unbound("subagent-writer"),
        [ledger.open_of(run) for run in runs],
        [ledger.taken(run) for run in runs],
        [ledger.count_open(run) for run in runs],
        [ledger.last_read(run) for run in runs],
        [ledger.claimable(run, lane, 0, 100) for run in runs for lane in Lane],
        [ledger.wakes(run, 0, lane) for run in runs for lane in (None, *Lane)],
    ]


@pytest.fixture
def busy(desk: Desk) -> Desk:
    """A session in the middle of its work: mail in every state, bound and unbound."""
    desk.append(HostStarted(pid=1, version="0", title="t", labels=("subagent-writer",)))
    desk.start(R1, "main")
    desk.start(R2, "crew")
    for text in ("read", "withdrawn", "edited", "held", "waiting"):
        desk.send(R1, text)
    desk.send(R1, "promoted", Preset.FOLLOWUP)
    desk.send(R1, "later", Preset.FOLLOWUP)
    desk.amend("msg_002", Withdraw())
    desk.amend("msg_004", Hold())
    with desk.ledger.transaction():
        mailroom.amend(desk.ledger, "msg_003", Edit("edited once"), ANA, desk.clock())
    desk.send(R2, "taken")
    desk.drain(R2)
    desk.send("subagent-writer", "unbound")
    return desk


STEPS: dict[str, Callable[[AnyLedger, int], object]] = {
    "an event": lambda ledger, at: ledger.append(NOTICE, at),
    "a take": lambda ledger, at: mailroom.take(ledger, R1, boundary(), at),
    "an edit": lambda ledger, at: mailroom.amend(ledger, "msg_003", Edit("edited twice"), ANA, at),
    "a hold": lambda ledger, at: mailroom.amend(ledger, "msg_005", Hold(), ANA, at),
    "a promotion": lambda ledger, at: mailroom.amend(ledger, "msg_006", Promote(), ANA, at),
    "a withdrawal": lambda ledger, at: mailroom.amend(ledger, "msg_007", Withdraw(), ANA, at),
    "a drain": lambda ledger, at: mailroom.drain(ledger, R2, at),
    "an end": lambda ledger, at: ledger.append(RunFinished(run_id=R1, outcome=Outcome.ERROR), at),
    "a close": lambda ledger, at: ledger.append(SessionClosed(reason="done"), at),
    "a reaping": mailroom.reap,
}


@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_fails_leaves_nothing_behind(busy: Desk, step: str) -> None:
    before = everything(busy.ledger)
    with undone(busy.ledger.transaction()):
        STEPS[step](busy.ledger, busy.clock())
    assert everything(busy.ledger) == before


@pytest.mark.parametrize("step", STEPS)
def test_a_savepoint_undoes_what_is_inside_and_nothing_else(busy: Desk, step: str) -> None:
    with busy.ledger.transaction():
        busy.ledger.append(NOTICE, 1)
        kept = everything(busy.ledger)
        with undone(busy.ledger.savepoint()):
            STEPS[step](busy.ledger, busy.clock())
            assert everything(busy.ledger) != kept
        assert everything(busy.ledger) == kept
    assert everything(busy.ledger) == kept


@pytest.mark.parametrize("step", STEPS)
def test_what_was_undone_can_be_done_again(busy: Desk, step: str) -> None:
    with undone(busy.ledger.transaction()):
        STEPS[step](busy.ledger, busy.clock())
    length = len(busy.events())
    with busy.ledger.transaction():
        STEPS[step](busy.ledger, busy.clock())
    assert len(busy.events()) > length


def test_savepoints_nest(desk: Desk) -> None:
    with desk.ledger.transaction():
        with undone(desk.ledger.savepoint()):
            desk.ledger.append(NOTICE, 1)
            with desk.ledger.savepoint():
                desk.ledger.append(NOTICE, 2)
            with undone(desk.ledger.savepoint()):
                desk.ledger.append(NOTICE, 3)
            assert len(desk.events()) == 2
        assert desk.ledger.append(NOTICE, 4) == 1
    assert [record.at for record in desk.ledger.records(0, 10)] == [4]


def test_a_transaction_is_open_only_within_its_block(ledger: AnyLedger) -> None:
    seen = [ledger.in_transaction]
    with ledger.transaction(durable=False):
        seen.append(ledger.in_transaction)
    assert [*seen, ledger.in_transaction] == [False, True, False]


def test_seqs_are_gap_free_from_one_and_records_are_read_after_one(desk: Desk) -> None:
    assert [desk.append(NOTICE) for _ in range(5)] == [1, 2, 3, 4, 5]
    assert [record.seq for record in desk.ledger.records(2, 2)] == [3, 4]


def test_a_lone_surrogate_anywhere_in_an_event_is_replaced_and_said_so(desk: Desk) -> None:
    desk.append(NoticeRaised(level=NoticeLevel.NOTE, text="a\ud800b"))
    first, second = desk.events(NoticeRaised)
    assert first.text == "a\ufffdb"
    assert "U+FFFD" in second.text


def test_runs_and_labels_are_what_the_events_told(busy: Desk) -> None:
    busy.append(RunFinished(run_id=R1, outcome=Outcome.ANSWERED))
    busy.append(RunFinished(run_id="run_nobody_knows", outcome=Outcome.ANSWERED))
    assert busy.ledger.runs() == [RunRef(R1, "main", 1, False, True), RunRef(R2, "crew", 1, True, True)]
    assert busy.ledger.labels() == {"main", "crew", "subagent-writer"}


def test_a_session_is_over_once_it_is_closed(busy: Desk) -> None:
    assert busy.ledger.over is None
    busy.append(SessionClosed(reason="done"))
    assert busy.ledger.over == CLOSED


def test_a_lane_is_read_page_by_page(busy: Desk) -> None:
    first = busy.ledger.claimable(R1, Lane.NEXT_STEP, 0, 2)
    rest = busy.ledger.claimable(R1, Lane.NEXT_STEP, first[-1].place, 2)
    assert [message.body for message in (*first, *rest)] == ["read", "edited once", "waiting"]
