"""Numbers, times, deeds and states as an operator reads them."""

from __future__ import annotations

from datetime import datetime

from dashboard.core.sanitize import sanitize_line
from dashboard.core.views import RunState, RunView

SHORT_WORDS = {RunState.APPROVAL: "approval"}  # where the whole word has no room: better than none or half of it


def round_words(round_number: int, step: int, limit: int) -> str:
    """Give a round and the budget it counts against: ``r3/12``, or ``r5 (2/12)`` once a message has renewed it.

    Args:
        round_number: the run's round, from 1.
        step: the round as the budget counts it, from 1.
        limit: the budget.
    """
    return f"r{round_number}/{limit}" if step == round_number else f"r{round_number} ({step}/{limit})"


def done_by(deed: str, who: str) -> str:
    """Give a deed and who did it: ``held by ana``; the deed alone where nobody said who."""
    return f"{deed} by {sanitize_line(who, 60)}" if who else deed


def state_words(run: RunView) -> str:
    """Give what a run is doing, and who or what keeps it: ``paused by ana``, ``blocked: journal``."""
    match run.state:
        case RunState.PAUSED:
            return done_by("paused", run.paused_by)
        case RunState.BLOCKED if run.blocked_on:
            return f"{run.state}: {sanitize_line(run.blocked_on, 40)}"
        case state:
            return str(state)


def clock_time(at: int) -> str:
    """Give the local time of day of an instant in microseconds since the epoch."""
    return f"{datetime.fromtimestamp(at / 1_000_000).astimezone():%H:%M:%S}"


def duration(microseconds: int) -> str:
    """Give a span: ``80ms``, ``2.1s``, ``3m05s``, ``2h10m``."""
    seconds = max(0, microseconds) / 1_000_000
    if seconds < 0.9995:
        return f"{round(seconds * 1000)}ms"
    if seconds < 59.95:  # from there on, one digit would round up to a minute
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest:02}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02}m"


def amount(count: int) -> str:
    """Give a count that fits a narrow place: ``950``, ``41.2k``, ``3.1M``."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 999_950 else f"{count / 1_000_000:.1f}M"


def plural(count: int, word: str) -> str:
    """Give a count and its word: ``1 line``, ``2 lines``, ``3 matches``."""
    if count == 1:
        return f"1 {word}"
    return f"{count:,} {word}{'es' if word.endswith(('ch', 's', 'x')) else 's'}"
