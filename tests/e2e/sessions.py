"""The sessions of one test in a real terminal: consoles on them, commands, and what their journals say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from dashboard.core.projection import Projection
from dashboard.core.views import RunView
from dashboard.journal.home import JOURNAL_NAME
from dashboard.journal.tail import Tail
from tests.e2e.terminal import Terminal, environment

DASHBOARD = [sys.executable, "-m", "dashboard"]


class Sessions:
    """The sessions of one test, and every command on them."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def console(self, *arguments: str, size: tuple[int, int] = (160, 46), operator: str = "ana") -> Terminal:
        return Terminal([*DASHBOARD, *arguments], environment(self.home, DASHBOARD_OPERATOR=operator), size)

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [*DASHBOARD, *arguments],
            env=environment(self.home),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return done.stdout

    @property
    def folder(self) -> Path:
        (folder,) = (self.home / "sessions").iterdir()
        return folder

    def projection(self) -> Projection:
        tail = Tail(self.folder / JOURNAL_NAME)
        projection = Projection()
        projection.fold(tail.read(0, 1_000_000))
        tail.close()
        return projection

    def next_round(self, terminal: Terminal, name: str) -> None:
        """Read the terminal until a run has just begun another round."""
        before = named(self.projection(), name).round
        terminal.until(lambda _: named(self.projection(), name).round > before)

    def host_pid(self) -> int:
        tail = Tail(self.folder / JOURNAL_NAME)
        pid = int(tail.store.meta("pid"))
        tail.close()
        return pid


def named(projection: Projection, name: str) -> RunView:
    return next(run for run in projection.runs.values() if run.name == name)


def small_logs(folder: Path) -> Path:
    logs = folder / "logs"
    logs.mkdir()
    (logs / "app.log").write_text("2026-01-01T10:00:00Z ERROR connection refused by db-1\n" * 30)
    (logs / "db.log").write_text("2026-01-01T09:59:30Z FATAL too many connections\n" * 12)
    return logs
