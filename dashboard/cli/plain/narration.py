"""Each event of a session as a sentence: what the console draws, for whoever reads line by line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime

from dashboard.cli.plain.deeds import asked_words, control_words
from dashboard.core import events as e
from dashboard.core.history import Assistant, User
from dashboard.core.labels import display_name
from dashboard.core.mail_fold import MailEvent
from dashboard.core.messages import REASONS, Sender, SenderKind, preset_of
from dashboard.core.outcomes import Outcome
from dashboard.core.records import Record, run_of
from dashboard.core.sanitize import sanitize, sanitize_line
from dashboard.ui.arguments import argument_words
from dashboard.ui.wording import clock_time, done_by, duration, plural

SESSION = "session"
ARGUMENTS = 200  # cells of a tool call's arguments
SAMPLE = 200  # characters of a tool's result: the whole of it is in the export
ENDINGS = {
    Outcome.ANSWERED: "ended: answered",
    Outcome.WRAP_UP: "ended: stopped at its round limit, with an answer",
    Outcome.CANCELLED: "ended: cancelled",
    Outcome.ERROR: "ended: in an error",
    Outcome.LOST: "ended: lost, its host process died",
}


@dataclass(frozen=True, slots=True)
class Told:
    """One thing that happened.

    Args:
        at: when, in microseconds since the epoch, UTC.
        who: the run's display name, or ``session``.
        deed: what happened, in words.
        text: what was said, of any length and as it was written; it is made safe when it becomes lines.
        run_id: the run that it is about, where it is about one.
    """

    at: int
    who: str
    deed: str
    text: str = ""
    run_id: str | None = None


@dataclass(slots=True)
class _Run:
    name: str
    started_at: int
    last_at: int
    round: int = 0
    task: str = ""
    said: dict[type, list[str]] = field(default_factory=dict)  # what streamed and was not stored yet
    tools: dict[str, str] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)
    read: dict[int, e.MessageDelivered] = field(default_factory=dict)


@dataclass(slots=True)
class _Letter:
    sender: Sender
    to: str
    run_id: str | None
    body: str


class Narrator:
    """Tells a session. It keeps names and open mail, and no transcript, so that it can follow for days."""

    def __init__(self) -> None:
        self._runs: dict[str, _Run] = {}
        self._mail: dict[str, _Letter] = {}
        self._asked: dict[str, e.ControlRequested] = {}

    def tell(self, record: Record) -> Iterator[Told]:
        """Tell one event; most of them are one sentence, and pieces of streamed text are none.

        Args:
            record: the next event, in the order of seq.
        """
        event, at = record.event, record.at
        match event:
            case e.HostStarted():
                title = f", about {sanitize_line(event.title, 80)}" if event.title else ""
                yield Told(at, SESSION, f"its host process {event.pid} started{title}")
            case e.SessionClosed():
                yield Told(at, SESSION, f"closed: {sanitize_line(event.reason)}")
            case e.RunStarted():
                yield self._start(event, at)
            case _ if isinstance(event, MailEvent):
                yield from self._tell_mail(event, at)
            case e.ControlRequested():
                self._asked[event.control_id] = event
                yield Told(at, self._name(event.run_id), asked_words(event), event.reason, event.run_id)
            case e.ControlApplied() | e.ControlRefused():
                asked = self._asked.pop(event.control_id, None)
                reason = event.reason if isinstance(event, e.ControlRefused) else None
                yield Told(at, self._name(event.run_id), control_words(asked, reason), "", event.run_id)
            case e.NoticeRaised():
                yield Told(at, self._name(event.run_id), str(event.level), event.text, event.run_id)
            case e.Unknown():
                what = f"event of a type that this version does not know ({sanitize_line(event.type, 60)})"
                yield Told(at, self._name(event.run_id), what, event.payload, event.run_id)
            case _:
                run = self._runs.get(run_of(event) or "")
                if run is not None:
                    for deed, text in self._tell_run(run, event, at):
                        yield Told(at, run.name, deed, text, run_of(event))
                    run.last_at = at

    def _start(self, event: e.RunStarted, at: int) -> Told:
        name = display_name(event.label, event.ordinal)
        self._runs[event.run_id] = _Run(sanitize_line(name, 90), at, at, task=event.task)
        parent = self._runs.get(event.parent_run_id or "")
        deed = f"started by {parent.name}" if parent else "started"
        if not event.reading:
            deed += ", without an inbox"
        return Told(at, self._name(event.run_id), deed, event.task, event.run_id)

    def _tell_run(self, run: _Run, event: object, at: int) -> Iterator[tuple[str, str]]:
        match event:
            case e.TextDelta() | e.ReasoningDelta():
                run.said.setdefault(type(event), []).append(event.text)
            case e.TurnStarted() if event.turn > 1:
                yield f"turn {event.turn} begins", ""
            case e.RoundStarted():
                run.round = event.round
                yield from self._cut_off(
                    run
                )  # a request that is made again has shown nothing; a turn was cancelled
                budget = f"{event.step} of {event.max_iterations}"
                yield f"round {event.round}, {budget} of its budget", ""
            case e.HistoryAppended():
                yield from self._tell_entry(run, event)
            case e.ToolCalled():
                run.tools[event.tool_call_id] = event.name
                arguments = argument_words(event.arguments, ARGUMENTS)
                yield f"calls {sanitize_line(event.name, 60)}{': ' if arguments else ''}{arguments}", ""
            case e.ToolReturned():
                name = sanitize_line(run.tools.pop(event.tool_call_id, "a tool"), 60)
                after = f"after {duration(event.elapsed)}"
                if event.is_error:
                    yield f"{name} failed {after}", event.text
                else:
                    lines = plural(event.text.count("\n") + 1 if event.text else 0, "line")
                    yield f"{name} returned {lines} {after}", sanitize_line(event.text, SAMPLE)
            case e.RunPaused():
                yield done_by("paused", event.by), ""
            case e.RunResumed():
                yield done_by("let through for one round" if event.one_round else "resumed", event.by), ""
            case e.RunBlocked():
                yield f"blocked: {sanitize_line(event.on, 80)}", ""
            case e.BudgetExtended():
                yield f"a message renewed its round budget, for the {plural(event.extensions, 'time')} so far", ""
            case e.ApprovalRequested():
                run.asked[event.approval_id] = event.name
                yield f"needs approval for {sanitize_line(event.name, 60)} ({event.approval_id})", event.arguments
            case e.ApprovalAnswered():
                name = sanitize_line(run.asked.pop(event.approval_id, "a tool"), 60)
                answer = str(event.answer).replace("_", " ")
                yield f"approval of {name}: {done_by(answer, event.by)}", event.reason
            case e.TurnFinished():
                yield from self._cut_off(run)
                yield f"turn {event.turn} is over: {str(event.outcome).replace('_', ' ')}", event.error
            case e.RunFinished():
                yield from self._cut_off(run)
                ending = ENDINGS[event.outcome]
                if event.outcome is Outcome.LOST:
                    at = run.last_at  # when it was found dead says nothing of the run
                    ending += f" (last activity {clock_time(at)})"
                yield (
                    f"{ending}, after {plural(run.round, 'round')} and {duration(at - run.started_at)}",
                    event.error,
                )
            case _:
                pass  # the end of a round and a prompt of the loop's own are told by what follows

    def _tell_entry(self, run: _Run, event: e.HistoryAppended) -> Iterator[tuple[str, str]]:
        match event.entry:
            case Assistant() as entry:
                run.said.clear()
                if entry.reasoning:
                    yield "thinks", entry.reasoning
                if entry.content:
                    yield "says", entry.content
            case User() as entry:
                delivered = run.read.pop(event.index, None)
                if delivered is not None:
                    letter = self._mail.pop(delivered.message_id or "", None)
                    whose = _whose(letter.sender) if letter else "the host's inbox"
                    yield f"reads in round {delivered.round} what {whose} wrote", entry.content
                elif entry.provenance is not None:
                    yield "is prompted by its own loop", entry.content
                elif entry.content != run.task:
                    yield "is prompted", entry.content
            case _:
                pass  # tools have told their results, and the system message is the same for every run of a type

    def _cut_off(self, run: _Run) -> Iterator[tuple[str, str]]:
        for kind, pieces in run.said.items():
            yield "was thinking, cut off" if kind is e.ReasoningDelta else "was saying, cut off", "".join(pieces)
        run.said.clear()

    def _tell_mail(self, event: MailEvent, at: int) -> Iterator[Told]:
        match event:
            case e.MessageQueued():
                self._mail[event.message_id] = _Letter(event.sender, event.to, event.run_id, event.body)
                preset = preset_of(event.lane, event.wake)
                how = preset.words if preset else "for its next turn, without waking it"
                deed = f"{_whose(event.sender)} writes to it ({how}, {event.message_id})"
                yield Told(at, sanitize_line(event.to, 90), deed, event.body, event.run_id)
                return
            case e.MessageDelivered():
                if event.run_id in self._runs:
                    self._runs[event.run_id].read[event.history_index] = event  # told with its text, which follows
                return
            case _:
                pass
        letter = self._mail.get(event.message_id)
        if letter is None:
            return
        whose = f"what {_whose(letter.sender)} wrote"
        text = ""
        match event:
            case e.MessageBound():
                letter.run_id, letter.to = event.run_id, event.to
                deed = f"gets {whose} for the next of its label"
            case e.MessageTaken():
                deed = f"takes {whose}, and has not confirmed yet that it read it"
            case e.MessageEdited():
                letter.body = text = event.body
                deed = f"{done_by(f'{whose} is edited', event.by)}"
            case e.MessageHeld():
                deed = done_by(f"{whose} is {'held' if event.held else 'released'}", event.by)
            case e.MessageForwarded():
                return  # told where it arrives: it is a message of its own there
            case e.MessagePromoted():
                deed = done_by(f"{whose} is promoted to a steer", event.by)
            case e.MessageWithdrawn():
                deed, text = done_by(f"{whose} is withdrawn", event.by), letter.body
            case e.MessageExpired():
                deed, text = f"{whose} has expired unread", letter.body
            case e.MessageReturned():
                deed, text = f"{whose} comes back, as {REASONS[event.reason]}", letter.body
        if isinstance(event, e.MessageWithdrawn | e.MessageExpired | e.MessageReturned):
            del self._mail[event.message_id]
        yield Told(at, sanitize_line(letter.to, 90), f"{deed} ({event.message_id})", text, letter.run_id)

    def _name(self, run_id: str | None) -> str:
        run = self._runs.get(run_id or "")
        return run.name if run else SESSION


class PlainLines:
    """Makes lines of what is told, each with its time and whose it is, so that grep finds both."""

    def __init__(self) -> None:
        self._day: date | None = None

    def of(self, told: Told) -> Iterator[str]:
        """Give the lines of one thing that happened; before the first of a day, a line that names it."""
        day = datetime.fromtimestamp(told.at / 1_000_000).astimezone().date()
        if day != self._day:
            self._day = day
            yield f"-- {day.isoformat()}"
        head = f"{clock_time(told.at)} {told.who}"
        first, *rest = sanitize(told.text).strip("\n").split("\n")
        yield f"{head}: {told.deed}{': ' if first else ''}{first}"
        yield from (f"{head}  | {line}" for line in rest)


def _whose(sender: Sender) -> str:
    kind = "operator" if sender.kind is SenderKind.OPERATOR else "agent"
    return f"{kind} {sanitize_line(sender.name, 40)}"
