"""What the projection knows of each run and each message."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from dashboard.core.events import ApprovalRequested, MessageForwarded
from dashboard.core.labels import display_name, short_name
from dashboard.core.messages import Lane, MessageState, Preset, ReturnReason, Sender, preset_of
from dashboard.core.outcomes import Outcome
from dashboard.core.transcript import TranscriptEntry


class RunState(StrEnum):
    """What a run is doing, in one word. The last five are its end."""

    WORKING = "working"  # the model has the word
    TOOL = "in tool"
    WAITING = "waiting"  # for its sub-agents
    APPROVAL = "needs approval"  # a tool waits for somebody's word
    PAUSED = "paused"  # held at a boundary
    BLOCKED = "blocked"  # until something outside of it gives way
    IDLE = "idle"  # a root between two turns
    DONE = "done"
    CAPPED = "capped"  # done, but its round budget ran out
    CANCELLED = "cancelled"
    ERROR = "error"
    LOST = "lost"


ENDS = {
    Outcome.ANSWERED: RunState.DONE,
    Outcome.WRAP_UP: RunState.CAPPED,
    Outcome.CANCELLED: RunState.CANCELLED,
    Outcome.ERROR: RunState.ERROR,
    Outcome.LOST: RunState.LOST,
}


@dataclass(slots=True)
class RunView:
    """One run, as the events so far tell it. Times are microseconds since the epoch, UTC."""

    run_id: str
    label: str
    ordinal: int
    task: str
    parent_run_id: str | None
    depth: int
    reading: bool
    started_at: int
    max_iterations: int
    last_at: int = 0  # when it last did something itself
    ended_at: int = 0
    outcome: Outcome | None = None
    answer: str = ""
    error: str = ""
    turn: int = 0
    round: int = 0
    step: int = 0
    idle: bool = False
    paused: bool = False
    paused_by: str = ""
    blocked_on: str | None = None  # until its next event
    approvals: dict[str, ApprovalRequested] = field(default_factory=dict)  # those without an answer, in order
    tools: dict[str, tuple[str, int]] = field(default_factory=dict)  # running calls: id to name and start
    live_children: int = 0
    children: list[str] = field(default_factory=list)
    waiting: dict[str, None] = field(default_factory=dict)  # ids of messages not read yet, in order
    input_tokens: int = 0
    output_tokens: int = 0
    entries: list[TranscriptEntry] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The display name, such as ``subagent-researcher#2``."""
        return display_name(self.label, self.ordinal)

    @property
    def short(self) -> str:
        """The display name without ``subagent-``."""
        return short_name(self.label, self.ordinal)

    @property
    def live(self) -> bool:
        """Whether it has not ended."""
        return self.outcome is None

    @property
    def state(self) -> RunState:
        """What it is doing."""
        if self.outcome is not None:
            return ENDS[self.outcome]
        if self.approvals:  # before all else: it waits for a person
            return RunState.APPROVAL
        if self.blocked_on is not None:
            return RunState.BLOCKED
        if self.paused:  # also between two turns: mail does not wake it then
            return RunState.PAUSED
        if self.idle:
            return RunState.IDLE
        if self.tools:
            return RunState.WAITING if self.live_children else RunState.TOOL
        return RunState.WORKING

    @property
    def tokens(self) -> int:
        """Everything that its model read and wrote."""
        return self.input_tokens + self.output_tokens


@dataclass(slots=True)
class MessageView:
    """One message and its fate so far, with the body and the lane that it has now.

    Times are microseconds since the epoch, UTC.
    """

    message_id: str
    to: str
    run_id: str | None
    body: str
    lane: Lane
    wake: bool
    sender: Sender
    composed_at: int
    queued_at: int
    state: MessageState
    reason: ReturnReason | None = None
    round: int = 0
    ended_at: int = 0
    batch_id: str | None = None  # the broadcast that it is a part of (A6)
    taken: bool = False  # by a loop that has not said yet that it read it
    held: bool = False  # kept out of reading and waking until it is released
    held_by: str = ""
    edited: bool = False  # the body is not what its sender sent first
    edited_by: str = ""
    withdrawn_by: str = ""
    forwarded: list[MessageForwarded] = field(default_factory=list)  # once it came back: to whom it went then

    @property
    def preset(self) -> Preset | None:
        """Steer, follow-up or inject; ``None`` for the fourth combination."""
        return preset_of(self.lane, self.wake)
