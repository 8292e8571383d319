"""A run comes to a boundary: what it reads is claimed, put into its history and recorded, in one step (A8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from dashboard.core.events import HistoryAppended, MessageDelivered, MessageExpired, RunFinished
from dashboard.core.history import User
from dashboard.core.mail import Boundary, BoundaryKind, Delivered
from dashboard.core.messages import MAX_TAKE_BYTES, MAX_TAKE_MESSAGES, Lane, SenderKind
from dashboard.core.outcomes import Outcome, RunEnd
from dashboard.journal.ledger import Ledger, StoredMessage, is_live

STEP = (Lane.NEXT_STEP,)
TURN = (Lane.NEXT_TURN, Lane.NEXT_STEP)  # what a turn opens with, in this order (T1)
_PAGE = MAX_TAKE_MESSAGES + 1  # of what waits: all that one boundary can take, and whether there is more


def take(ledger: Ledger, run_id: str, boundary: Boundary, at: int) -> tuple[Delivered, ...]:
    """Claim what a boundary reads, and deliver it.

    At the end of a turn nothing is claimed unless a waking message extends it (T2), and nothing of an idle root
    unless one wakes it (T3); elsewhere ``next_step`` is, after ``next_turn`` where a turn opens (T1).

    Args:
        ledger: inside a transaction.
        run_id: the run.
        boundary: where it stands.
        at: now, in microseconds since the epoch, UTC.
    """
    match boundary.kind:
        case BoundaryKind.FINAL if not ledger.wakes(run_id, at, Lane.NEXT_STEP):
            return ()
        case BoundaryKind.WAKE if not ledger.wakes(run_id, at):
            return ()
        case BoundaryKind.TURN_OPEN | BoundaryKind.WAKE:
            return _deliver(ledger, run_id, TURN, boundary, at)
        case _:
            return _deliver(ledger, run_id, STEP, boundary, at)


def finish(ledger: Ledger, run_id: str, boundary: Boundary, end: RunEnd, at: int) -> tuple[Delivered, ...]:
    """End a run, unless its mail extends the turn, or opens another (A9, T4).

    A steer extends an answer, and never a wrap-up (P10); a follow-up opens another turn after either.

    Args:
        ledger: inside a transaction.
        run_id: the run.
        boundary: where it stands.
        end: how it would end.
        at: now, in microseconds since the epoch, UTC.

    Returns:
        What was delivered instead of ending; empty once the run has ended and its open mail was returned.
    """
    if not is_live(ledger, run_id):
        return ()  # told twice, as by a caller that does not know how its first try went
    if end.outcome is Outcome.ANSWERED and ledger.wakes(run_id, at, Lane.NEXT_STEP):
        return _deliver(ledger, run_id, STEP, boundary, at)
    if end.outcome in (Outcome.ANSWERED, Outcome.WRAP_UP) and ledger.wakes(run_id, at, Lane.NEXT_TURN):
        opened = msgspec.structs.replace(boundary, turn=boundary.turn + 1)
        delivered = _deliver(ledger, run_id, TURN, opened, at)
        return tuple(msgspec.structs.replace(message, opens_turn=True) for message in delivered)
    ledger.append(RunFinished(run_id=run_id, outcome=end.outcome, answer=end.answer, error=end.error), at)
    return ()


def claim(
    ledger: Ledger, run_id: str, lanes: Sequence[Lane], at: int, *, one_followup: bool = False
) -> list[StoredMessage]:
    """Give what one boundary reads: at most 32 messages or 64 KiB, but always the first (A14).

    The rest stays where it is, for the next boundary. What is stale is told so on the way (A13).

    Args:
        ledger: inside a transaction.
        run_id: the run.
        lanes: what is read, in this order.
        at: now, in microseconds since the epoch, UTC.
        one_followup: whether ``next_turn`` gives one message instead of all (T6).
    """
    claimed: list[StoredMessage] = []
    room = MAX_TAKE_BYTES
    for lane in lanes:
        for message in _in_order(ledger, run_id, lane):
            if message.stale(at):
                ledger.append(MessageExpired(message_id=message.id, run_id=run_id), at)
                continue
            size = len(message.body.encode())
            if len(claimed) == MAX_TAKE_MESSAGES or (claimed and size > room):
                return claimed
            room -= size
            claimed.append(message)
            if one_followup and lane is Lane.NEXT_TURN:
                break
    return claimed


def record_delivery(ledger: Ledger, message: StoredMessage, delivery: MessageDelivered, at: int) -> None:
    """Put a message into the history of its run, and record that it stands there (A2).

    Raises:
        ValueError: another message stands there, or behind: a loop has lost count of its history.
    """
    last_read = ledger.last_read(delivery.run_id)
    if last_read is not None and last_read[1] >= delivery.history_index:
        raise ValueError(
            f"{delivery.run_id} has mail at index {last_read[1]} of its history already,"
            f" and would read {message.id} at {delivery.history_index}"
        )
    ledger.append(delivery, at)
    entry = User(message.body)
    ledger.append(HistoryAppended(run_id=delivery.run_id, index=delivery.history_index, entry=entry), at)


def _deliver(
    ledger: Ledger, run_id: str, lanes: Sequence[Lane], boundary: Boundary, at: int
) -> tuple[Delivered, ...]:
    claimed = claim(ledger, run_id, lanes, at, one_followup=boundary.one_followup)
    for index, message in enumerate(claimed, boundary.history_index):
        delivery = MessageDelivered(
            run_id=run_id,
            turn=boundary.turn,
            round=boundary.round,
            history_index=index,
            message_id=message.id,
        )
        record_delivery(ledger, message, delivery, at)
    return tuple(map(_delivered, claimed))


def _delivered(message: StoredMessage) -> Delivered:
    by_operator = message.sender.kind is SenderKind.OPERATOR
    return Delivered(message.body, message.wake, by_operator and message.wake, message.id)


def _in_order(ledger: Ledger, run_id: str, lane: Lane) -> Iterator[StoredMessage]:
    """Give a lane page by page: a full one is never loaded for the few that a boundary takes."""
    page = ledger.claimable(run_id, lane, 0, _PAGE)
    yield from page
    while len(page) == _PAGE:
        page = ledger.claimable(run_id, lane, page[-1].place, _PAGE)
        yield from page
