"""The commands that open the console: ``attach``, and ``replay``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dashboard.cli.shared import (
    any_session_argument,
    find,
    need_terminal,
    operator,
    session_argument,
    tells_errors,
)
from dashboard.core.sanitize import sanitize_line


@click.command()
@any_session_argument
@tells_errors
def attach(session: str | None) -> None:
    """Open the console on SESSION.

    Without one: on the only live session; where several are live, it asks which; if none is live, on the newest.
    """
    need_terminal()
    folder = find(session) if session is not None else _chosen()
    open_console(folder)


@click.command()
@session_argument
@click.option(
    "--speed", type=click.FloatRange(0.25, 64), default=1.0, show_default=True, help="How fast: 0.25 to 64."
)
@click.option(
    "--from", "start", type=click.IntRange(0), default=0, metavar="SEQ", help="The event to begin behind."
)
@tells_errors
def replay(session: str, speed: float, start: int) -> None:
    """Play SESSION as it was recorded, in the console: read-only, nothing is sent and nothing is changed.

    The speed is a power of two: any other is taken for the next slower one. `?` in the console shows the keys.
    """
    need_terminal()
    from dashboard.core.playback import SPEEDS
    from dashboard.journal.replay import ReplaySession
    from dashboard.ui.app import ConsoleApp

    played = ReplaySession(find(session), operator(), speed=max(s for s in SPEEDS if s <= speed), start=start)
    console = ConsoleApp(played)
    try:
        console.run()
    finally:
        played.close()
    sys.exit(console.return_code or 0)


def open_console(folder: Path) -> None:
    """Open the console on a session, and say once it is left how to come back.

    Raises:
        JournalError: the session has no journal that can be read.
    """
    from dashboard.journal.session import JournalOperatorSession
    from dashboard.ui.app import ConsoleApp

    session = JournalOperatorSession(folder, operator())
    console = ConsoleApp(session)
    try:
        console.run()
    finally:
        session.close()
    _say_goodbye(folder)
    if console.return_code:
        sys.exit(console.return_code)  # it broke, and has said how


def _chosen() -> Path:
    """Give the session to attach to where none is named; ask where several are live."""
    from dashboard.cli.listing import facts
    from dashboard.journal.catalog import sessions
    from dashboard.journal.home import find_session

    live = [summary for summary in sessions() if summary.state.lives]
    if len(live) < 2:
        return find(None)
    from dashboard.journal.clock import wall_clock
    from dashboard.ui.chooser import SessionChoice, SessionChooser

    now = wall_clock()
    picked = SessionChooser(
        [SessionChoice(summary.session_id, summary.title, facts(summary, now)) for summary in live]
    ).run()
    if picked is None:
        sys.exit(0)
    return find_session(picked)


def _say_goodbye(folder: Path) -> None:
    from dashboard.journal.catalog import summarize

    summary = summarize(folder)
    back = f"dashboard attach {summary.session_id}"
    if summary.state.lives:
        click.echo(f"detached; {summary.session_id} goes on with {summary.live} open. Back to it: {back}")
    else:
        click.echo(f"{summary.session_id} is {summary.state}. Read it again: {back}")
    for report in sorted((folder / "reports").glob("*.md")):
        click.echo(f"report: {sanitize_line(str(report))}")
