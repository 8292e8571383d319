"""A message comes in: accepted for exactly one run, or refused with a reason, and then nothing of it is stored."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dashboard.core.errors import SendRefusedError
from dashboard.core.events import MessageQueued
from dashboard.core.labels import Bound, Refused, Unbound, resolve
from dashboard.core.messages import MAX_BODY_BYTES, MAX_OPEN_PER_RUN, Message, MessageState, Receipt, Refusal
from dashboard.core.sessions import BatchPart, BatchResult
from dashboard.core.text import storable
from dashboard.journal.ledger import Ledger, StoredMessage


def accept(ledger: Ledger, address: str, message: Message, at: int) -> Receipt:
    """Store a message for a run, or refuse it and store nothing (A1, A5).

    Args:
        ledger: inside a transaction.
        address: a run id, ``label#ordinal`` or a bare label.
        message: as its sender made it.
        at: now, in microseconds since the epoch, UTC.

    Returns:
        The receipt; for an id that is known with the same content, that of the first, as it stands now (A3).

    Raises:
        SendRefusedError: empty, too large, full, unknown, ambiguous, run ended, not reading, or the id reused.
    """
    message = msgspec.structs.replace(message, body=storable(message.body))
    known = ledger.message(message.id)
    if known is not None:
        return _repeated(known, address, message)
    check_body(message.body)
    if ledger.over is not None:
        why = f"the session is over ({ledger.over}), and nothing in it reads mail"
        raise SendRefusedError(Refusal.RUN_ENDED, why)
    found = resolve(address, ledger.runs(), ledger.labels())
    if isinstance(found, Refused):
        fix = "Pick one of them" if found.candidates else ""
        raise SendRefusedError(found.refusal, found.what, found.candidates, fix)
    run = found.run if isinstance(found, Bound) else None
    to = found.run.name if isinstance(found, Bound) else found.label
    _check_room(ledger, found, to)
    ledger.append(
        MessageQueued(
            message_id=message.id,
            to=to,
            body=message.body,
            lane=message.lane,
            wake=message.wake,
            sender=message.sender,
            composed_at=message.composed_at,
            run_id=run.run_id if run else None,
            expires_at=message.expires_at,
            batch_id=message.batch_id,
            address="" if address == to else address,
        ),
        at,
    )
    state = MessageState.QUEUED if run else MessageState.UNBOUND
    return Receipt(message.id, to, run.run_id if run else None, state)


def broadcast(ledger: Ledger, batch: Sequence[BatchPart], at: int) -> tuple[BatchResult, ...]:
    """Store a broadcast, each part for its run; a part that is refused undoes only itself (A6).

    Args:
        ledger: inside a transaction.
        batch: the recipients as they were shown, each with a message of its own.
        at: now, in microseconds since the epoch, UTC.

    Returns:
        What became of each part, in the same order.
    """
    return tuple(_accept_part(ledger, part, at) for part in batch)


def check_body(body: str) -> None:
    """Refuse a body that says nothing, or is too much for one message (A14).

    Raises:
        SendRefusedError: empty, or too large.
    """
    size = len(body.encode())
    if not body.strip():
        raise SendRefusedError(Refusal.EMPTY, "there is nothing in the message but white space")
    if size > MAX_BODY_BYTES:
        raise SendRefusedError(
            Refusal.TOO_LARGE,
            f"the message is {size:,} bytes, and {MAX_BODY_BYTES:,} is the most",
            fix="Put the text into a file, and name the file",
        )


def receipt(message: StoredMessage) -> Receipt:
    """Give the receipt of a message as it stands now."""
    return Receipt(message.id, message.to, message.run_id, message.state)


def _accept_part(ledger: Ledger, part: BatchPart, at: int) -> BatchResult:
    try:
        with ledger.savepoint():
            return BatchResult(part, accept(ledger, part.run_id, part.message, at))
    except SendRefusedError as refused:
        return BatchResult(part, refusal=refused.refusal, what=refused.what)


def _repeated(known: StoredMessage, address: str, message: Message) -> Receipt:
    if known.address != address or known.original != message:
        raise SendRefusedError(
            Refusal.ID_REUSED, f"the id {message.id} was used for another message", fix="Send it under a new id"
        )
    return receipt(known)


def _check_room(ledger: Ledger, found: Bound | Unbound, to: str) -> None:
    if isinstance(found, Bound):
        waiting = ledger.count_open(found.run.run_id)
    else:
        waiting = ledger.count_unbound(found.label)
    if waiting >= MAX_OPEN_PER_RUN:
        raise SendRefusedError(
            Refusal.FULL,
            f"{to} has {waiting:,} messages waiting, and {MAX_OPEN_PER_RUN:,} is the most",
            fix="Wait until it has read some",
        )
