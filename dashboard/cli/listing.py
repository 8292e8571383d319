"""The list of sessions as lines of plain words."""

from __future__ import annotations

from collections.abc import Iterator

from dashboard.core.sanitize import sanitize_line
from dashboard.journal.catalog import SessionSummary, sessions
from dashboard.journal.clock import wall_clock
from dashboard.journal.home import sessions_folder


def session_lines() -> Iterator[str]:
    """Give a head line and a line per session, the newest first; or where there would be some."""
    found = sessions()
    if not found:
        yield f"no sessions in {sanitize_line(str(sessions_folder()))}; `dashboard demo` starts one"
        return
    yield f"{'SESSION':<22} {'STATE':<14} {'AGE':>6} {'RUNS':>5} {'OPEN':>5} {'PENDING':>8} {'SIZE':>8}  TITLE"
    now = wall_clock()
    for summary in found:
        yield _line(summary, now)


def _line(summary: SessionSummary, now: int) -> str:
    age = _age(now - summary.started_at) if summary.started_at else "-"
    size = f"{summary.size / 1024:.0f}K" if summary.size < 1 << 20 else f"{summary.size / (1 << 20):.1f}M"
    told = sanitize_line(summary.problem or summary.title, 60)
    return (
        f"{summary.session_id:<22} {summary.state:<14} {age:>6} {summary.runs:>5} {summary.live:>5}"
        f" {summary.pending:>8} {size:>8}  {told}"
    )


def _age(microseconds: int) -> str:
    seconds = max(0, microseconds) // 1_000_000
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
