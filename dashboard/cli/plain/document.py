"""A session as a Markdown document: who ran, what was said, which mail was read where, and what came back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from dashboard.cli.plain.ledger import ledger_lines
from dashboard.core.projection import Projection
from dashboard.core.sanitize import sanitize, sanitize_line
from dashboard.core.transcript import ApprovalEntry, MessageEntry, TextEntry, TextKind, ToolEntry, TranscriptEntry
from dashboard.core.views import RunView
from dashboard.ui.arguments import argument_text
from dashboard.ui.entry_lines import sender_words
from dashboard.ui.wording import clock_time, done_by, duration, plural, state_words

_TICKS = re.compile(r"`{3,}")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|!~$&])")


def document(session_id: str, projection: Projection, shown: Iterable[RunView], started_at: int) -> Iterator[str]:
    """Give the document, line by line. What anybody wrote stands in fenced blocks, so that none of it is markup.

    Args:
        session_id: the session.
        projection: all of it, folded.
        shown: the runs whose transcripts are wanted, in order.
        started_at: when its host started, in microseconds since the epoch, UTC; 0 if never.
    """
    shown = list(shown)
    counts = projection.counts()
    yield f"# Session {session_id}"
    yield ""
    if projection.title:
        yield f"- About: {_inline(projection.title)}"
    if started_at:
        yield f"- Started: {datetime.fromtimestamp(started_at / 1_000_000).astimezone():%Y-%m-%d %H:%M:%S %z}"
    if projection.closed:
        yield f"- Closed: {_inline(projection.closed)}"
    ends = f"{counts.done} done, {counts.stopped} stopped, {counts.failed} failed, {counts.lost} lost"
    yield f"- Runs: {len(projection.runs)} ({counts.live} live, {counts.idle} idle, {ends})"
    yield f"- Messages: {len(projection.messages)}, of which {counts.pending} pending"
    yield ""
    yield "## Runs"
    yield ""
    for run in projection.tree():
        rounds = f"{plural(run.round, 'round')}, {run.tokens:,} tokens"
        yield f"{'  ' * run.depth}- **{_inline(run.name)}**: {_inline(state_words(run))}, {rounds}"
    yield ""
    for run in shown:
        yield from _transcript(run)
    wanted = {run.run_id for run in shown}
    whole = len(wanted) == len(projection.runs)
    messages = [message for message in projection.messages.values() if whole or message.run_id in wanted]
    if messages:
        yield "## Mail"
        yield ""
        yield from _fenced(list(ledger_lines(messages, projection)))


def _transcript(run: RunView) -> Iterator[str]:
    yield f"## {_inline(run.name)}"
    yield ""
    for entry in run.entries:
        yield from _entry(entry, run)


def _entry(entry: TranscriptEntry, run: RunView) -> Iterator[str]:
    at = clock_time(entry.at)
    match entry:
        case ToolEntry():
            yield f"**Tool `{_code(entry.name)}`**, round {entry.round}, {at}"
            yield ""
            yield from _fenced(argument_text(entry.arguments).split("\n"))
            if entry.result is None:
                yield "Never returned." if entry.abandoned else "Still running."
                yield ""
            else:
                yield f"{'Failed' if entry.is_error else 'Returned'} after {duration(entry.elapsed)}:"
                yield ""
                yield from _text(entry.result)
        case ApprovalEntry():
            answer = str(entry.answer).replace("_", " ") if entry.answer else "not answered yet"
            why = f": {_inline(entry.reason)}" if entry.reason else ""
            yield f"**Approval of `{_code(entry.name)}`**, {at}: {_inline(done_by(answer, entry.by))}{why}"
            yield ""
        case MessageEntry():
            read = (
                f"returned unread, {_inline(entry.returned)}" if entry.returned else f"read in round {entry.round}"
            )
            edited = f", {_inline(done_by('edited', entry.edited_by))}" if entry.edited else ""
            times = f"{read} at {at}, composed {clock_time(entry.composed_at)}{edited}"
            yield f"**Message of {_inline(sender_words(entry.sender))}**, {times}"
            yield ""
            yield from _text(entry.text)
        case TextEntry(kind=TextKind.END):
            took = f"{plural(run.round, 'round')}, {duration(run.ended_at - run.started_at)}"
            yield f"**End** at {at}: {_inline(state_words(run))}, after {took}"
            yield ""
            yield from _text(entry.text)
        case TextEntry():
            names = {
                TextKind.ANSWER: "Text",
                TextKind.RAW: "Unknown event",
                TextKind.LOOP: "The loop's own prompt",
            }
            name = names.get(entry.kind, str(entry.kind).capitalize())
            yield f"**{name}**, {f'round {entry.round}, ' if entry.round else ''}{at}"
            yield ""
            yield from _text(entry.text)


def _text(text: str) -> Iterator[str]:
    shown = sanitize(text).strip("\n")
    if shown:
        yield from _fenced(shown.split("\n"))


def _fenced(lines: list[str]) -> Iterator[str]:
    """Put lines into a block whose fence is longer than any in them."""
    longest = max((len(found) for line in lines for found in _TICKS.findall(line)), default=2)
    fence = "`" * (longest + 1)
    yield f"{fence}text"
    yield from lines
    yield fence
    yield ""


def _inline(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", sanitize_line(text))


def _code(name: str) -> str:
    return sanitize_line(name, 80).replace("`", "'")
