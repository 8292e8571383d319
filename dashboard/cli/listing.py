"""The list of sessions: as lines of plain words, as JSON, and as what the console lets one choose from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dashboard.cli.plain.json_lines import as_json as json_of
from dashboard.cli.plain.json_lines import iso_time
from dashboard.core.sanitize import sanitize_line
from dashboard.journal.catalog import SessionSummary, sessions
from dashboard.journal.clock import wall_clock
from dashboard.journal.home import sessions_folder

HEAD = ("SESSION", "STATE", "AGE", "LAST", "RUNS", "OPEN", "PENDING", "SIZE", "TITLE")


def session_lines(*, as_json: bool = False) -> Iterator[str]:
    """Give a head line and a line per session, the newest first; or where there would be some.

    Args:
        as_json: a JSON object a session instead.
    """
    found = sessions()
    if as_json:
        yield from map(_json, found)
    elif not found:
        yield f"no sessions in {sanitize_line(str(sessions_folder()))}; `dashboard demo` starts one"
    else:
        yield from table(found, wall_clock())


def table(found: Sequence[SessionSummary], now: int) -> Iterator[str]:
    """Give a head line, and a line per session.

    Args:
        found: the sessions, in order.
        now: microseconds since the epoch, UTC.
    """
    yield _row(HEAD)
    yield from (_row(columns(summary, now)) for summary in found)


def columns(summary: SessionSummary, now: int) -> tuple[str, ...]:
    """Give how a session stands, a word or a sentence for each column of ``HEAD``."""
    return (
        summary.session_id,
        str(summary.state),
        age(now - summary.started_at) if summary.started_at else "-",
        age(now - summary.last_at) if summary.last_at else "-",
        str(summary.runs),
        str(summary.live),
        str(summary.pending),
        size(summary.size),
        sanitize_line(summary.problem or summary.title, 200 if summary.problem else 60),
    )


def facts(summary: SessionSummary, now: int) -> str:
    """Give how a session stands as a few words, for a place that has no columns."""
    stands = [str(summary.state), f"{age(now - summary.started_at)} old"]
    stands += [f"{summary.live} of {summary.runs} runs open", f"{summary.pending} pending", summary.problem]
    return ", ".join(fact for fact in stands if fact)


def age(microseconds: int) -> str:
    """Give a span in its largest unit: ``3d``, ``2h``, ``14m``, ``8s``."""
    seconds = max(0, microseconds) // 1_000_000
    for length, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def size(count: int) -> str:
    """Give an amount of bytes: ``84K``, ``3.1M``."""
    return f"{count / 1024:.0f}K" if count < 1 << 20 else f"{count / (1 << 20):.1f}M"


def _row(words: Sequence[str]) -> str:
    session, state, since, last, runs, live, pending, bytes_, title = words
    return f"{session:<22} {state:<14} {since:>5} {last:>5} {runs:>5} {live:>5} {pending:>8} {bytes_:>7}  {title}"


def _json(summary: SessionSummary) -> str:
    return json_of(
        {
            "session": summary.session_id,
            "state": str(summary.state),
            "title": summary.title,
            "started": iso_time(summary.started_at) if summary.started_at else None,
            "last": iso_time(summary.last_at) if summary.last_at else None,
            "runs": summary.runs,
            "live": summary.live,
            "pending": summary.pending,
            "returned": summary.returned,
            "bytes": summary.size,
            "problem": summary.problem or None,
        }
    )
