"""A session hosted by the test itself, and commands run against it as a shell would, in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dashboard.cli.commands import main
from dashboard.core.events import KnownEvent, RunStarted
from dashboard.core.mail import Boundary, BoundaryKind, Delivered
from dashboard.core.outcomes import Outcome, RunEnd
from dashboard.journal.home import make_session_folder
from dashboard.journal.session import JournalHostSession

SESSION = "20260101-000000-aaaa"


def command(*arguments: str, stdin: str | bytes = "") -> Result:
    """Run a command here; what it raises that is not ours fails the test."""
    return CliRunner().invoke(main, arguments, input=stdin, catch_exceptions=False, prog_name="dashboard")


async def shell(*arguments: str, stdin: str | bytes = "") -> Result:
    """Run a command beside the host, which goes on meanwhile."""
    return await asyncio.to_thread(command, *arguments, stdin=stdin)


class Hosted:
    """A session with a host in this process, whose runs do what the test says."""

    def __init__(self, session: JournalHostSession) -> None:
        self.session = session
        self._read = 0
        self._closed = False

    @property
    def folder(self) -> Path:
        """Where its journal lies."""
        return self.session.folder

    def start(self, run_id: str, label: str = "main", ordinal: int = 1, parent: str | None = None) -> None:
        """Start a run."""
        self.session.emit(
            RunStarted(
                run_id=run_id, label=label, ordinal=ordinal, task="t", max_iterations=9, parent_run_id=parent
            )
        )

    async def read(self, run_id: str) -> tuple[Delivered, ...]:
        """Let a run come to a boundary."""
        taken = await self.session.inbox.open_run(run_id).take(Boundary(BoundaryKind.TURN_OPEN, 1, 2, self._read))
        self._read += len(taken)
        return taken

    async def end(self, run_id: str, outcome: Outcome = Outcome.ANSWERED) -> None:
        """End a run."""
        boundary = Boundary(BoundaryKind.FINAL, 1, 2, self._read)
        await self.session.inbox.open_run(run_id).finish(boundary, RunEnd(outcome))

    def emit(self, *events: KnownEvent) -> None:
        """Tell events of a run."""
        for event in events:
            self.session.emit(event)

    async def goes_on(self, doing: asyncio.Future[Result]) -> None:
        """Wait for news while a command goes on; one that ended instead fails the test with what it told."""
        if doing.done():
            done = await doing
            raise AssertionError(f"it ended with {done.exit_code}: {done.output}{done.stderr}")
        await self.session.changed()

    async def close(self, reason: str = "the test is over") -> None:
        """Close the session, once."""
        if not self._closed:
            self._closed = True
            await self.session.close(reason)

    async def written(self) -> None:
        """Return once all that was told is in the journal."""
        await asyncio.to_thread(self.session.inbox.runs)


@pytest.fixture
async def hosted() -> AsyncIterator[Hosted]:
    host = Hosted(JournalHostSession(make_session_folder(SESSION)))
    await host.session.start("0", "a title", ("subagent-researcher", "subagent-writer"))
    host.start("run_main")
    host.start("run_r1", "subagent-researcher", 1, "run_main")
    host.start("run_r2", "subagent-researcher", 2, "run_main")
    await host.written()
    yield host
    await host.close()
