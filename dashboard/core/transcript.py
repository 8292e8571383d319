"""The entries of a run's transcript, as plain data that a view draws. One per thing that happened, in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from dashboard.core.events import ApprovalAnswer
from dashboard.core.messages import Sender


class TextKind(StrEnum):
    """What a piece of text in a transcript is."""

    TASK = "task"
    ANSWER = "text"  # the model's words
    REASONING = "reasoning"
    LOOP = "loop"  # the loop's own prompt: a nudge, or the wrap-up
    PROMPT = "prompt"  # a user entry that is neither the task nor recorded as mail
    NOTICE = "notice"
    PAUSED = "paused"  # the text is who held the run
    RESUMED = "resumed"  # the text is who let it go on
    STEPPED = "stepped"  # the text is who let it make one round
    BLOCKED = "blocked"  # the text is what it could not go on without
    TURN_CANCELLED = "turn cancelled"  # the text is who cancelled it
    TURN_FAILED = "turn failed"  # the text is what went wrong
    END = "end"
    RAW = "raw"  # an event of a type that this version does not know


@dataclass(slots=True)
class TextEntry:
    """Text that may still grow. ``version`` changes with every change, so that a view can keep what it drew."""

    kind: TextKind
    seq: int
    at: int  # microseconds since the epoch, UTC
    round: int
    version: int = 0
    rewritten: int = 0  # how often it was replaced: between two of these it only grew
    size: int = 0  # characters
    _parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All of it; joined once per growth."""
        if len(self._parts) > 1:
            self._parts[:] = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    def since(self, size: int) -> str:
        """Give what was added behind so many characters, at the cost of that and not of the whole."""
        missing = self.size - size
        found: list[str] = []
        for part in reversed(self._parts):
            if missing <= 0:
                break
            found.append(part[-missing:])
            missing -= len(part)
        return "".join(reversed(found))

    def grow(self, text: str) -> None:
        """Add a piece at the end."""
        self._parts.append(text)
        self.size += len(text)
        self.version += 1

    def replace(self, text: str) -> None:
        """Put the stored text in the place of what was streamed."""
        self._parts[:] = [text]
        self.size = len(text)
        self.rewritten += 1
        self.version += 1


@dataclass(slots=True)
class ToolEntry:
    """One tool call, and what it returned once it has."""

    seq: int
    at: int
    round: int
    tool_call_id: str
    name: str
    arguments: str
    version: int = 0
    result: str | None = None
    is_error: bool = False
    elapsed: int = 0  # microseconds
    asking: bool = False  # it has not begun: somebody has to allow it first
    abandoned: bool = False  # its turn ended before it returned

    def ask(self, asking: bool) -> None:
        """Note that it waits to be allowed, or no longer does."""
        self.asking = asking
        self.version += 1

    def abandon(self) -> None:
        """Note that nothing will come back."""
        self.abandoned = True
        self.version += 1

    def settle(self, result: str, is_error: bool, elapsed: int = 0) -> None:
        """Note what came back."""
        self.result, self.is_error, self.elapsed = result, is_error, elapsed
        self.version += 1


@dataclass(slots=True)
class ApprovalEntry:
    """A tool call that somebody has to allow, and the answer once there is one."""

    seq: int
    at: int
    round: int
    name: str
    arguments: str
    expires_at: int | None  # when it counts as denied
    version: int = 0
    answer: ApprovalAnswer | None = None
    by: str = ""
    reason: str = ""
    answered_at: int = 0

    def settle(self, answer: ApprovalAnswer, at: int, by: str = "", reason: str = "") -> None:
        """Note how it was answered, or that nobody will answer any more."""
        self.answer, self.answered_at, self.by, self.reason = answer, at, by, reason
        self.version += 1


@dataclass(slots=True)
class MessageEntry:
    """A message, where the run read it or where it came back. Only a record makes one, never a text."""

    seq: int
    at: int  # when it was read
    round: int
    text: str
    sender: Sender | None  # None where a plain reader brought it and nobody knows
    composed_at: int
    message_id: str | None = None
    version: int = 0
    returned: str = ""  # why it was not read; empty for one that was
    edited: bool = False  # these are not the words that its sender sent first
    edited_by: str = ""


TranscriptEntry = TextEntry | ToolEntry | ApprovalEntry | MessageEntry
