"""Folding events into what a console shows: deterministic, and constant work per event.

A projection mutates only itself, and each fold says what changed, so that a view repaints that and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from dashboard.core import events as e
from dashboard.core.history import Assistant, Entry, System, ToolResult, User
from dashboard.core.messages import REASONS, MessageState
from dashboard.core.outcomes import Outcome
from dashboard.core.transcript import MessageEntry, TextEntry, TextKind, ToolEntry, TranscriptEntry
from dashboard.core.views import MessageView, RunState, RunView


@dataclass(slots=True)
class Changes:
    """What a fold touched.

    Args:
        runs: ids of the runs whose head line changed: state, round, tool, counters.
        entries: per run, the index of the first transcript entry that is new or changed.
        messages: ids of the messages whose fate moved.
        started: ids of the runs that are new, in order.
        notices: what people should be told, in order.
        session: whether the session as a whole changed: its title, its host, its end.
    """

    runs: set[str] = field(default_factory=set)
    entries: dict[str, int] = field(default_factory=dict)
    messages: set[str] = field(default_factory=set)
    started: list[str] = field(default_factory=list)
    notices: list[e.NoticeRaised] = field(default_factory=list)
    session: bool = False


@dataclass(frozen=True, slots=True)
class Counts:
    """The header's numbers. They add up over the same runs that the tree shows."""

    live: int = 0
    idle: int = 0
    done: int = 0
    stopped: int = 0  # cancelled, by someone
    failed: int = 0
    lost: int = 0
    pending: int = 0
    tokens: int = 0


@dataclass(slots=True)
class _Open:
    """A run's entries that may still grow."""

    text: TextEntry | None = None
    reasoning: TextEntry | None = None
    tools: dict[str, int] = field(default_factory=dict)  # tool call id to entry index
    deliveries: dict[int, e.MessageDelivered] = field(
        default_factory=dict
    )  # by history index, until it is appended


class Projection:
    """The state of a session, as the events so far tell it."""

    def __init__(self) -> None:
        self.seq = 0
        self.title = ""
        self.labels: tuple[str, ...] = ()
        self.closed: str | None = None
        self.runs: dict[str, RunView] = {}
        self.messages: dict[str, MessageView] = {}
        self._open: dict[str, _Open] = {}
        self._pending: set[str] = set()

    def fold(self, records: Iterable[e.Record]) -> Changes:
        """Take events in order, each once; one that was taken before is passed over."""
        changes = Changes()
        for record in records:
            if record.seq > self.seq:
                self.seq = record.seq
                self._take(record, changes)
        return changes

    @property
    def at_work(self) -> bool:
        """Whether any run is live and not idle."""
        return any(run.live and not run.idle for run in self.runs.values())

    def counts(self) -> Counts:
        """Count the runs by what they are doing, and the mail that waits."""
        states = [run.state for run in self.runs.values()]
        ended = sum(not run.live for run in self.runs.values())
        done = sum(state in (RunState.DONE, RunState.CAPPED) for state in states)
        idle = states.count(RunState.IDLE)
        stopped, lost = states.count(RunState.CANCELLED), states.count(RunState.LOST)
        return Counts(
            live=len(states) - ended - idle,
            idle=idle,
            done=done,
            stopped=stopped,
            failed=ended - done - stopped - lost,
            lost=lost,
            pending=len(self._pending),
            tokens=sum(run.tokens for run in self.runs.values()),
        )

    def pending_for(self, run_id: str) -> list[MessageView]:
        """Give the messages that wait for a run, in the order of acceptance."""
        return [self.messages[message_id] for message_id in self.runs[run_id].waiting]

    def tree(self) -> list[RunView]:
        """Give every run below its parent, siblings in the order in which they started."""
        ordered: list[RunView] = []
        rest = [run for run in self.runs.values() if run.parent_run_id not in self.runs][::-1]
        while rest:
            run = rest.pop()
            ordered.append(run)
            rest.extend(self.runs[child] for child in reversed(run.children))
        return ordered

    def _take(self, record: e.Record, changes: Changes) -> None:
        run = self.runs.get(e.run_of(record.event) or "")
        match record.event:
            case e.HostStarted() | e.SessionClosed():
                self._take_session(record.event, changes)
            case e.RunStarted():
                self._start(record.event, record.at, changes)
            case e.MessageQueued() | e.MessageBound() | e.MessageReturned() | e.MessageExpired():
                self._take_message(record.event, record.seq, record.at, changes)
            case e.NoticeRaised():
                changes.notices.append(record.event)
                if run is not None:
                    self._text(run, TextKind.NOTICE, record, record.event.text, changes)
            case e.Unknown() if run is not None:
                self._text(run, TextKind.RAW, record, f"{record.event.type} {record.event.payload}", changes)
            case _:
                if run is not None:
                    self._take_run(run, record, changes)
        if run is not None:
            run.last_at = record.at

    def _take_session(self, event: e.HostStarted | e.SessionClosed, changes: Changes) -> None:
        changes.session = True
        if isinstance(event, e.HostStarted):
            self.title, self.labels, self.closed = event.title, event.labels, None
        else:
            self.closed = event.reason

    def _start(self, event: e.RunStarted, at: int, changes: Changes) -> None:
        parent = self.runs.get(event.parent_run_id or "")
        run = RunView(
            run_id=event.run_id,
            label=event.label,
            ordinal=event.ordinal,
            task=event.task,
            parent_run_id=event.parent_run_id,
            depth=parent.depth + 1 if parent else 0,
            reading=event.reading,
            started_at=at,
            max_iterations=event.max_iterations,
            last_at=at,
        )
        self.runs[run.run_id] = run
        self._open[run.run_id] = _Open()
        changes.started.append(run.run_id)
        changes.runs.add(run.run_id)
        if parent is not None:
            parent.children.append(run.run_id)
            parent.live_children += 1
            changes.runs.add(parent.run_id)

    def _take_run(self, run: RunView, record: e.Record, changes: Changes) -> None:
        event = record.event
        match event:
            case e.TextDelta() | e.ReasoningDelta():
                self._grow(run, record, changes)
                return  # the head line does not change with what streams by
            case e.TurnStarted():
                run.turn, run.idle = event.turn, False
            case e.TurnFinished():
                run.idle, run.answer = run.parent_run_id is None, event.answer
            case e.RoundStarted():
                run.round, run.step, run.max_iterations = event.round, event.step, event.max_iterations
            case e.RoundFinished():
                run.input_tokens += event.input_tokens
                run.output_tokens += event.output_tokens
            case e.ToolCalled():
                run.tools[event.tool_call_id] = (event.name, record.at)
                entry = ToolEntry(
                    record.seq, record.at, event.round, event.tool_call_id, event.name, event.arguments
                )
                self._open[run.run_id].tools[event.tool_call_id] = self._add(run, entry, changes)
            case e.ToolReturned():
                run.tools.pop(event.tool_call_id, None)
                self._settle(run, event.tool_call_id, event.text, event.is_error, event.elapsed, changes)
            case e.MessageDelivered():
                self._deliver(run, event, record.at, changes)
            case e.HistoryAppended():
                self._append(run, event.index, event.entry, record, changes)
            case e.RunFinished():
                self._end(run, event, record, changes)
            case _:
                return
        changes.runs.add(run.run_id)

    def _grow(self, run: RunView, record: e.Record, changes: Changes) -> None:
        event = record.event
        if not isinstance(event, e.Delta):
            return
        growing = self._open[run.run_id]
        reasoning = isinstance(event, e.ReasoningDelta)
        entry = growing.reasoning if reasoning else growing.text
        if entry is None:
            kind = TextKind.REASONING if reasoning else TextKind.ANSWER
            entry = TextEntry(kind, record.seq, record.at, event.round)
            self._add(run, entry, changes)
            if reasoning:
                growing.reasoning = entry
            else:
                growing.text = entry
        entry.grow(event.text)
        self._touch(run, _last_index(run, entry), changes)

    def _append(self, run: RunView, index: int, entry: Entry, record: e.Record, changes: Changes) -> None:
        """The stored entry is the truth: what was streamed is brought in line with it."""
        growing = self._open[run.run_id]
        match entry:
            case Assistant():
                self._store(run, TextKind.REASONING, growing.reasoning, entry.reasoning, record, changes)
                self._store(run, TextKind.ANSWER, growing.text, entry.content, record, changes)
                growing.reasoning = growing.text = None
            case ToolResult():
                at = growing.tools.get(entry.call_id)
                tool = run.entries[at] if at is not None else None
                if isinstance(tool, ToolEntry) and tool.result is None:
                    self._settle(run, entry.call_id, entry.content, entry.is_error, 0, changes)
                growing.tools.pop(entry.call_id, None)
            case User():
                delivered = growing.deliveries.pop(index, None)
                if delivered is not None:
                    self._add(run, self._message_entry(delivered, entry.content, record), changes)
                elif entry.provenance is not None:
                    self._text(run, TextKind.LOOP, record, entry.content, changes)
                else:
                    kind = TextKind.PROMPT if run.entries else TextKind.TASK
                    self._text(run, kind, record, entry.content, changes)
            case System():
                pass  # the same for every run of a type, and not what an operator watches for

    def _store(
        self, run: RunView, kind: TextKind, shown: TextEntry | None, text: str, record: e.Record, changes: Changes
    ) -> None:
        if shown is None:
            if text:
                self._text(run, kind, record, text, changes)
        elif shown.text != text:
            shown.replace(text)
            self._touch(run, _last_index(run, shown), changes)

    def _settle(
        self, run: RunView, call_id: str, result: str, is_error: bool, elapsed: int, changes: Changes
    ) -> None:
        index = self._open[run.run_id].tools.get(call_id)
        entry = run.entries[index] if index is not None else None
        if index is not None and isinstance(entry, ToolEntry):
            entry.settle(result, is_error, elapsed)
            self._touch(run, index, changes)

    def _deliver(self, run: RunView, event: e.MessageDelivered, at: int, changes: Changes) -> None:
        self._open[run.run_id].deliveries[event.history_index] = event
        message = self.messages.get(event.message_id or "")
        if message is not None:
            self._close_message(message, MessageState.DELIVERED, at, changes)
            message.round = event.round

    def _message_entry(self, delivered: e.MessageDelivered, text: str, record: e.Record) -> MessageEntry:
        message = self.messages.get(delivered.message_id or "")
        return MessageEntry(
            record.seq,
            record.at,
            delivered.round,
            text,
            message.sender if message else None,
            message.composed_at if message else record.at,
            delivered.message_id,
        )

    def _take_message(
        self,
        event: e.MessageQueued | e.MessageBound | e.MessageReturned | e.MessageExpired,
        seq: int,
        at: int,
        changes: Changes,
    ) -> None:
        if isinstance(event, e.MessageQueued):
            state = MessageState.QUEUED if event.run_id else MessageState.UNBOUND
            self.messages[event.message_id] = MessageView(
                event.message_id, event.to, event.run_id, event.body, event.lane, event.wake, event.sender,
                event.composed_at, at, state,
            )  # fmt: skip
            self._pending.add(event.message_id)
            self._wait(event.run_id, event.message_id, changes)
        message = self.messages.get(event.message_id)
        if message is None:
            return
        changes.messages.add(message.message_id)
        match event:
            case e.MessageBound():
                message.run_id, message.to, message.state = event.run_id, event.to, MessageState.QUEUED
                self._wait(event.run_id, event.message_id, changes)
            case e.MessageReturned():
                message.reason = event.reason
                self._close_message(message, MessageState.UNDELIVERABLE, at, changes)
                self._give_back(message, REASONS[event.reason], seq, at, changes)
            case e.MessageExpired():
                self._close_message(message, MessageState.EXPIRED, at, changes)
                self._give_back(message, "its time had passed", seq, at, changes)
            case _:
                pass

    def _give_back(self, message: MessageView, why: str, seq: int, at: int, changes: Changes) -> None:
        """Keep a message that was not read in sight, with its text, where its run's transcript ends."""
        run = self.runs.get(message.run_id or "")
        if run is not None:
            entry = MessageEntry(seq, at, 0, message.body, message.sender, message.composed_at, message.message_id)
            entry.returned = why
            self._add(run, entry, changes)

    def _wait(self, run_id: str | None, message_id: str, changes: Changes) -> None:
        run = self.runs.get(run_id or "")
        if run is not None:
            run.waiting[message_id] = None
            changes.runs.add(run.run_id)

    def _close_message(self, message: MessageView, state: MessageState, at: int, changes: Changes) -> None:
        message.state, message.ended_at = state, at
        changes.messages.add(message.message_id)
        self._pending.discard(message.message_id)
        run = self.runs.get(message.run_id or "")
        if run is not None:
            run.waiting.pop(message.message_id, None)
            changes.runs.add(run.run_id)

    def _end(self, run: RunView, event: e.RunFinished, record: e.Record, changes: Changes) -> None:
        run.outcome, run.answer, run.error = event.outcome, event.answer or run.answer, event.error
        run.ended_at = record.at
        run.tools.clear()
        run.idle = False
        for index in self._open[run.run_id].tools.values():
            entry = run.entries[index]
            if isinstance(entry, ToolEntry) and entry.result is None:
                entry.abandon()
                self._touch(run, index, changes)
        said = event.error if event.outcome is Outcome.ERROR else ""
        self._text(run, TextKind.END, record, said, changes)
        parent = self.runs.get(run.parent_run_id or "")
        if parent is not None:
            parent.live_children -= 1
            changes.runs.add(parent.run_id)

    def _text(self, run: RunView, kind: TextKind, record: e.Record, text: str, changes: Changes) -> None:
        entry = TextEntry(kind, record.seq, record.at, run.round)
        entry.replace(text)
        self._add(run, entry, changes)

    def _add(self, run: RunView, entry: TranscriptEntry, changes: Changes) -> int:
        run.entries.append(entry)
        index = len(run.entries) - 1
        self._touch(run, index, changes)
        return index

    def _touch(self, run: RunView, index: int, changes: Changes) -> None:
        changes.entries[run.run_id] = min(index, changes.entries.get(run.run_id, index))


def _last_index(run: RunView, entry: TranscriptEntry) -> int:
    """Find an entry near the end of a transcript, where everything that still grows is."""
    return next(index for index in range(len(run.entries) - 1, -1, -1) if run.entries[index] is entry)
