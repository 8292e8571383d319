"""The growing history of one run, and what makes it valid: every tool call has its result (H1, H2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from dashboard.agent.telling import Emit
from dashboard.core.events import HistoryAppended
from dashboard.core.history import Assistant, Entry, ToolCall, ToolResult, User
from dashboard.core.mail import Delivered
from dashboard.core.text import storable


class History:
    """Every entry of a run, in order; it only grows, so that a request is a prefix of the next one (H2).

    Args:
        run_id: the run.
        emit: where appended entries are told.
    """

    def __init__(self, run_id: str, emit: Emit) -> None:
        self._run_id = run_id
        self._emit = emit
        self._entries: list[Entry] = []

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What the next request sends."""
        return tuple(self._entries)

    def append(self, entry: Entry) -> None:
        """Add an entry and tell it; text that cannot be stored is mended first, so that stored is sent (H2)."""
        entry = _storable(entry)
        index = len(self._entries)
        self._entries.append(entry)
        self._emit(HistoryAppended(run_id=self._run_id, index=index, entry=entry))

    def adopt(self, delivered: Iterable[Delivered]) -> None:
        """Add messages that the mail has stored and told already."""
        self._entries.extend(User(message.text) for message in delivered)

    def close_calls(self) -> None:
        """Give every tool call that has no result one that says so, so that the history can be sent."""
        for call in unanswered(self._entries):
            self.append(not_executed(call))


def not_executed(call: ToolCall) -> ToolResult:
    """Give the result of a call that nobody ran."""
    return ToolResult(call.id, call.name, f"{call.name} was not executed", is_error=True)


def unanswered(entries: Sequence[Entry]) -> tuple[ToolCall, ...]:
    """Give the tool calls at the end of a history that have no result yet.

    Results stand in the order of their calls, so they pair by position: ids are the model's, and may repeat.
    """
    results = 0
    for entry in reversed(entries):
        if isinstance(entry, ToolResult):
            results += 1
        else:
            return entry.tool_calls[results:] if isinstance(entry, Assistant) else ()
    return ()


def is_paired(entries: Sequence[Entry]) -> bool:
    """Whether every tool call is answered once, in order, before anything else follows (H1)."""
    waiting: tuple[ToolCall, ...] = ()
    for entry in entries:
        if isinstance(entry, ToolResult):
            if not waiting or (waiting[0].id, waiting[0].name) != (entry.call_id, entry.name):
                return False
            waiting = waiting[1:]
        elif waiting:
            return False
        elif isinstance(entry, Assistant):
            waiting = entry.tool_calls
    return not waiting


def _storable(entry: Entry) -> Entry:
    match entry:
        case Assistant():
            calls = tuple(
                ToolCall(storable(call.id), storable(call.name), storable(call.arguments))
                for call in entry.tool_calls
            )
            return Assistant(storable(entry.content), storable(entry.reasoning), calls)
        case _:
            return msgspec.structs.replace(entry, content=storable(entry.content))
