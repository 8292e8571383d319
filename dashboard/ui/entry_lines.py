"""A transcript entry as lines of styled text: pure, so that what an operator reads can be tested without a screen.

Every foreign text is sanitised here, once, on its way into a line.
"""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len

from dashboard.core.events import ApprovalAnswer
from dashboard.core.messages import Sender, SenderKind
from dashboard.core.sanitize import sanitize, sanitize_line
from dashboard.core.transcript import (
    ApprovalEntry,
    MessageEntry,
    TextEntry,
    TextKind,
    ToolEntry,
    TranscriptEntry,
)
from dashboard.core.views import RunState, RunView
from dashboard.ui.arguments import NAMED, argument_text, argument_words, fit_cells
from dashboard.ui.glyphs import Glyphs
from dashboard.ui.wording import clock_time, done_by, duration, plural
from dashboard.ui.wrapping import wrap

Span = tuple[str, str]  # text, and the name of its style
Line = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Folding:
    """How many lines of each kind are shown before the rest is counted instead.

    Args:
        task: of the task.
        reasoning: of finished reasoning.
        result: of a tool's result.
        prompt: of a prompt of the loop's own.
        asked: of a call that somebody has to allow: who allows it has to see it.
    """

    task: int
    reasoning: int
    result: int
    prompt: int = 2
    asked: int = 6


WALL = Folding(task=3, reasoning=2, result=2)
ZOOMED = Folding(task=12, reasoning=8, result=12, prompt=6, asked=40)


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a transcript is drawn on.

    Args:
        width: cells a line.
        folding: what is cut short.
        glyphs: the set in use.
    """

    width: int
    folding: Folding
    glyphs: Glyphs


def entry_lines(entry: TranscriptEntry, run: RunView, sheet: Sheet) -> list[Line]:
    """Give the lines of an entry.

    Args:
        entry: what happened.
        run: the run that it belongs to.
        sheet: width, folding and glyphs.
    """
    match entry:
        case ToolEntry():
            return _tool(entry, sheet)
        case MessageEntry():
            return _message(entry, sheet)
        case ApprovalEntry():
            return _approval(entry, run, sheet)
        case TextEntry(kind=TextKind.END):
            return _end(entry, run, sheet)
        case TextEntry():
            return _text(entry, sheet)


def starts_paragraph(entry: TranscriptEntry, before: TranscriptEntry | None) -> bool:
    """Whether an empty line belongs above an entry: where a round begins, and around what is not the model's."""
    if before is None:
        return False
    if isinstance(entry, ToolEntry):
        return isinstance(before, MessageEntry)
    if isinstance(entry, ApprovalEntry):
        return not isinstance(before, ToolEntry | ApprovalEntry)
    if isinstance(entry, TextEntry) and entry.kind in _MARKS:
        return not (isinstance(before, TextEntry) and before.kind in _MARKS)
    if isinstance(entry, TextEntry) and entry.kind is TextKind.ANSWER:
        return not (isinstance(before, TextEntry) and before.kind is TextKind.REASONING)
    return True


def sender_words(sender: Sender | None) -> str:
    """Say whose a message is. The word ``operator`` comes from the record alone, never from what was written."""
    if sender is None:
        return "host's inbox"
    kind = "operator" if sender.kind is SenderKind.OPERATOR else "agent"
    return f"{kind} {sanitize_line(sender.name, 40)}"


def _text(entry: TextEntry, sheet: Sheet) -> list[Line]:
    text = sanitize(entry.text).strip("\n")
    dot, rail = sheet.glyphs.dot, sheet.glyphs.thin_rail
    match entry.kind:
        case TextKind.ANSWER:
            return [((line, "text"),) for line in wrap(text, sheet.width)]
        case TextKind.REASONING:
            return _folded(text, sheet, sheet.folding.reasoning, "reasoning", rail)
        case TextKind.TASK:
            head: Line = (("task ", "label"), (f"{dot} {clock_time(entry.at)}", "faint"))
            return [head, *_folded(text, sheet, sheet.folding.task, "task", rail)]
        case TextKind.LOOP:
            head = (("loop ", "label"), (f"{dot} its own prompt, not yours", "faint"))
            return [head, *_folded(text, sheet, sheet.folding.prompt, "task", rail)]
        case TextKind.PROMPT:
            return [(("prompt ", "label"),), *_folded(text, sheet, sheet.folding.task, "task", rail)]
        case TextKind.NOTICE:
            return [((line, "notice"),) for line in wrap(f"notice {dot} {text}", sheet.width)]
        case kind if kind in _MARKS:
            return _mark(kind, text, sheet)
        case _:
            return [((line, "faint"),) for line in wrap(f"unknown event {dot} {text}", sheet.width)[:3]]


_MARKS = {  # a change in how the run goes on: the state whose glyph it has, and its style
    TextKind.PAUSED: (RunState.PAUSED, "faint"),
    TextKind.RESUMED: (RunState.WORKING, "faint"),
    TextKind.STEPPED: (RunState.WORKING, "faint"),
    TextKind.BLOCKED: (RunState.BLOCKED, "notice"),
    TextKind.TURN_CANCELLED: (RunState.CANCELLED, "notice"),
    TextKind.TURN_FAILED: (RunState.ERROR, "error"),
}


def _mark(kind: TextKind, text: str, sheet: Sheet) -> list[Line]:
    dot = sheet.glyphs.dot
    match kind:
        case TextKind.PAUSED:
            words = done_by("paused", text)
        case TextKind.RESUMED:
            words = f"goes on {dot} {done_by('resumed', text)}"
        case TextKind.STEPPED:
            words = f"one round {dot} {done_by('let through', text)}"
        case TextKind.TURN_CANCELLED:
            words = f"turn cancelled {dot} {text}" if text else "turn cancelled"
        case _:
            words = f"{kind}: {text}" if text else str(kind)
    state, style = _MARKS[kind]
    return [((line, style),) for line in wrap(f"{sheet.glyphs.states[state]} {words}", sheet.width)[:6]]


def _folded(text: str, sheet: Sheet, limit: int, style: str, rail: str) -> list[Line]:
    """Give the first lines behind a rail, and the count of the rest."""
    # a huge text is cut before it is wrapped: what will not be shown is not worth the work
    shown = text[: limit * sheet.width * 2 + 1]
    lines = wrap(shown, sheet.width - 2)
    kept: list[Line] = [((f"{rail} ", "rail"), (line, style)) for line in lines[:limit]]
    hidden = len(lines) - limit + text.count("\n", len(shown))
    if hidden > 0 or len(shown) < len(text):
        kept.append(
            ((f"{rail} ", "rail"), (f"{sheet.glyphs.more} {plural(max(1, hidden), 'more line')}", "faint"))
        )
    return kept


def _tool(entry: ToolEntry, sheet: Sheet) -> list[Line]:
    glyphs = sheet.glyphs
    name = sanitize_line(entry.name, 60)
    if entry.result is None:
        state = "never returned" if entry.abandoned else "not run yet" if entry.asking else "running"
        after = f" {glyphs.dot} {state}"
    else:
        count = plural(entry.result.count("\n") + 1 if entry.result else 0, "line")
        after = f" {glyphs.dot} {'failed' if entry.is_error else count}"
        if sheet.width >= NAMED * 2:
            after += f" {glyphs.dot} {duration(entry.elapsed)}"
    arguments = argument_words(entry.arguments, max(8, sheet.width - cell_len(name + after) - 3))
    head: Line = (
        (f"{glyphs.tool} ", "tool"),
        (name, "tool"),
        (f" {arguments}", "arguments"),
        (after, "error" if entry.is_error else "faint"),
    )
    if not entry.result:
        return [head]
    style = "error" if entry.is_error else "result"
    result = sanitize(entry.result[: sheet.folding.result * 2_000]).strip("\n")
    lines = [fit_cells(line.expandtabs(4), sheet.width - 4) for line in result.split("\n")[: sheet.folding.result]]
    body: list[Line] = [((f"  {glyphs.thin_rail} ", "rail"), (line, style)) for line in lines]
    hidden = entry.result.count("\n") + 1 - len(lines)
    if hidden > 0:
        more = f"{glyphs.more} {plural(hidden, 'more line')}"
        body.append(((f"  {glyphs.thin_rail} ", "rail"), (more, "faint")))
    return [head, *body]


def _approval(entry: ApprovalEntry, run: RunView, sheet: Sheet) -> list[Line]:
    """Draw a request and its answer; one that has none is drawn in full, for whoever decides about it."""
    glyphs, folding = sheet.glyphs, sheet.folding
    if entry.answer is None:
        asks, style, limit = "needs approval", "asking", folding.asked
    else:
        asks, style, limit = "asked for approval", "faint", folding.prompt
    head = f"{glyphs.states[RunState.APPROVAL]} {asks}: {sanitize_line(entry.name, 60)}"
    arguments = argument_text(entry.arguments)
    room = sheet.width - cell_len(head) - 1
    if "\n" not in arguments and len(arguments) <= room and cell_len(arguments) <= room:
        lines: list[Line] = [((head, style), (f" {arguments}", "arguments"))]
    else:
        lines = [((line, style),) for line in wrap(head, sheet.width)]
        lines += _folded(arguments, sheet, limit, "arguments", glyphs.thin_rail)
    said, tone = _answer_words(entry, run)
    if entry.by:
        said += f" {glyphs.dot} after {duration(entry.answered_at - entry.at)}"
    rail: Span = (f"{glyphs.thin_rail} ", "rail")
    lines.extend((rail, (line, tone)) for line in wrap(said, sheet.width - 2)[:6] if said)
    return lines


def _answer_words(entry: ApprovalEntry, run: RunView) -> tuple[str, str]:
    """Give the answer to a request, or what happens without one; and its style."""
    match entry.answer:
        case None:
            until = entry.expires_at
            return f"denied at {clock_time(until)} unless somebody answers" if until is not None else "", "faint"
        case ApprovalAnswer.ALLOWED:
            return done_by("allowed", entry.by), "end"
        case ApprovalAnswer.DENIED:
            reason = sanitize(entry.reason).strip()
            return done_by("denied", entry.by) + (f": {reason}" if reason else ""), "error"
        case ApprovalAnswer.TIMED_OUT:
            return "nobody answered in time", "error"
        case ApprovalAnswer.ABANDONED:
            return f"its {'turn' if run.parent_run_id is None else 'run'} ended first", "faint"


def _message(entry: MessageEntry, sheet: Sheet) -> list[Line]:
    glyphs = sheet.glyphs
    who = sender_words(entry.sender)
    operator = entry.sender is not None and entry.sender.kind is SenderKind.OPERATOR
    style = "operator" if operator else "agent"
    rail: Span = (f"{glyphs.rail} ", f"{style}-rail")
    fate = f" {glyphs.dot} returned unread" if entry.returned else f" {glyphs.dot} read in round {entry.round}"
    why = sanitize_line(entry.returned)
    read = f"{fate}, {why}" if why else f"{fate} at {clock_time(entry.at)}"
    if entry.edited:
        read += f" {glyphs.dot} {done_by('edited', entry.edited_by)}"
    composed = f" {glyphs.dot} composed {clock_time(entry.composed_at)}"
    head: list[Line] = [(rail, (who, f"{style}-head"), (read, f"{style}-faint"), (composed, f"{style}-faint"))]
    if cell_len(who + read + composed) + 2 > sheet.width:
        who = fit_cells(who, sheet.width - 2 - cell_len(fate))
        head = [(rail, (who, f"{style}-head"), (fate, f"{style}-faint"))]
        how = why or f"read {clock_time(entry.at)}"
        edited = f"{done_by('edited', entry.edited_by)} {glyphs.dot} " if entry.edited else ""
        times = f"{edited}composed {clock_time(entry.composed_at)} {glyphs.dot} {how}"
        head.extend((rail, (line, f"{style}-faint")) for line in wrap(times, sheet.width - 2))
    lines = wrap(sanitize(entry.text).strip("\n"), sheet.width - 2)
    return [*head, *((rail, (line, style)) for line in lines)]


_END_WORDS = {
    RunState.DONE: "answered",
    RunState.CAPPED: "stopped at its round limit, with the answer above",
    RunState.CANCELLED: "cancelled",
    RunState.ERROR: "ended in an error",
    RunState.LOST: "lost: its host process died",
}


def _end(entry: TextEntry, run: RunView, sheet: Sheet) -> list[Line]:
    state = run.state
    glyphs = sheet.glyphs
    lost = state is RunState.LOST
    took = duration((run.last_at if lost else run.ended_at) - run.started_at)  # it was found dead later
    said = f"{glyphs.states[state]} {_END_WORDS.get(state, state)}"
    if lost:
        said += f" {glyphs.dot} last activity {clock_time(run.last_at)}"
    words = f"{said} {glyphs.dot} {plural(run.round, 'round')} {glyphs.dot} {took}"
    style = "end" if state in (RunState.DONE, RunState.CAPPED) else "error"
    lines: list[Line] = [((line, style),) for line in wrap(words, sheet.width)]
    error = sanitize(entry.text)
    if error:
        lines.extend(
            ((f"{glyphs.thin_rail} ", "rail"), (line, "error")) for line in wrap(error, sheet.width - 2)[:6]
        )
    return lines
