"""Mail that nobody will read comes back to its sender, each message with the reason."""

from __future__ import annotations

from collections.abc import Iterable

from dashboard.core.events import MessageReturned
from dashboard.core.messages import ReturnReason
from dashboard.journal.ledger import Ledger, StoredMessage


def return_open(ledger: Ledger, messages: Iterable[StoredMessage], reason: ReturnReason, at: int) -> None:
    """Return messages that are open; of one that a foreign loop has taken nobody knows whether it was read (A1).

    Args:
        ledger: inside a transaction.
        messages: what comes back.
        reason: why, for all that was not taken.
        at: now, in microseconds since the epoch, UTC.
    """
    for message in messages:
        why = ReturnReason.IN_DOUBT if message.taken else reason
        ledger.append(MessageReturned(message_id=message.id, reason=why, run_id=message.run_id), at)
