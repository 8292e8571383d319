"""The console over a real journal, with a host that a test plays by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot

from dashboard.core.events import (
    HistoryAppended,
    KnownEvent,
    RoundStarted,
    RunFinished,
    RunStarted,
    TextDelta,
    TurnStarted,
)
from dashboard.core.history import User
from dashboard.core.mail import Boundary, BoundaryKind
from dashboard.core.outcomes import Outcome
from dashboard.journal.home import make_session_folder
from dashboard.journal.session import JournalHostSession, JournalOperatorSession
from dashboard.ui.app import ConsoleApp
from dashboard.ui.glyphs import UNICODE, Glyphs
from dashboard.ui.screens.console import Console, settle
from dashboard.ui.widgets.panel import Panel
from tests.conftest import FakeClock


class Sight:
    """What one console shows, and the keys that it gets."""

    def __init__(self, pilot: Pilot[None]) -> None:
        self.pilot = pilot

    @property
    def app(self) -> ConsoleApp:
        app = self.pilot.app
        assert isinstance(app, ConsoleApp)
        return app

    @property
    def console(self) -> Console:
        return self.app.console_screen

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        """Type as fast as a terminal sends: all keys are there before the first is acted on."""
        for character in text:
            key = "enter" if character == "\n" else _character_to_key(character)
            self.app.post_message(events.Key(key, "\r" if character == "\n" else character))
        await self.pilot.pause()

    def screen(self) -> list[str]:
        """The cells, as lines of text."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip) for strip in strips]

    def text(self) -> str:
        return "\n".join(self.screen())

    def toasts(self) -> str:
        """What toasts say, as they were given."""
        return "\n".join(notification.message for notification in self.app._notifications)

    def panel(self, run_id: str) -> Panel:
        return self.console.wall._panels[run_id]


class Stage(Sight):
    """A session with its host and one console on it."""

    def __init__(self, folder: Path, clock: FakeClock, pilot: Pilot[None], host: JournalHostSession) -> None:
        super().__init__(pilot)
        self.folder = folder
        self.clock = clock
        self.host = host
        self.lengths: dict[str, int] = {}

    def emit(self, *events: KnownEvent) -> None:
        for event in events:
            self.host.emit(event)

    def start(
        self, run_id: str, label: str = "main", ordinal: int = 1, parent: str | None = None, task: str = "t"
    ) -> None:
        self.emit(
            RunStarted(
                run_id=run_id, label=label, ordinal=ordinal, task=task, max_iterations=10, parent_run_id=parent
            ),
            HistoryAppended(run_id=run_id, index=0, entry=User(task)),
            TurnStarted(run_id=run_id, turn=1),
            RoundStarted(run_id=run_id, turn=1, round=1, step=1, max_iterations=10),
        )
        self.lengths[run_id] = 1

    def roster(self) -> None:
        """A root and two researchers: the story's cast."""
        self.start("run_m")
        self.start("run_1", "subagent-researcher", 1, "run_m")
        self.start("run_2", "subagent-researcher", 2, "run_m")

    def say(self, run_id: str, text: str) -> None:
        self.emit(TextDelta(run_id=run_id, round=1, text=text))

    def finish(self, run_id: str, outcome: Outcome = Outcome.ANSWERED) -> None:
        self.emit(RunFinished(run_id=run_id, outcome=outcome))

    async def boundary(self, run_id: str, round_number: int = 2) -> list[str]:
        """Let a run come to its next round boundary."""
        mail = self.host.inbox.open_run(run_id)
        taken = await mail.take(Boundary(BoundaryKind.AFTER_TOOLS, 1, round_number, self.lengths[run_id]))
        self.lengths[run_id] += len(taken)
        return [delivered.text for delivered in taken]

    async def show(self) -> None:
        """Draw everything that has happened."""
        await self.pilot.pause()
        await settle(self.console, int(self.host._tail.store.value("SELECT max(seq) FROM event")))
        for _ in range(2):  # new panels are laid out, and then learn their size
            await self.pilot.pause()

    async def send(self, text: str) -> None:
        """Type and press Enter, and wait out the moment in which it could have been a paste."""
        await self.type(text)
        await self.press("enter")
        await self.pilot.pause(0.06)
        await self.show()


OpenStage = Callable[..., AbstractAsyncContextManager[Stage]]


@pytest.fixture
def stage(clock: FakeClock) -> OpenStage:
    @asynccontextmanager
    async def opened(size: tuple[int, int] = (120, 40), glyphs: Glyphs = UNICODE) -> AsyncIterator[Stage]:
        folder = make_session_folder("20260101-000000-aaaa")
        host = JournalHostSession(folder, clock, inline=True)
        await host.start("0", "a title", ("subagent-researcher", "subagent-writer"))
        session = JournalOperatorSession(folder, "ana", clock, inline=True)
        app = ConsoleApp(session, glyphs)
        app.animation_level = "none"
        try:
            async with app.run_test(size=size) as pilot:
                made = Stage(folder, clock, pilot, host)
                await made.show()
                yield made
        finally:
            session.close()
            host._writer.close()
            host._tail.close()
            host._lock.release()

    return opened
