"""Everything that can happen in a session, as frozen structs with names in the past tense.

Field names follow AG-UI 1.0 in snake case where it has one. The type's name is the tag in the journal; a field
that is added later needs a default, and a type that this version does not know is kept as ``Unknown``.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from dashboard.core.history import Entry, Provenance
from dashboard.core.messages import Lane, ReturnReason, Sender
from dashboard.core.outcomes import Outcome


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
    """A turn is over: it came to its answer, failed, or was cancelled; a root is idle from here."""

    run_id: str
    turn: int
    answer: str
    outcome: Outcome = Outcome.ANSWERED
    error: str = ""  # what went wrong, or who cancelled it


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


class RunPaused(Event, frozen=True, tag="RunPaused"):
    """A run is held at a boundary. Its mail goes on: it can be written to, and reads that when it goes on."""

    run_id: str
    by: str = ""


class RunResumed(Event, frozen=True, tag="RunResumed"):
    """A held run goes on: for good, or for one round."""

    run_id: str
    by: str = ""
    one_round: bool = False


class RunBlocked(Event, frozen=True, tag="RunBlocked"):
    """A run could not go on until something outside of it gave way, such as a journal that cannot be written."""

    run_id: str
    on: str


class BudgetExtended(Event, frozen=True, tag="BudgetExtended"):
    """A message reset the round budget of its turn, for the so many-th time (P9)."""

    run_id: str
    round: int
    extensions: int


class ApprovalRequested(Event, frozen=True, tag="ApprovalRequested"):
    """A tool waits for an operator's word."""

    run_id: str
    approval_id: str
    tool_call_id: str
    name: str
    arguments: str
    expires_at: int | None = None  # when it counts as denied, in microseconds since the epoch, UTC


class ApprovalAnswer(StrEnum):
    """How a request for approval ended."""

    ALLOWED = "allowed"
    DENIED = "denied"
    TIMED_OUT = "timed_out"
    ABANDONED = "abandoned"  # its run ended first


class ApprovalAnswered(Event, frozen=True, tag="ApprovalAnswered"):
    """A tool that waited may run, or may not."""

    run_id: str
    approval_id: str
    answer: ApprovalAnswer
    by: str = ""
    reason: str = ""


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
    batch_id: str | None = None
    address: str = ""  # as the sender wrote it; empty where that is ``to``


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


class MessageTaken(Event, frozen=True, tag="MessageTaken"):
    """A loop that is not ours drained a message; that it read it is known once that loop goes on or ends well."""

    message_id: str
    run_id: str


class MessageWithdrawn(Event, frozen=True, tag="MessageWithdrawn"):
    """An operator took a message back before it was read."""

    message_id: str
    by: str
    run_id: str | None = None


class MessageEdited(Event, frozen=True, tag="MessageEdited"):
    """A message that waits has another body; its place is the same."""

    message_id: str
    body: str
    by: str
    run_id: str | None = None


class MessageHeld(Event, frozen=True, tag="MessageHeld"):
    """A message that waits is kept from being read, or no longer."""

    message_id: str
    held: bool
    by: str
    run_id: str | None = None


class MessagePromoted(Event, frozen=True, tag="MessagePromoted"):
    """A follow-up became the last of the steer lane."""

    message_id: str
    by: str
    run_id: str | None = None


class MessageForwarded(Event, frozen=True, tag="MessageForwarded"):
    """An operator sent the text of a message that came back to somebody else, as a message of its own."""

    message_id: str
    to: str  # the display name of who gets it now
    session_id: str  # whose session that is
    as_id: str  # the new message, there
    by: str
    run_id: str | None = None


class ControlAction(StrEnum):
    """What an operator can ask of a host."""

    STOP_SESSION = "stop_session"
    CANCEL = "cancel"  # a run without live sub-agents, or a root's turn (A11)
    CANCEL_SUBTREE = "cancel_subtree"  # a run and every run below it
    PAUSE = "pause"  # hold the run at its next boundary; its mail goes on
    STEP = "step"  # let a held run make one round
    RESUME = "resume"
    ALLOW = "allow"  # answer a request for approval
    DENY = "deny"


class ControlRequested(Event, frozen=True, tag="ControlRequested"):
    """An operator asked the host for something."""

    control_id: str
    action: ControlAction
    by: str
    run_id: str | None = None
    approval_id: str | None = None
    reason: str = ""


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
    | RoundFinished | RunPaused | RunResumed | RunBlocked | BudgetExtended | ApprovalRequested | ApprovalAnswered
    | TextDelta | ReasoningDelta | ToolCalled | ToolReturned | HistoryAppended | LoopContinued
    | MessageQueued | MessageBound | MessageDelivered | MessageReturned | MessageExpired
    | MessageTaken | MessageWithdrawn | MessageEdited | MessageHeld | MessagePromoted | MessageForwarded
    | ControlRequested | ControlApplied | ControlRefused | NoticeRaised
)  # fmt: skip
Delta = TextDelta | ReasoningDelta
