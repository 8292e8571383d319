"""What is said of a recording that is played: where it is, and what a jump came to. Pure, as text with styles."""

from __future__ import annotations

import re

from dashboard.core import events as e
from dashboard.core.messages import REASONS
from dashboard.core.outcomes import Outcome
from dashboard.core.playback import Standing
from dashboard.core.projection import Projection
from dashboard.core.records import Record, run_of
from dashboard.core.sanitize import sanitize_line
from dashboard.ui.entry_lines import sender_words
from dashboard.ui.glyphs import Glyphs
from dashboard.ui.wording import clock_time, done_by, duration

SHOWN = 120
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")
_ENDS = {Outcome.ERROR: "it failed", Outcome.LOST: "its host died", Outcome.WRAP_UP: "its rounds ran out"}
_Ended = e.MessageReturned | e.MessageExpired | e.MessageWithdrawn


def standing_facts(standing: Standing, projection: Projection, glyphs: Glyphs) -> list[tuple[str, str]]:
    """Say where a recording is, each fact with its style: the first ones matter most.

    Args:
        standing: where its playback is.
        projection: what of it is drawn; a long jump is drawn in several frames.
        glyphs: the set in use.
    """
    how = glyphs.play if standing.playing else f"{glyphs.hold} paused"
    facts = [(f" REPLAY {how} {standing.speed:g}x ", "bold $background on $replay")]
    state = _state(standing, projection)
    if state:
        facts.append((state, "bold $replay"))
    if standing.now:
        facts.append((clock_time(standing.now), "$foreground"))
    if standing.total:
        facts.append((f"event {projection.seq:,} of {standing.total:,}", "$foreground"))
    return facts


def _state(standing: Standing, projection: Projection) -> str:
    if not standing.total:
        return "the recording is empty" if standing.complete else "nothing is recorded yet"
    if projection.seq >= standing.total:
        end = "end of the recording" if standing.complete else "end for now"
        return end if projection.runs else f"{end}: no run in it"
    return f"idle {duration(standing.skipped)} skipped" if standing.skipped else ""


def event_words(record: Record, projection: Projection) -> str:
    """Say on one line what a record is about, once it is folded.

    Args:
        record: where a jump or a step has come to.
        projection: what is folded, that record included.
    """
    event = record.event
    run = projection.runs.get(run_of(event) or "")
    who = run.name if run else "the session"
    match event:
        case e.MessageQueued():
            words = f"{sender_words(event.sender)} wrote to {event.to}"
        case e.MessageDelivered():
            words = f"{who} read {_message(event, projection)} in round {event.round}"
        case e.MessageReturned() | e.MessageExpired() | e.MessageWithdrawn():
            words = f"{_message(event, projection)} came back unread{_why(event)}"
        case e.RunFinished():
            words = f"{who} ended: {_ENDS.get(event.outcome, event.outcome)}"
        case e.TurnFinished(outcome=Outcome.ERROR):
            words = f"the turn of {who} failed"
        case e.ToolReturned(is_error=True):
            words = f"a tool of {who} failed"
        case e.ControlRefused():
            words = f"the host refused a request: {event.reason}"
        case e.RunBlocked():
            words = f"{who} is blocked: {event.on}"
        case e.NoticeRaised():
            words = f"{who}: {event.text}"
        case e.Unknown():
            words = f"{who}: {event.type}"
        case _:
            words = f"{who}: {_WORD.sub(' ', type(event).__name__).lower()}"
    return sanitize_line(words, SHOWN)


def _message(event: e.MessageDelivered | _Ended, projection: Projection) -> str:
    message = projection.messages.get(event.message_id or "")
    return f"{sender_words(message.sender)}'s message" if message else "a message"


def _why(event: _Ended) -> str:
    match event:
        case e.MessageWithdrawn():
            return f": {done_by('withdrawn', event.by)}"
        case e.MessageExpired():
            return ": its time had passed"
        case e.MessageReturned():
            return f": {REASONS[event.reason]}"
