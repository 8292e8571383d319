"""What a streamed run gives: chunks for display, made from the run's events."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from dashboard.core.events import (
    ApprovalRequested,
    HistoryAppended,
    KnownEvent,
    LoopContinued,
    MessageDelivered,
    ReasoningDelta,
    RunFinished,
    TextDelta,
    ToolCalled,
    ToolReturned,
)
from dashboard.core.history import User


class ChunkKind(StrEnum):
    """What a chunk is. INBOX is an operator's words, CONTINUING the loop's own prompt: never mixed (P7)."""

    THINKING = "thinking"
    GENERATING = "generating"
    TOOL_CALLING = "tool_calling"
    TOOL_RETURNED = "tool_returned"
    APPROVAL = "approval"
    CONTINUING = "continuing"
    INBOX = "inbox"
    DONE = "done"


class Chunk(msgspec.Struct, frozen=True):
    """One piece of a streamed run. Source: "Give a running agent an inbox", "Seeing it happen"; P7.

    Args:
        kind: what it is.
        content: by kind: ``text`` for thinking, generating and inbox; ``id``, ``name`` and ``arguments`` for a
            tool call, and ``approval_id`` as well for one that waits for somebody's word; ``id``, ``name``,
            ``text`` and ``is_error`` for what came back; ``kind`` (``continuation`` or ``final_answer``) for
            continuing; ``outcome``, ``answer`` and ``error`` for done, the last.
    """

    kind: ChunkKind
    content: dict[str, Any]

    def is_inbox(self) -> bool:
        """Whether it is a message that the next round reads; true for nothing else (P7)."""
        return self.kind is ChunkKind.INBOX


class Chunker:
    """Turns one run's events, in order, into chunks."""

    def __init__(self) -> None:
        self._delivered: int | None = None
        self._names: dict[str, str] = {}

    def take(self, event: KnownEvent) -> Chunk | None:
        """Give the chunk that an event makes, if it makes one."""
        match event:
            case TextDelta():
                return Chunk(ChunkKind.GENERATING, {"text": event.text})
            case ReasoningDelta():
                return Chunk(ChunkKind.THINKING, {"text": event.text})
            case ToolCalled():
                self._names[event.tool_call_id] = event.name
                called = {"id": event.tool_call_id, "name": event.name, "arguments": event.arguments}
                return Chunk(ChunkKind.TOOL_CALLING, called)
            case ToolReturned():
                name = self._names.pop(event.tool_call_id, "")
                back = {"id": event.tool_call_id, "name": name, "text": event.text, "is_error": event.is_error}
                return Chunk(ChunkKind.TOOL_RETURNED, back)
            case ApprovalRequested():
                asked = {"id": event.tool_call_id, "name": event.name, "arguments": event.arguments}
                return Chunk(ChunkKind.APPROVAL, {**asked, "approval_id": event.approval_id})
            case LoopContinued():
                return Chunk(ChunkKind.CONTINUING, {"kind": event.kind.value})
            case MessageDelivered():
                self._delivered = event.history_index
                return None
            case HistoryAppended(entry=User(content)) if event.index == self._delivered:
                self._delivered = None
                return Chunk(ChunkKind.INBOX, {"text": content})
            case RunFinished():
                end = {"outcome": event.outcome.value, "answer": event.answer, "error": event.error}
                return Chunk(ChunkKind.DONE, end)
            case _:
                return None
