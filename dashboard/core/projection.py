"""Folding events into what a console shows: deterministic, and constant work per event.

A projection mutates only itself, and each fold says what changed. This is the one entrance: what happens to mail
is folded in ``mail_fold``, and each run's transcript is written in ``transcript_fold``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dashboard.core import events as e
from dashboard.core.changes import Changes, News, Refused
from dashboard.core.mail_fold import MailEvent, MailFold
from dashboard.core.outcomes import Outcome
from dashboard.core.records import Record, run_of
from dashboard.core.transcript import TextKind
from dashboard.core.transcript_fold import TranscriptFold
from dashboard.core.views import MessageView, RunState, RunView

SessionEvent = e.HostStarted | e.SessionClosed
ControlEvent = e.ControlRequested | e.ControlApplied | e.ControlRefused
_TURN_ENDS = {Outcome.CANCELLED: TextKind.TURN_CANCELLED, Outcome.ERROR: TextKind.TURN_FAILED}


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
    asking: int = 0  # of the live ones, those that need somebody's word to go on


class Projection:
    """The state of a session, as the events so far tell it."""

    def __init__(self) -> None:
        self.seq = 0
        self.title = ""
        self.labels: tuple[str, ...] = ()
        self.closed: str | None = None
        self.runs: dict[str, RunView] = {}
        self._transcripts: dict[str, TranscriptFold] = {}
        self._mail = MailFold(self.runs, self._transcripts)
        self._asked: dict[str, e.ControlRequested] = {}  # what the host was asked for and has not answered

    def fold(self, records: Iterable[Record]) -> Changes:
        """Take events in order, each once; one that was taken before is passed over."""
        changes = Changes()
        for record in records:
            if record.seq > self.seq:
                self.seq = record.seq
                self._take(record, changes)
        return changes

    @property
    def messages(self) -> dict[str, MessageView]:
        """Every message by its id, in the order of acceptance."""
        return self._mail.messages

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
            pending=len(self._mail.pending),
            tokens=sum(run.tokens for run in self.runs.values()),
            asking=states.count(RunState.APPROVAL),
        )

    def pending_for(self, run_id: str) -> list[MessageView]:
        """Give the messages that wait for a run, in the order of acceptance; one that was promoted stands last."""
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

    def _take(self, record: Record, changes: Changes) -> None:
        event = record.event
        run = self.runs.get(run_of(event) or "")
        if isinstance(event, e.RunStarted):
            self._start(event, record.at, changes)
        elif isinstance(event, SessionEvent):
            self._take_session(event, changes)
        elif isinstance(event, MailEvent):
            self._mail.take(event, record, changes)
        elif isinstance(event, ControlEvent):
            self._take_control(event, record, changes)
        else:
            if isinstance(event, e.NoticeRaised):
                changes.notices.append(News(event, record.seq, record.at))
            if run is not None:
                self._take_run(run, record, changes)
        if run is not None and _is_sign_of_life(event):
            run.last_at = record.at

    def _take_session(self, event: SessionEvent, changes: Changes) -> None:
        changes.session = True
        if isinstance(event, e.HostStarted):
            self.title, self.labels, self.closed = event.title, event.labels, None
        else:
            self.closed = event.reason

    def _take_control(self, event: ControlEvent, record: Record, changes: Changes) -> None:
        if isinstance(event, e.ControlRequested):
            self._asked[event.control_id] = event
            return
        asked = self._asked.pop(event.control_id, None)
        if isinstance(event, e.ControlRefused):
            changes.refused.append(Refused(asked, News(event, record.seq, record.at)))

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
        self._transcripts[run.run_id] = TranscriptFold(run)
        changes.started.append(run.run_id)
        changes.runs.add(run.run_id)
        if parent is not None:
            parent.children.append(run.run_id)
            parent.live_children += 1
            changes.runs.add(parent.run_id)

    def _take_run(self, run: RunView, record: Record, changes: Changes) -> None:
        event, transcript = record.event, self._transcripts[run.run_id]
        match event:
            case e.NoticeRaised():
                transcript.note(TextKind.NOTICE, event.text, record, changes)
            case e.Unknown():
                transcript.note(TextKind.RAW, f"{event.type} {event.payload}", record, changes)
            case e.TextDelta() | e.ReasoningDelta() if run.blocked_on is None:
                transcript.grow(event, record, changes)  # the head line does not change with what streams by
            case _:
                run.blocked_on = None
                self._move_run(run, transcript, record, changes)
                changes.runs.add(run.run_id)

    def _move_run(self, run: RunView, transcript: TranscriptFold, record: Record, changes: Changes) -> None:
        event = record.event
        match event:
            case e.TextDelta() | e.ReasoningDelta():
                transcript.grow(event, record, changes)
            case e.TurnStarted():
                run.turn, run.idle = event.turn, False
            case e.TurnFinished():
                self._end_turn(run, transcript, event, record, changes)
            case e.RoundStarted():
                run.round, run.step, run.max_iterations = event.round, event.step, event.max_iterations
                transcript.begin_round()
            case e.RoundFinished():
                run.input_tokens += event.input_tokens
                run.output_tokens += event.output_tokens
            case e.RunPaused():
                run.paused, run.paused_by = True, event.by
                transcript.note(TextKind.PAUSED, event.by, record, changes)
            case e.RunResumed():
                run.paused = False
                kind = TextKind.STEPPED if event.one_round else TextKind.RESUMED
                transcript.note(kind, event.by, record, changes)
            case e.RunBlocked():
                run.blocked_on = event.on
                transcript.note(TextKind.BLOCKED, event.on, record, changes)
            case e.ApprovalRequested():
                run.approvals[event.approval_id] = event
                transcript.ask(event, record, changes)
            case e.ApprovalAnswered():
                asked = run.approvals.pop(event.approval_id, None)
                if asked is not None:
                    transcript.answer(asked, event, record.at, changes)
            case e.ToolCalled():
                run.tools[event.tool_call_id] = (event.name, record.at)
                transcript.call(event, record, changes)
            case e.ToolReturned():
                run.tools.pop(event.tool_call_id, None)
                transcript.take_return(event, changes)
            case e.HistoryAppended():
                transcript.store(event, record, changes)
            case e.RunFinished():
                self._end_run(run, transcript, event, record, changes)
            case _:
                pass  # a prompt of the loop's own and a longer budget show in the history and in the next round

    def _end_turn(
        self, run: RunView, transcript: TranscriptFold, event: e.TurnFinished, record: Record, changes: Changes
    ) -> None:
        run.idle, run.answer = run.parent_run_id is None, event.answer
        self._abandon(run, transcript, record, changes)
        if event.outcome is Outcome.ERROR:
            changes.failed_turns.append(News(event, record.seq, record.at))
        kind = _TURN_ENDS.get(event.outcome)
        if kind is not None:
            transcript.note(kind, event.error, record, changes)

    def _end_run(
        self, run: RunView, transcript: TranscriptFold, event: e.RunFinished, record: Record, changes: Changes
    ) -> None:
        run.outcome, run.answer, run.error = event.outcome, event.answer or run.answer, event.error
        run.ended_at = record.at
        run.idle = run.paused = False
        self._abandon(run, transcript, record, changes)
        said = event.error if event.outcome in (Outcome.ERROR, Outcome.CANCELLED) else ""
        transcript.note(TextKind.END, said, record, changes)
        parent = self.runs.get(run.parent_run_id or "")
        if parent is not None:
            parent.live_children -= 1
            changes.runs.add(parent.run_id)

    def _abandon(self, run: RunView, transcript: TranscriptFold, record: Record, changes: Changes) -> None:
        """Let go of the calls and requests that a turn leaves open: nothing is left to answer them."""
        run.tools.clear()
        run.approvals.clear()
        transcript.abandon(record.at, changes)


def _is_sign_of_life(event: object) -> bool:
    """Whether an event of a run is its own doing: not what is sent to it or asked of it, nor that it was lost."""
    if isinstance(event, e.RunFinished):
        return event.outcome is not Outcome.LOST
    return isinstance(event, e.MessageDelivered) or not isinstance(event, MailEvent | ControlEvent)
