"""Every command. Each imports what it needs when it runs, so that the console never loads the model stack."""

from __future__ import annotations

import functools
import getpass
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from dashboard import __version__
from dashboard.core.errors import DashboardError, SessionNotFoundError
from dashboard.core.sanitize import sanitize, sanitize_line

OPERATOR_VARIABLE = "DASHBOARD_OPERATOR"
NO_TERMINAL = 2
P = ParamSpec("P")
R = TypeVar("R")


def tells_errors(command: Callable[P, R]) -> Callable[P, R]:
    """Turn our own errors into one clear line and exit status 1; anything else is a bug, and stays loud."""

    @functools.wraps(command)
    def told(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except DashboardError as error:
            click.echo(f"dashboard: {sanitize(str(error))}", err=True)
            sys.exit(1)

    return told


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dashboard")
def main() -> None:
    """Watch running sub-agents, one live panel each, and write to them while they work."""
    if sys.platform == "win32":
        click.echo("dashboard: Linux, macOS and WSL are supported; on Windows, run it inside WSL", err=True)
        sys.exit(1)


@main.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path, readable=False))
@click.option(
    "--speed",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0, 100),
    help="How fast text streams; 0 never waits.",
)
@click.option("--detach", is_flag=True, help="Start the host and leave it; print the session's id.")
@click.option(
    "--linger",
    default=600.0,
    show_default=True,
    type=click.FloatRange(0),
    help="Seconds the host stays without work or console.",
)
@tells_errors
def demo(folder: Path | None, speed: float, detach: bool, linger: float) -> None:
    """Run the demo roster over the files of FOLDER, and open the console on it.

    Without FOLDER it investigates a staging incident that comes with the package. No key, no network and no model
    server is needed: the model follows a script, everything else is real.
    """
    from dashboard.cli.launch import check_folder, start_host

    root = check_folder(folder) if folder is not None else None
    if not detach:
        _need_terminal()
    session = start_host(
        [*(["--root", str(root)] if root else []), "--speed", str(speed), "--linger", str(linger)]
    )
    if detach:
        click.echo(session.name)
    else:
        _open_console(session)


@main.command()
@click.argument("session", required=False)
@tells_errors
def attach(session: str | None) -> None:
    """Open the console on SESSION. Without one: on the only live session, or if none is live on the newest."""
    _need_terminal()
    _open_console(_find(session))


@main.command()
@tells_errors
def sessions() -> None:
    """List the sessions: the newest first."""
    from dashboard.cli.listing import session_lines

    for line in session_lines():
        click.echo(line)


@main.command()
@click.argument("session", required=False)
@tells_errors
def stop(session: str | None) -> None:
    """Stop every run of SESSION and end it. Without one: the only live session."""
    from dashboard.cli.stopping import stop_session

    click.echo(stop_session(_find(session, live=True), _operator()))


@main.command(hidden=True)
@click.argument("session")
@click.option("--root", type=click.Path(path_type=Path))
@click.option("--speed", type=float, default=1.0)
@click.option("--linger", type=float, default=600.0)
@tells_errors
def host(session: str, root: Path | None, speed: float, linger: float) -> None:
    """Be the host process of a session that was just made."""
    from dashboard.host.demo.roster import demo_roster
    from dashboard.host.process import host_main
    from dashboard.journal.home import make_session_folder

    host_main(make_session_folder(session), lambda folder: demo_roster(root, folder, speed), linger)


@main.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path), default=Path("screenshots"))
@tells_errors
def screenshots(folder: Path) -> None:
    """Draw the screenshots of the README into FOLDER, as SVG."""
    from dashboard.cli.screenshots import draw_all

    for path in draw_all(folder):
        click.echo(path)


def _open_console(folder: Path) -> None:
    from dashboard.journal.session import JournalOperatorSession
    from dashboard.ui.app import ConsoleApp

    session = JournalOperatorSession(folder, _operator())
    try:
        ConsoleApp(session).run()
    finally:
        session.close()
    _say_goodbye(folder)


def _say_goodbye(folder: Path) -> None:
    from dashboard.core.sessions import HostState
    from dashboard.journal.catalog import summarize

    summary = summarize(folder)
    reports = sorted((folder / "reports").glob("*.md"))
    back = f"dashboard attach {summary.session_id}"
    if summary.state in (HostState.RUNNING, HostState.NOT_RESPONDING):
        click.echo(f"detached; {summary.session_id} goes on with {summary.live} open. Back to it: {back}")
    else:
        click.echo(f"{summary.session_id} is {summary.state}. Read it again: {back}")
    for report in reports:
        click.echo(f"report: {sanitize_line(str(report))}")


def _find(session: str | None, *, live: bool = False) -> Path:
    from dashboard.core.sessions import HostState
    from dashboard.journal.catalog import sessions as every_session
    from dashboard.journal.home import find_session

    if session is not None:
        return find_session(session)
    found = every_session()
    running = [summary for summary in found if summary.state in (HostState.RUNNING, HostState.NOT_RESPONDING)]
    if len(running) > 1:
        names = ", ".join(summary.session_id for summary in running)
        raise SessionNotFoundError(f"{len(running)} sessions are live ({names})", fix="Name one of them")
    if running:
        return find_session(running[0].session_id)
    if found and not live:
        return find_session(found[0].session_id)
    raise SessionNotFoundError(
        "no session is live" if found else "there is no session yet", fix="`dashboard demo` starts one"
    )


def _need_terminal() -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        click.echo(
            "dashboard: the console needs a terminal, and standard input, output or error is none here."
            " `dashboard demo --detach` starts a session without one",
            err=True,
        )
        sys.exit(NO_TERMINAL)
    if os.environ.get("TERM", "") in ("", "dumb"):
        click.echo("dashboard: this terminal (TERM=dumb, or none) cannot show the console", err=True)
        sys.exit(NO_TERMINAL)


def _operator() -> str:
    named = os.environ.get(OPERATOR_VARIABLE)
    if named:
        return named
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "operator"
