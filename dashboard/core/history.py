"""The entries of a run's history: exactly what is stored, sent and sent again (H2)."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Provenance(StrEnum):
    """Marks a prompt that the loop made itself. A delivered message never carries one (P8)."""

    CONTINUATION = "continuation"
    FINAL_ANSWER = "final_answer"


class ToolCall(msgspec.Struct, frozen=True):
    """One call that the model asked for; the arguments are the JSON text it wrote."""

    id: str
    name: str
    arguments: str


class System(msgspec.Struct, frozen=True, tag_field="role", tag="system"):
    """What the agent is told that it is."""

    content: str


class User(msgspec.Struct, frozen=True, tag_field="role", tag="user", omit_defaults=True):
    """The task, a delivered message, or a prompt of the loop's own (then with its provenance)."""

    content: str
    provenance: Provenance | None = None


class Assistant(msgspec.Struct, frozen=True, tag_field="role", tag="assistant", omit_defaults=True):
    """One model turn: its text, its reasoning, and the tool calls that it asked for."""

    content: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()


class ToolResult(msgspec.Struct, frozen=True, tag_field="role", tag="tool", omit_defaults=True):
    """What the tool layer returned for one call, after its cap (H1)."""

    call_id: str
    name: str
    content: str
    is_error: bool = False


Entry = System | User | Assistant | ToolResult
