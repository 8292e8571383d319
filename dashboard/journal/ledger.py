"""The ledger: what the rules of mail need of a store, and a message as one holds it.

There are two stores, a SQLite file (``store.Store``) and plain memory (``memory.MemoryLedger``). The rules are
written once, in ``mailroom``, on what stands here. Tables index and events tell: nothing changes a message but an
event that is appended, and ``accepted`` and ``moved`` say for both stores what it makes of the message.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from dashboard.core.events import (
    KnownEvent,
    MessageBound,
    MessageDelivered,
    MessageEdited,
    MessageExpired,
    MessageHeld,
    MessagePromoted,
    MessageQueued,
    MessageReturned,
    MessageTaken,
    MessageWithdrawn,
    Unknown,
)
from dashboard.core.labels import RunRef
from dashboard.core.messages import Lane, Message, MessageState, ReturnReason, Sender

CLOSED = "closed"  # what ``over`` says of a session that its host closed; anything else is how it was lost
MessageMove = (
    MessageBound | MessageTaken | MessageDelivered | MessageReturned | MessageExpired
    | MessageWithdrawn | MessageEdited | MessageHeld | MessagePromoted
)  # fmt: skip


class StoredMessage(msgspec.Struct, frozen=True):
    """A message as it stands now. Its text can be read whatever became of it (A1).

    Args:
        original: the message as it was first sent, which a repeated id is compared with (A3).
        address: as the sender wrote it.
        to: the display name of its run, or the bare label while it is unbound.
        label: the label that it was sent to.
        run_id: its run, once there is one.
        state: open, or how it ended.
        lane: where it waits, or waited last.
        body: the text, as last edited.
        accepted: the seq of its acceptance.
        place: the seq that orders it within its lane; an edit keeps it, a promotion gives a new one.
        held: whether it is kept out of reading and waking.
        taken: whether a loop that is not ours has drained it; whether it read it shows later.
        reason: why it came back, if it did.
        round: the round that read it, if one did.
    """

    original: Message
    address: str
    to: str
    label: str
    run_id: str | None
    state: MessageState
    lane: Lane
    body: str
    accepted: int
    place: int
    held: bool = False
    taken: bool = False
    reason: ReturnReason | None = None
    round: int | None = None

    @property
    def id(self) -> str:
        """The id, which its sender made."""
        return self.original.id

    @property
    def wake(self) -> bool:
        """Whether it starts an idle agent, or extends one that would end."""
        return self.original.wake

    @property
    def sender(self) -> Sender:
        """Who wrote it."""
        return self.original.sender

    @property
    def composed_at(self) -> int:
        """When it was written, in microseconds since the epoch, UTC."""
        return self.original.composed_at

    @property
    def expires_at(self) -> int | None:
        """When it stops being worth reading, in microseconds since the epoch, UTC, if ever."""
        return self.original.expires_at

    @property
    def batch_id(self) -> str | None:
        """The broadcast that it is a part of, if it is (A6)."""
        return self.original.batch_id

    @property
    def claimable(self) -> bool:
        """Whether its run can read it: it waits, is not held, and no foreign loop has taken it."""
        return self.state is MessageState.QUEUED and not self.held and not self.taken

    def stale(self, at: int) -> bool:
        """Whether its time has passed (A13).

        Args:
            at: now, in microseconds since the epoch, UTC.
        """
        return self.expires_at is not None and self.expires_at < at


def accepted(event: MessageQueued, label: str, seq: int) -> StoredMessage:
    """Give the message that an acceptance begins.

    Args:
        event: the acceptance.
        label: of its run, or the one that it waits for.
        seq: of the acceptance.
    """
    original = Message(
        event.message_id, event.body, event.lane, event.wake, event.sender, event.composed_at, event.expires_at,
        event.batch_id,
    )  # fmt: skip
    return StoredMessage(
        original=original,
        address=event.address or event.to,
        to=event.to,
        label=label,
        run_id=event.run_id,
        state=MessageState.QUEUED if event.run_id else MessageState.UNBOUND,
        lane=event.lane,
        body=event.body,
        accepted=seq,
        place=seq,
    )


def moved(message: StoredMessage, event: MessageMove, seq: int) -> StoredMessage:
    """Give the message as it stands after an event; one that has come to its end stays there (A1).

    Args:
        message: as it stands before.
        event: what happened to it.
        seq: of that event.
    """
    if not message.state.open:
        return message
    match event:
        case MessageBound():
            return msgspec.structs.replace(message, state=MessageState.QUEUED, run_id=event.run_id, to=event.to)
        case MessageTaken():
            return msgspec.structs.replace(message, taken=True)
        case MessageEdited():
            return msgspec.structs.replace(message, body=event.body)
        case MessageHeld():
            return msgspec.structs.replace(message, held=event.held)
        case MessagePromoted():
            return msgspec.structs.replace(message, lane=Lane.NEXT_STEP, place=seq)
        case MessageDelivered():
            return msgspec.structs.replace(message, state=MessageState.DELIVERED, round=event.round)
        case MessageWithdrawn():
            return msgspec.structs.replace(message, state=MessageState.WITHDRAWN)
        case MessageExpired():
            return msgspec.structs.replace(message, state=MessageState.EXPIRED)
        case MessageReturned():
            return msgspec.structs.replace(message, state=MessageState.UNDELIVERABLE, reason=event.reason)


class Ledger(Protocol):
    """One session's events, and the tables that index them. All but the queries needs an open transaction."""

    def transaction(self, durable: bool = True) -> AbstractContextManager[None]:
        """Write in one go, or not at all.

        Args:
            durable: wait for the disk, where there is one.
        """
        ...

    def savepoint(self) -> AbstractContextManager[None]:
        """Undo what fails inside, and only that."""
        ...

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open still."""
        ...

    def append(self, event: KnownEvent | Unknown, at: int) -> int:
        """Append an event, bring the tables in line with it, and do what follows from it.

        Args:
            event: what happened.
            at: when, in microseconds since the epoch, UTC.

        Returns:
            Its seq: gap-free, from 1.
        """
        ...

    @property
    def over(self) -> str | None:
        """Why nothing here reads mail any more; ``None`` while a host may."""
        ...

    def end(self, why: str) -> None:
        """Note that nothing here reads mail any more."""
        ...

    def runs(self) -> list[RunRef]:
        """Give every run, in the order in which they started."""
        ...

    def labels(self) -> set[str]:
        """Give every label that was declared or seen."""
        ...

    def message(self, message_id: str) -> StoredMessage | None:
        """Give a message by its id."""
        ...

    def messages(self) -> list[StoredMessage]:
        """Give every message, in the order of acceptance."""
        ...

    def open_of(self, run_id: str) -> list[StoredMessage]:
        """Give all that is open of a run, held and taken ones too, in the order of acceptance."""
        ...

    def taken(self, run_id: str) -> list[StoredMessage]:
        """Give what a loop that is not ours has drained and not confirmed, in the order of reading."""
        ...

    def unbound(self, label: str | None = None) -> list[StoredMessage]:
        """Give what waits for the next run of a label, or of any, in the order of acceptance."""
        ...

    def claimable(self, run_id: str, lane: Lane, after: int, limit: int) -> list[StoredMessage]:
        """Give what a run can read of a lane, stale or not, in the order of place.

        Args:
            run_id: the run.
            lane: the lane.
            after: the place to begin behind; 0 for the head of the lane.
            limit: how many at most.
        """
        ...

    def wakes(self, run_id: str, at: int, lane: Lane | None = None) -> bool:
        """Whether anything that a run can read wakes it (T2, T3).

        Args:
            run_id: the run.
            at: now, in microseconds since the epoch, UTC: what is stale wakes nobody.
            lane: the only lane to look at; both by default.
        """
        ...

    def count_open(self, run_id: str) -> int:
        """Count all that is open of a run, held and taken ones too (A14)."""
        ...

    def count_unbound(self, label: str) -> int:
        """Count what waits for the next run of a label (A14)."""
        ...

    def open_controls(self) -> list[tuple[str, str | None]]:
        """Give the id and the run of each request that nobody has answered, in the order of asking."""
        ...

    def last_read(self, run_id: str) -> tuple[int, int] | None:
        """Give the round and the history index of the last message that a run read."""
        ...


def is_live(ledger: Ledger, run_id: str) -> bool:
    """Whether a run has started here and has not ended."""
    return any(run.live and run.run_id == run_id for run in ledger.runs())
