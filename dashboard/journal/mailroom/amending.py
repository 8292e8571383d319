"""A message that waits can be withdrawn, edited, held and promoted; from its end on it is too late (A10)."""

from __future__ import annotations

from dashboard.core.errors import SendRefusedError
from dashboard.core.events import MessageEdited, MessageHeld, MessagePromoted, MessageWithdrawn
from dashboard.core.messages import (
    REASONS,
    Amendment,
    Edit,
    Hold,
    Lane,
    MessageState,
    Promote,
    Receipt,
    Refusal,
    Sender,
    SenderKind,
    Withdraw,
)
from dashboard.core.text import storable
from dashboard.journal.ledger import Ledger, MessageMove, StoredMessage, moved
from dashboard.journal.mailroom.accepting import check_body, receipt


def amend(ledger: Ledger, message_id: str, change: Amendment, by: Sender, at: int) -> Receipt:
    """Change a message that is still open; a change that changes nothing succeeds, and is not told (A10).

    Args:
        ledger: inside a transaction.
        message_id: the message.
        change: what to do to it.
        by: who does it. An agent amends what it sent itself and nothing else: an operator's message that it had
            written would look like the operator's (A12).
        at: now, in microseconds since the epoch, UTC.

    Returns:
        The receipt, as the message stands now.

    Raises:
        SendRefusedError: ``unknown``, ``too_late``, or the new body is empty or too large; nothing was changed.
    """
    message = ledger.message(message_id)
    if message is None or (by.kind is SenderKind.AGENT and message.sender != by):
        whose = "no message" if by.kind is SenderKind.OPERATOR else f"no message of {by.name}"
        raise SendRefusedError(Refusal.UNKNOWN, f"{whose} has the id {message_id}")
    if message.taken or not message.state.open:
        raise SendRefusedError(Refusal.TOO_LATE, f"the message {_fate(message)}")
    event = _told(message, change, by.name)
    if event is not None:
        message = moved(message, event, ledger.append(event, at))
    return receipt(message)


def _told(message: StoredMessage, change: Amendment, by: str) -> MessageMove | None:
    """Give the event that tells a change, or ``None`` where the message is so already."""
    message_id, run_id = message.id, message.run_id
    match change:
        case Withdraw():
            return MessageWithdrawn(message_id=message_id, by=by, run_id=run_id)
        case Edit():
            body = storable(change.body)
            check_body(body)
            if body != message.body:
                return MessageEdited(message_id=message_id, body=body, by=by, run_id=run_id)
        case Hold():
            if change.held != message.held:
                return MessageHeld(message_id=message_id, held=change.held, by=by, run_id=run_id)
        case Promote():
            if message.lane is not Lane.NEXT_STEP:
                return MessagePromoted(message_id=message_id, by=by, run_id=run_id)
    return None


def _fate(message: StoredMessage) -> str:
    match message.state:
        case MessageState.DELIVERED:
            return f"was read in round {message.round}"
        case MessageState.WITHDRAWN:
            return "was withdrawn"
        case MessageState.EXPIRED:
            return "expired before it was read"
        case MessageState.UNDELIVERABLE if message.reason is not None:
            return f"came back: {REASONS[message.reason]}"
        case _:
            return f"was taken by {message.to}, which has not shown yet that it read it"
