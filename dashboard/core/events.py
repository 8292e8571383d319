"""Everything that can happen in a session, as frozen structs with names in the past tense.

Field names follow AG-UI 1.0 in snake case where it has one. The type's name is the tag in the journal; a field
that is added later needs a default, and a type that this version does not know is kept as ``Unknown``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from dashboard.core.history import Entry, Provenance
from dashboard.core.messages import Lane, ReturnReason, Sender
from dashboard.core.outcomes import Outcome

EVENT_VERSION = 1


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """Any event. Those of a run carry its ``run_id``."""


class HostStarted(Event, frozen=True, tag="HostStarted"):
    """A host process took the session."""

    pid: int
    version: str
    title: str
    labels: tuple[str, ...] = ()  # what the roster can spawn: known addresses before the first such run


class SessionClosed(Event, frozen=True, tag="SessionClosed"):
    """The host ended on purpose; nothing runs any more."""

    reason: str


class RunStarted(Event, frozen=True, tag="RunStarted"):
    """A run was spawned."""

    run_id: str
    label: str
    ordinal: int
    task: str
    max_iterations: int
    parent_run_id: str | None = None
    parent_tool_call_id: str | None = None
    reading: bool = True  # whether it has an inbox of this session


class RunFinished(Event, frozen=True, tag="RunFinished"):
    """A run ended."""

    run_id: str
    outcome: Outcome
    answer: str = ""
    error: str = ""


class TurnStarted(Event, frozen=True, tag="TurnStarted"):
    """A prompt opened a turn."""

    run_id: str
    turn: int


class TurnFinished(Event, frozen=True, tag="TurnFinished"):
    """A turn came to its answer; a root is idle from here."""

    run_id: str
    turn: int
    answer: str


class RoundStarted(Event, frozen=True, tag="RoundStarted"):
    """A model request was made. ``step`` of ``max_iterations`` is what the budget counts since the last reset."""

    run_id: str
    turn: int
    round: int
    step: int
    max_iterations: int


class RoundFinished(Event, frozen=True, tag="RoundFinished"):
    """The model's reply is complete, its tools are not."""

    run_id: str
    round: int
    input_tokens: int = 0
    output_tokens: int = 0


class TextDelta(Event, frozen=True, tag="TextDelta"):
    """A piece of the model's text, for display: the stored entry is the truth."""

    run_id: str
    round: int
    text: str


class ReasoningDelta(Event, frozen=True, tag="ReasoningDelta"):
    """A piece of the model's reasoning, for display."""

    run_id: str
    round: int
    text: str


class ToolCalled(Event, frozen=True, tag="ToolCalled"):
    """A tool began."""

    run_id: str
    round: int
    tool_call_id: str
    name: str
    arguments: str


class ToolReturned(Event, frozen=True, tag="ToolReturned"):
    """A tool ended; what it returned is exactly what the history holds."""

    run_id: str
    round: int
    tool_call_id: str
    text: str
    is_error: bool = False
    elapsed: int = 0  # microseconds


class HistoryAppended(Event, frozen=True, tag="HistoryAppended"):
    """One entry of what is sent to the model, at its index from 0."""

    run_id: str
    index: int
    entry: Entry


class LoopContinued(Event, frozen=True, tag="LoopContinued"):
    """The loop itself prompted the model: a nudge, or the wrap-up."""

    run_id: str
    round: int
    kind: Provenance


class MessageQueued(Event, frozen=True, tag="MessageQueued"):
    """A message was accepted: for a run, or (``run_id`` absent) for the next run of the label."""

    message_id: str
    to: str
    body: str
    lane: Lane
    wake: bool
    sender: Sender
    composed_at: int
    run_id: str | None = None
    expires_at: int | None = None


class MessageBound(Event, frozen=True, tag="MessageBound"):
    """A message for a label met its run, as that run started."""

    message_id: str
    run_id: str
    to: str


class MessageDelivered(Event, frozen=True, tag="MessageDelivered"):
    """A run read a message: it stands at that index of its history. A plain reader's text has no message id."""

    run_id: str
    turn: int
    round: int
    history_index: int
    message_id: str | None = None


class MessageReturned(Event, frozen=True, tag="MessageReturned"):
    """A message will not be read; its text is in its ``MessageQueued``."""

    message_id: str
    reason: ReturnReason
    run_id: str | None = None


class MessageExpired(Event, frozen=True, tag="MessageExpired"):
    """A message's time had passed when its run came to read it."""

    message_id: str
    run_id: str | None = None


class ControlAction(StrEnum):
    """What an operator can ask of a host."""

    STOP_SESSION = "stop_session"


class ControlRequested(Event, frozen=True, tag="ControlRequested"):
    """An operator asked the host for something."""

    control_id: str
    action: ControlAction
    by: str
    run_id: str | None = None


class ControlApplied(Event, frozen=True, tag="ControlApplied"):
    """The host did it."""

    control_id: str
    action: ControlAction
    run_id: str | None = None


class ControlRefused(Event, frozen=True, tag="ControlRefused"):
    """The host did not do it."""

    control_id: str
    reason: str
    run_id: str | None = None


class NoticeLevel(StrEnum):
    """How much a notice matters."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


class NoticeRaised(Event, frozen=True, tag="NoticeRaised"):
    """Something that people should know and no other event says."""

    level: NoticeLevel
    text: str
    run_id: str | None = None


class Unknown(msgspec.Struct, frozen=True):
    """An event of a type, or a shape, that this version does not know: kept, and shown as a raw row."""

    type: str
    payload: str
    run_id: str | None = None


KnownEvent = (
    HostStarted | SessionClosed | RunStarted | RunFinished | TurnStarted | TurnFinished | RoundStarted
    | RoundFinished | TextDelta | ReasoningDelta | ToolCalled | ToolReturned | HistoryAppended | LoopContinued
    | MessageQueued | MessageBound | MessageDelivered | MessageReturned | MessageExpired
    | ControlRequested | ControlApplied | ControlRefused | NoticeRaised
)  # fmt: skip
Delta = TextDelta | ReasoningDelta
_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[KnownEvent] = msgspec.json.Decoder(KnownEvent)


class Record(msgspec.Struct, frozen=True):
    """An event in its place: ``seq`` is the order, gap-free from 1; ``at`` is an instant in microseconds, UTC."""

    seq: int
    at: int
    event: KnownEvent | Unknown


def encode(event: KnownEvent | Unknown) -> bytes:
    """Give the bytes that the journal stores; an ``Unknown`` goes back as it came."""
    return event.payload.encode() if isinstance(event, Unknown) else _encoder.encode(event)


def decode(payload: bytes) -> KnownEvent | Unknown:
    """Read stored bytes; what does not fit a known type comes back as ``Unknown``, never as an error."""
    try:
        return _decoder.decode(payload)
    except (msgspec.DecodeError, RecursionError):  # a ValidationError is one of the first
        return _unknown(payload)


def run_of(event: KnownEvent | Unknown) -> str | None:
    """Give the run that an event belongs to, or ``None``."""
    run_id: str | None = getattr(event, "run_id", None)
    return run_id


def _unknown(payload: bytes) -> Unknown:
    text = payload.decode("utf-8", "replace")
    try:
        fields: Any = msgspec.json.decode(payload)
    except (msgspec.DecodeError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        return Unknown("unreadable", text)
    run_id = fields.get("run_id")
    return Unknown(str(fields.get("type", "untyped")), text, run_id if isinstance(run_id, str) else None)
