"""What the console stands on, looked at one by one: each finding says how it is, and what to do about it."""

from __future__ import annotations

import locale
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from dashboard import __version__
from dashboard.cli.listing import size
from dashboard.core.errors import DashboardError
from dashboard.core.sanitize import sanitize_line
from dashboard.journal.catalog import sessions
from dashboard.journal.home import HOME_VARIABLE, check_local, check_private, file_system, home
from dashboard.journal.proving import prove, sqlite_version
from dashboard.ui.wording import plural

LOW_SPACE = 64 * 1024 * 1024
SLOW_ESCAPE = 50  # milliseconds, over which tmux makes Esc feel slow
TMUX_SECONDS = 2.0


class Level(StrEnum):
    """How it is."""

    OK = "ok"
    NOTE = "note"  # works, and could be better
    FAIL = "FAIL"  # does not work


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Args:
        level: how it is.
        what: the thing.
        how: what was found.
        fix: the next thing to do; empty where nothing is to be done.
    """

    level: Level
    what: str
    how: str
    fix: str = ""


def diagnose() -> list[Finding]:
    """Look at everything."""
    return [finding for look in LOOKS for finding in look()]


def finding_lines(findings: Iterable[Finding]) -> Iterator[str]:
    """Give a line each, and below it what to do."""
    for finding in findings:
        yield f"{finding.level:<5} {finding.what:<12} {sanitize_line(finding.how)}"
        if finding.fix:
            yield f"{'':<18} {sanitize_line(finding.fix)}"


def _versions() -> Iterator[Finding]:
    how = f"{__version__}, Python {platform.python_version()}, SQLite {sqlite_version()}, {platform.platform()}"
    yield Finding(Level.OK, "versions", how)


def _state_folder() -> Iterator[Finding]:
    folder = home()
    named = f" (from {HOME_VARIABLE})" if os.environ.get(HOME_VARIABLE) else ""
    if not folder.is_dir():
        yield Finding(Level.OK, "state", f"{folder}{named} is not there yet; the first session makes it")
        return
    try:
        check_private(folder)
        check_local(folder)
    except DashboardError as error:
        yield Finding(Level.FAIL, "state", f"{error.what}: {error.why}", error.fix)
        return
    kind = file_system(folder)
    yield Finding(Level.OK, "state", f"{folder}{named}, yours alone{f', on {kind}' if kind else ''}")
    if not kind:
        yield Finding(Level.NOTE, "file system", "its type is not known here: sessions need one that is local")
    free = shutil.disk_usage(folder).free
    if free < LOW_SPACE:
        yield Finding(
            Level.FAIL, "space", f"{size(free)} free", "`dashboard sessions prune --older 30d` makes room"
        )
    else:
        yield Finding(Level.OK, "space", f"{size(free)} free")
    try:
        prove(folder)
    except DashboardError as error:
        yield Finding(Level.FAIL, "locks", str(error), f"Name a folder on a local disk with {HOME_VARIABLE}")
    else:
        yield Finding(Level.OK, "locks", "a host's lock holds, and a journal is shared between processes")


def _sessions() -> Iterator[Finding]:
    found = sessions()
    states = [str(summary.state) for summary in found if not summary.problem]
    counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    yield Finding(Level.OK, "sessions", f"{plural(len(found), 'session')}{f': {counts}' if counts else ''}")
    for summary in found:
        if summary.problem:
            yield Finding(
                Level.FAIL, "session", f"{summary.session_id}: {summary.problem}",
                "It is left as it is; `dashboard sessions check` tells more",
            )  # fmt: skip


def _locale() -> Iterator[Finding]:
    encoding = locale.getpreferredencoding(False)
    if "utf" in encoding.lower():
        yield Finding(Level.OK, "locale", encoding)
    else:
        fix = "export LANG=C.UTF-8; until then the console draws in ASCII"
        yield Finding(Level.NOTE, "locale", f"{encoding}, which has no box drawing", fix)


def _terminal() -> Iterator[Finding]:
    term = os.environ.get("TERM", "")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield Finding(
            Level.NOTE, "terminal", "none here; `dashboard tail`, `send`, `mail` and `control` need none"
        )
        return
    columns, rows = shutil.get_terminal_size()
    if term in ("", "dumb"):
        yield Finding(Level.FAIL, "terminal", f"TERM is {term or 'not set'}", "export TERM=xterm-256color")
        return
    colours = os.environ.get("COLORTERM", "") or ("256" if "256" in term else "few")
    how = f"{term}, {columns}x{rows}, colours: {'none (NO_COLOR)' if os.environ.get('NO_COLOR') else colours}"
    if columns < 40 or rows < 12:
        yield Finding(Level.FAIL, "terminal", how, "The console needs 40x12")
    else:
        yield Finding(Level.OK, "terminal", how)


def _tmux() -> Iterator[Finding]:
    if not os.environ.get("TMUX"):
        return
    wait = _tmux_option("escape-time")
    if wait is None:
        yield Finding(Level.NOTE, "tmux", "it does not say its settings")
    elif int(wait) > SLOW_ESCAPE:
        fix = "tmux set -sg escape-time 20; until then ctrl+g leaves faster than Esc"
        yield Finding(Level.NOTE, "tmux", f"escape-time is {wait} ms: Esc waits so long", fix)
    else:
        yield Finding(Level.OK, "tmux", f"escape-time is {wait} ms")
    if _tmux_option("set-clipboard") == "off":
        fix = "tmux set -s set-clipboard external"
        yield Finding(Level.NOTE, "tmux", "set-clipboard is off: what you copy stays in the console", fix)


def _tmux_option(name: str) -> str | None:
    try:
        told = subprocess.run(  # noqa: S603
            ["tmux", "show-options", "-gsv", name],  # noqa: S607 - whichever the user's is
            capture_output=True, text=True, timeout=TMUX_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    value = told.stdout.strip()
    return value if value and (name != "escape-time" or value.isdigit()) else None


LOOKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    _versions, _state_folder, _sessions, _locale, _terminal, _tmux,
)  # fmt: skip
