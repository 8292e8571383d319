"""``sessions check`` in words."""

from __future__ import annotations

from collections.abc import Iterator

from dashboard.core.errors import DashboardError
from dashboard.core.sanitize import sanitize, sanitize_line
from dashboard.journal.checking import Report, check
from dashboard.journal.home import find_session, session_folders
from dashboard.journal.reaping import look
from dashboard.ui.wording import plural


def check_lines(session: str | None) -> Iterator[tuple[str, bool]]:
    """Check one session or all; gives each line, and whether all is well that it tells of.

    Args:
        session: its id; ``None`` for every session.

    Raises:
        SessionNotFoundError: there is no such session.
    """
    folders = session_folders() if session is None else [find_session(session)]
    if not folders:
        yield "there is no session yet", True
    for folder in folders:
        try:
            look(folder)  # as any command: a dead host's runs are lost from here on, an older format is brought up
            yield from _told(check(folder))
        except DashboardError as error:
            yield f"{folder.name}: {sanitize(str(error))}", False


def _told(report: Report) -> Iterator[tuple[str, bool]]:
    counts = (
        f"{plural(report.events, 'event')}, {plural(report.runs, 'run')}, {plural(report.messages, 'message')}"
    )
    faults = len(report.faults) + report.more_faults
    well = "sound" if report.sound else f"{plural(faults, 'fault')} found"
    yield f"{report.session_id}: {well}; {counts}, {report.delivered} of them read", report.sound
    for fault in report.faults:
        yield f"    {sanitize_line(fault.where, 60)}: {sanitize_line(fault.what)}", False
    if report.more_faults:
        yield f"    and {plural(report.more_faults, 'more fault')}", False
    for note in report.notes:
        yield f"    note: {sanitize_line(note)}", True
