"""What every command needs: how it ends, which session it means, and who the operator is."""

from __future__ import annotations

import functools
import getpass
import os
import sys
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import ParamSpec, TypeVar

import click
from click.shell_completion import CompletionItem

from dashboard.core.errors import DashboardError, SessionNotFoundError
from dashboard.core.sanitize import sanitize

OPERATOR_VARIABLE = "DASHBOARD_OPERATOR"
P = ParamSpec("P")
R = TypeVar("R")


class Exit(IntEnum):
    """The exit statuses, the same for every command."""

    DONE = 0
    FAILED = 1  # an error that was told, or a request that was refused
    USAGE = 2  # the command cannot be used like this, or not here
    PENDING = 3  # a message waits still, or a request has no answer yet
    RETURNED = 4  # a message will not be read: it came back, expired, or was withdrawn


def tells_errors(command: Callable[P, R]) -> Callable[P, R]:
    """Turn our own errors into one clear line and exit status 1; anything else is a bug, and stays loud."""

    @functools.wraps(command)
    def told(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except DashboardError as error:
            say_error(str(error))
            sys.exit(Exit.FAILED)

    return told


def say_error(text: str) -> None:
    """Tell people what is wrong, apart from what the command prints for programs."""
    click.echo(f"dashboard: {sanitize(text)}", err=True)


def operator() -> str:
    """Give the name that messages and requests carry: ``DASHBOARD_OPERATOR``, else the login."""
    named = os.environ.get(OPERATOR_VARIABLE)
    if named:
        return named
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "operator"


def find(session: str | None, *, live: bool = False) -> Path:
    """Give the folder of the session that a command means.

    Args:
        session: its id or a beginning of it; ``None`` for the only live one, or if none is live the newest.
        live: whether it has to be a live one, where none is named.

    Raises:
        SessionNotFoundError: there is none, or more than one fits.
    """
    from dashboard.journal.catalog import sessions
    from dashboard.journal.home import find_session

    if session is not None:
        return find_session(session)
    found = sessions()
    running = [summary for summary in found if summary.state.lives]
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


def need_terminal() -> None:
    """End the command where the console cannot be shown, with what can be done instead."""
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        say_error(
            "the console needs a terminal, and standard input, output or error is none here."
            " `dashboard demo --detach` starts a session without one, and `dashboard tail` reads one"
        )
        sys.exit(Exit.USAGE)
    if os.environ.get("TERM", "") in ("", "dumb"):
        say_error(
            "this terminal (TERM=dumb, or none) cannot show the console. `dashboard tail`, `send`, `mail` and"
            " `control` do the same in plain words"
        )
        sys.exit(Exit.USAGE)


def complete_session(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Offer the ids of sessions to the shell, the newest first; each with what it is about."""
    del context, parameter
    from dashboard.journal.catalog import peek
    from dashboard.journal.home import session_folders

    found = [folder for folder in reversed(session_folders()) if folder.name.startswith(start)]
    return [CompletionItem(folder.name, help=peek(folder)) for folder in found[:20]]


def complete_run(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Offer the names of a session's runs to the shell, the live ones first."""
    del parameter
    from dashboard.journal.home import find_session
    from dashboard.journal.reaping import readable

    session = context.params.get("session") or (context.parent.params.get("session") if context.parent else None)
    try:
        with readable(find_session(session or "")) as store:
            runs = sorted(store.runs(), key=lambda run: not run.live)
    except DashboardError:
        return []  # while a line is typed, nothing is to be told
    return [
        CompletionItem(run.name, help="live" if run.live else "ended")
        for run in runs
        if run.name.startswith(start)
    ]


session_argument = click.argument("session", shell_complete=complete_session)
any_session_argument = click.argument("session", required=False, shell_complete=complete_session)
