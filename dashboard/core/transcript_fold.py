"""Writing one run's transcript from its events: what streams, what is stored, and what still waits for its end."""

from __future__ import annotations

from dataclasses import dataclass, field

from dashboard.core import events as e
from dashboard.core.changes import Changes
from dashboard.core.history import Assistant, System, ToolResult, User
from dashboard.core.records import Record
from dashboard.core.transcript import ApprovalEntry, MessageEntry, TextEntry, TextKind, ToolEntry, TranscriptEntry
from dashboard.core.views import MessageView, RunView


@dataclass(slots=True)
class TranscriptFold:
    """One run's transcript, and those of its entries that may still change.

    Args:
        run: whose entries these are; nothing else writes them.
    """

    run: RunView
    _text: TextEntry | None = None
    _reasoning: TextEntry | None = None
    _tools: dict[str, int] = field(default_factory=dict)  # tool call id to entry index
    _approvals: dict[str, int] = field(default_factory=dict)  # approval id to entry index
    _delivered: dict[int, tuple[e.MessageDelivered, MessageView | None]] = field(
        default_factory=dict
    )  # by history index, until it is appended

    def note(self, kind: TextKind, text: str, record: Record, changes: Changes) -> None:
        """Add a text that is complete as it comes."""
        entry = TextEntry(kind, record.seq, record.at, self.run.round)
        entry.replace(text)
        self._add(entry, changes)

    def grow(self, event: e.Delta, record: Record, changes: Changes) -> None:
        """Take in a piece of what streams."""
        reasoning = isinstance(event, e.ReasoningDelta)
        entry = self._reasoning if reasoning else self._text
        if entry is None:
            kind = TextKind.REASONING if reasoning else TextKind.ANSWER
            entry = TextEntry(kind, record.seq, record.at, event.round)
            self._add(entry, changes)
            if reasoning:
                self._reasoning = entry
            else:
                self._text = entry
        entry.grow(event.text)
        self._touch(self._index(entry), changes)

    def begin_round(self) -> None:
        """Let what streams from here on be new: a reply that was cut off is never stored, and so never closed."""
        self._text = self._reasoning = None

    def store(self, event: e.HistoryAppended, record: Record, changes: Changes) -> None:
        """Bring what was shown in line with the stored entry, which is the truth."""
        entry = event.entry
        match entry:
            case Assistant():
                self._correct(TextKind.REASONING, self._reasoning, entry.reasoning, record, changes)
                self._correct(TextKind.ANSWER, self._text, entry.content, record, changes)
                self._text = self._reasoning = None
            case ToolResult():
                tool = self._tool(entry.call_id)
                if tool is not None and tool.result is None:
                    self._settle(entry.call_id, entry.content, entry.is_error, 0, changes)
                self._tools.pop(entry.call_id, None)
            case User():
                delivered = self._delivered.pop(event.index, None)
                if delivered is not None:
                    self._add(_message_entry(*delivered, entry.content, record), changes)
                elif entry.provenance is not None:
                    self.note(TextKind.LOOP, entry.content, record, changes)
                else:
                    kind = TextKind.PROMPT if self.run.entries else TextKind.TASK
                    self.note(kind, entry.content, record, changes)
            case System():
                pass  # the same for every run of a type, and not what an operator watches for

    def call(self, event: e.ToolCalled, record: Record, changes: Changes) -> None:
        """Add a tool call."""
        entry = ToolEntry(record.seq, record.at, event.round, event.tool_call_id, event.name, event.arguments)
        self._tools[event.tool_call_id] = self._add(entry, changes)

    def take_return(self, event: e.ToolReturned, changes: Changes) -> None:
        """Put what a tool returned below its call."""
        self._settle(event.tool_call_id, event.text, event.is_error, event.elapsed, changes)

    def ask(self, event: e.ApprovalRequested, record: Record, changes: Changes) -> None:
        """Add a request for approval; the call that it is about has not begun."""
        entry = ApprovalEntry(record.seq, record.at, self.run.round, event.name, event.arguments, event.expires_at)
        self._approvals[event.approval_id] = self._add(entry, changes)
        self._mark_asking(event.tool_call_id, True, changes)

    def answer(self, asked: e.ApprovalRequested, event: e.ApprovalAnswered, at: int, changes: Changes) -> None:
        """Put the answer below its request."""
        index = self._approvals.pop(event.approval_id)
        entry = self.run.entries[index]
        if isinstance(entry, ApprovalEntry):
            entry.settle(event.answer, at, event.by, event.reason)
            self._touch(index, changes)
        self._mark_asking(asked.tool_call_id, False, changes)

    def expect(self, event: e.MessageDelivered, message: MessageView | None) -> None:
        """Note that the history entry of that index is a message, and whose."""
        self._delivered[event.history_index] = event, message

    def give_back(self, message: MessageView, why: str, record: Record, changes: Changes) -> None:
        """Keep a message that was not read in sight, with its text, where the transcript ends."""
        entry = MessageEntry(
            record.seq, record.at, 0, message.body, message.sender, message.composed_at, message.message_id,
            returned=why, edited=message.edited, edited_by=message.edited_by,
        )  # fmt: skip
        self._add(entry, changes)

    def abandon(self, at: int, changes: Changes) -> None:
        """Note that nothing will come back of what is open: the turn is over."""
        for index in (*self._tools.values(), *self._approvals.values()):
            entry = self.run.entries[index]
            if isinstance(entry, ToolEntry) and entry.result is None:
                entry.abandon()
            elif isinstance(entry, ApprovalEntry):
                entry.settle(e.ApprovalAnswer.ABANDONED, at)
            else:
                continue
            self._touch(index, changes)
        self._tools.clear()
        self._approvals.clear()

    def _correct(
        self, kind: TextKind, shown: TextEntry | None, text: str, record: Record, changes: Changes
    ) -> None:
        if shown is None:
            if text:
                self.note(kind, text, record, changes)
        elif shown.text != text:
            shown.replace(text)
            self._touch(self._index(shown), changes)

    def _settle(self, call_id: str, result: str, is_error: bool, elapsed: int, changes: Changes) -> None:
        tool = self._tool(call_id)
        if tool is not None:
            tool.settle(result, is_error, elapsed)
            self._touch(self._tools[call_id], changes)

    def _mark_asking(self, call_id: str, asking: bool, changes: Changes) -> None:
        tool = self._tool(call_id)
        if tool is not None:
            tool.ask(asking)
            self._touch(self._tools[call_id], changes)

    def _tool(self, call_id: str) -> ToolEntry | None:
        index = self._tools.get(call_id)
        entry = self.run.entries[index] if index is not None else None
        return entry if isinstance(entry, ToolEntry) else None

    def _add(self, entry: TranscriptEntry, changes: Changes) -> int:
        self.run.entries.append(entry)
        index = len(self.run.entries) - 1
        self._touch(index, changes)
        return index

    def _touch(self, index: int, changes: Changes) -> None:
        run_id = self.run.run_id
        changes.entries[run_id] = min(index, changes.entries.get(run_id, index))

    def _index(self, entry: TranscriptEntry) -> int:
        """Find an entry near the end, where everything that still grows is."""
        entries = self.run.entries
        return next(index for index in range(len(entries) - 1, -1, -1) if entries[index] is entry)


def _message_entry(
    delivered: e.MessageDelivered, message: MessageView | None, text: str, record: Record
) -> MessageEntry:
    if message is None:
        return MessageEntry(record.seq, record.at, delivered.round, text, None, record.at, delivered.message_id)
    return MessageEntry(
        record.seq, record.at, delivered.round, text, message.sender, message.composed_at, message.message_id,
        edited=message.edited, edited_by=message.edited_by,
    )  # fmt: skip
