"""Mail of a run whose loop is not ours, and only drains: taken first, delivered once that loop goes on.

A drain hands texts over before anybody knows whether they will be sent to a model. They are ``taken`` until the
loop drains again or the run ends well: then they are delivered. If it ends otherwise, they come back ``in_doubt``
(A1).
"""

from __future__ import annotations

from dashboard.core.events import MessageDelivered, MessageTaken, NoticeLevel, NoticeRaised
from dashboard.core.messages import Lane, ReturnReason
from dashboard.journal.ledger import Ledger
from dashboard.journal.mailroom.claiming import claim, record_delivery
from dashboard.journal.mailroom.returning import return_open

_LANES = (Lane.NEXT_STEP, Lane.NEXT_TURN)


def drain(ledger: Ledger, run_id: str, at: int) -> list[str]:
    """Confirm what the last drain gave, and take what waits now, if any of it wakes.

    A text always extends a foreign loop, so that injects alone stay queued (T2); and as one kind of drain is all
    that such a loop has, follow-ups come with it too, after everything in ``next_step``.

    Args:
        ledger: inside a transaction.
        run_id: the run.
        at: now, in microseconds since the epoch, UTC.

    Returns:
        The bodies, exactly as typed.
    """
    confirm(ledger, run_id, at)
    if not ledger.wakes(run_id, at):
        return []
    claimed = claim(ledger, run_id, _LANES, at)
    for message in claimed:
        ledger.append(MessageTaken(message_id=message.id, run_id=run_id), at)
    return [message.body for message in claimed]


def confirm(ledger: Ledger, run_id: str, at: int) -> None:
    """Deliver what a run has taken: its loop came back for more, or ended well, and so has read it.

    Such a loop tells neither its rounds nor its history. The drains that gave it something are counted as rounds,
    from 1, and what it read stands in a history of its own, from index 0.
    """
    taken = ledger.taken(run_id)
    if not taken:
        return
    last_round, last_index = ledger.last_read(run_id) or (0, -1)
    for index, message in enumerate(taken, last_index + 1):
        delivery = MessageDelivered(
            run_id=run_id, turn=1, round=last_round + 1, history_index=index, message_id=message.id
        )
        record_delivery(ledger, message, delivery, at)


def return_unreadable(ledger: Ledger, run_id: str, why: str, at: int) -> None:
    """Return what is open of a run whose drain has failed: its loop goes on, and will not ask again (P4).

    Args:
        ledger: inside a transaction.
        run_id: the run.
        why: what failed, for people.
        at: now, in microseconds since the epoch, UTC.
    """
    text = f"the run's mail could not be read, and it goes on without: {why}"
    ledger.append(NoticeRaised(level=NoticeLevel.ERROR, text=text, run_id=run_id), at)
    return_open(ledger, ledger.open_of(run_id), ReturnReason.READER_FAILED, at)
