"""A desk composes and signs: whatever is written at it is its sender's (A3, A6, A12)."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest

from dashboard.core.errors import InvalidMessageError, SendRefusedError
from dashboard.core.events import MessageQueued, MessageWithdrawn, RunStarted
from dashboard.core.labels import RunRef
from dashboard.core.messages import Lane, MessageState, Preset, Refusal, Sender, SenderKind, Withdraw
from dashboard.journal.mail_desk import MailDesk
from dashboard.journal.routed_inbox import RoutedInbox
from tests.conftest import FakeClock
from tests.journal.conftest import ANA, AnyWriter, of, records_of

LATER = 1_900_000_000_000_000
AGENT = Sender(SenderKind.AGENT, "crew#1", "run_1")


@pytest.fixture
def ana(writer: AnyWriter, clock: FakeClock) -> MailDesk:
    for number in (1, 2):
        writer.emit(RunStarted(run_id=f"run_{number}", label="crew", ordinal=number, task="t", max_iterations=1))
    return MailDesk(writer, ANA, clock)


def refs() -> list[RunRef]:
    return [RunRef(f"run_{number}", "crew", number, True, True) for number in (1, 2)]


def test_a_composed_message_has_an_id_that_sorts_by_time_and_the_time_itself(
    ana: MailDesk, clock: FakeClock
) -> None:
    first = ana.compose("one", Lane.NEXT_STEP, True)
    clock.tick(1)
    second = ana.compose("two", Lane.NEXT_TURN, False, expires_at=LATER)
    assert first.id < second.id
    assert second.composed_at == clock()
    assert (second.lane, second.wake, second.expires_at, second.sender) == (Lane.NEXT_TURN, False, LATER, ANA)


def test_text_that_cannot_be_stored_is_mended_when_it_is_composed(writer: AnyWriter, clock: FakeClock) -> None:
    desk = MailDesk(writer, Sender(SenderKind.OPERATOR, "a\udc80na"), clock)
    message = desk.compose("x\ud800y", Lane.NEXT_STEP, True)
    assert (message.body, message.sender.name) == ("x\ufffdy", "a\ufffdna")


def test_a_message_that_claims_to_be_somebody_elses_is_signed_all_the_same(
    ana: MailDesk, writer: AnyWriter, clock: FakeClock
) -> None:
    forged = ana.compose("obey me", Lane.NEXT_STEP, True)
    MailDesk(writer, AGENT, clock).send("run_2", forged).result(0)
    assert [event.sender for event in of(records_of(writer), MessageQueued)] == [AGENT]


def test_the_parts_of_a_broadcast_share_a_batch_id_and_nothing_else(ana: MailDesk, writer: AnyWriter) -> None:
    batch = ana.compose_batch("all of you: stop", Preset.STEER, refs())
    assert [(part.run_id, part.name) for part in batch] == [("run_1", "crew#1"), ("run_2", "crew#2")]
    assert len({part.message.batch_id for part in batch}) == 1
    assert len({part.message.id for part in batch}) == 2
    results = ana.broadcast(batch).result(0)
    assert [result.part for result in results] == list(batch)
    assert [event.batch_id for event in of(records_of(writer), MessageQueued)] == [
        part.message.batch_id for part in batch
    ]


def test_a_forged_part_of_a_broadcast_is_signed_all_the_same(ana: MailDesk, writer: AnyWriter) -> None:
    (part,) = ana.compose_batch("hello", Preset.STEER, refs()[:1])
    forged = msgspec.structs.replace(part, message=msgspec.structs.replace(part.message, sender=AGENT))
    ana.broadcast([forged]).result(0)
    assert [event.sender for event in of(records_of(writer), MessageQueued)] == [ANA]


def test_an_amendment_carries_the_desks_name(ana: MailDesk, writer: AnyWriter) -> None:
    receipt = ana.send("crew#1", ana.compose("hello", Lane.NEXT_STEP, True)).result(0)
    assert ana.amend(receipt.message_id, Withdraw()).result(0).state is MessageState.WITHDRAWN
    assert [event.by for event in of(records_of(writer), MessageWithdrawn)] == ["ana"]


def test_a_refusal_is_what_the_future_raises(ana: MailDesk) -> None:
    refused = ana.send("nobody", ana.compose("hello", Lane.NEXT_STEP, True)).exception(0)
    assert isinstance(refused, SendRefusedError)
    assert refused.refusal is Refusal.UNKNOWN


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"text": 5}, r"the message's text is not usable: it got 5"),
        ({"expires_at": 1_800_000_000.5}, r"expires_at is not usable.*microseconds"),
        ({"expires_at": 1_800_000_000}, r"expires_at is not usable: it got 1800000000\. Give microseconds"),
        ({"expires_at": "tomorrow"}, r"expires_at is not usable: it got 'tomorrow'"),
        ({"target": "bogus"}, r"not usable as given: Invalid enum value 'bogus'"),
        ({"wake": "no"}, r"not usable as given: Expected `bool`"),
        ({"to": None}, r"the message's to is not usable: it got None"),
    ],
)
def test_what_cannot_be_a_message_is_refused_before_it_is_stored(
    inbox: RoutedInbox, given: dict[str, Any], says: str
) -> None:
    """Stored, it could never be read again, and its run could not even end."""
    inbox.emit(RunStarted(run_id="run_1", label="main", ordinal=1, task="t", max_iterations=3))
    with pytest.raises(InvalidMessageError, match=says):
        inbox.send(**{"to": "main", "text": "x", **given})
    assert inbox.messages() == ()


def test_a_lane_may_be_given_by_its_name(inbox: RoutedInbox) -> None:
    inbox.emit(RunStarted(run_id="run_1", label="main", ordinal=1, task="t", max_iterations=3))
    sent = inbox.send("main", "x", cast("Lane", "next_turn"))
    stored = inbox.message(sent.message_id)
    assert stored is not None
    assert stored.lane is Lane.NEXT_TURN


def test_a_broadcast_goes_to_runs_and_says_so(inbox: RoutedInbox) -> None:
    with pytest.raises(InvalidMessageError, match=r"recipients is not usable: it got 'main'\. Give runs"):
        inbox.broadcast(cast("Any", ["main"]), "x")
    with pytest.raises(InvalidMessageError, match=r"preset is not usable: it got 'shout'\. Give one of: steer"):
        inbox.broadcast([], "x", cast("Preset", "shout"))
