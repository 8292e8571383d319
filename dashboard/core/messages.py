"""What an operator or an agent writes to a run, and the states that it goes through."""

from __future__ import annotations

from enum import StrEnum

import msgspec

MAX_BODY_BYTES = 64 * 1024
MAX_OPEN_PER_RUN = 1_000
MAX_TAKE_MESSAGES = 32
MAX_TAKE_BYTES = 64 * 1024


class Lane(StrEnum):
    """Which boundary reads a message (T1)."""

    NEXT_STEP = "next_step"  # before the next model request
    NEXT_TURN = "next_turn"  # opens the next turn


class Preset(StrEnum):
    """The three ways to write that the console offers: a lane and whether it wakes (T1 to T3)."""

    STEER = "steer"
    FOLLOWUP = "followup"
    INJECT = "inject"

    @property
    def lane(self) -> Lane:
        """The lane of this preset."""
        return Lane.NEXT_TURN if self is Preset.FOLLOWUP else Lane.NEXT_STEP

    @property
    def wake(self) -> bool:
        """Whether it starts an idle agent, or extends one that would end."""
        return self is not Preset.INJECT

    @property
    def words(self) -> str:
        """The name as people write it."""
        return "follow-up" if self is Preset.FOLLOWUP else str(self)

    @property
    def means(self) -> str:
        """One line for the operator."""
        return {
            Preset.STEER: "read this before your next model request",
            Preset.FOLLOWUP: "answer this once you have finished",
            Preset.INJECT: "have this to hand if you make another request",
        }[self]


def preset_of(lane: Lane, wake: bool) -> Preset | None:
    """Give the preset of a lane and a wake, or ``None`` for the fourth combination."""
    return next((preset for preset in Preset if (preset.lane, preset.wake) == (lane, wake)), None)


class SenderKind(StrEnum):
    """Fixed by the interface that was used, never by what was written (A12)."""

    OPERATOR = "operator"
    AGENT = "agent"


class Sender(msgspec.Struct, frozen=True):
    """Who wrote a message: an operator by name, or an agent by its run."""

    kind: SenderKind
    name: str
    run_id: str | None = None


class Message(msgspec.Struct, frozen=True):
    """A message as its sender made it. The client makes the id (A3); the body is kept as typed."""

    id: str
    body: str
    lane: Lane
    wake: bool
    sender: Sender
    composed_at: int  # microseconds since the epoch, UTC
    expires_at: int | None = None
    batch_id: str | None = None  # the broadcast that it is a part of (A6)


class MessageState(StrEnum):
    """Open (``unbound``, ``queued``), or one of four ends (A1)."""

    UNBOUND = "unbound"
    QUEUED = "queued"
    DELIVERED = "delivered"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    UNDELIVERABLE = "undeliverable"

    @property
    def open(self) -> bool:
        """Whether the message still waits."""
        return self in (MessageState.UNBOUND, MessageState.QUEUED)


class ReturnReason(StrEnum):
    """Why a message came back undelivered."""

    RUN_ENDED = "run_ended"
    CANCELLED = "cancelled"
    HOST_LOST = "host_lost"
    READER_FAILED = "reader_failed"
    IN_DOUBT = "in_doubt"


REASONS = {
    ReturnReason.RUN_ENDED: "the run ended before it read it",
    ReturnReason.CANCELLED: "the run, or its turn, was cancelled",
    ReturnReason.HOST_LOST: "the host process died",
    ReturnReason.READER_FAILED: "the run could not read its mail",
    ReturnReason.IN_DOUBT: "the run took it and then failed",
}


class Withdraw(msgspec.Struct, frozen=True, tag="withdraw"):
    """Take a message back: nobody will read it."""


class Edit(msgspec.Struct, frozen=True, tag="edit"):
    """Put another body in the place of a message's; it keeps its place (A4)."""

    body: str


class Hold(msgspec.Struct, frozen=True, tag="hold"):
    """Keep a message out of reading and waking, until it is released with ``held=False``."""

    held: bool = True


class Promote(msgspec.Struct, frozen=True, tag="promote"):
    """Move a follow-up to the tail of the steer lane."""


Amendment = Withdraw | Edit | Hold | Promote  # what can be done to a message while it is open (A10)


class Refusal(StrEnum):
    """Why a message was refused at send, or an amendment of one. Nothing was changed."""

    EMPTY = "empty"
    TOO_LARGE = "too_large"
    FULL = "full"
    UNKNOWN = "unknown"
    AMBIGUOUS = "ambiguous"
    RUN_ENDED = "run_ended"
    NOT_READING = "not_reading"
    ID_REUSED = "id_reused"
    TOO_LATE = "too_late"  # an amendment of a message that has come to its end (A10)


class Receipt(msgspec.Struct, frozen=True):
    """What a sender gets back once a message, or an amendment of it, is stored."""

    message_id: str
    to: str  # the display name, or the bare label while unbound
    run_id: str | None
    state: MessageState
