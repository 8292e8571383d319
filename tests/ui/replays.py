"""The console over a recording, with a time that passes only when a test says so."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from dashboard.core import events as e
from dashboard.core.events import KnownEvent
from dashboard.core.history import User
from dashboard.core.messages import ReturnReason
from dashboard.core.outcomes import Outcome
from dashboard.journal.home import make_session_folder
from dashboard.journal.replay import ReplaySession
from dashboard.journal.session import JournalHostSession
from dashboard.ui.app import ConsoleApp
from dashboard.ui.glyphs import UNICODE, Glyphs
from dashboard.ui.screens.console import settle
from tests.conftest import FakeClock
from tests.core.recordings import delivered, queued, started
from tests.ui.conftest import Sight

Told = tuple[float, KnownEvent]  # seconds after the event before, and what happened


class ReplayStage(Sight):
    """A recording, and a console that plays it."""

    def __init__(self, pilot: Pilot[None], session: ReplaySession, steady: FakeClock) -> None:
        super().__init__(pilot)
        self.session = session
        self.steady = steady

    async def show(self) -> None:
        """Draw everything that is due."""
        await self.pilot.pause()
        await settle(self.console, self.session.playback.seq)
        for _ in range(2):  # new panels are laid out, and then learn their size
            await self.pilot.pause()

    async def watch(self, seconds: float) -> None:
        """Let time pass, in frames: nobody looks away."""
        while seconds > 0:
            self.steady.tick(min(0.25, seconds))
            seconds -= 0.25
            await self.console.take_frame()
        await self.show()

    async def push(self, *keys: str) -> None:
        """Press keys, and draw what they did."""
        for key in keys:
            await self.press(key)
            await self.show()


def record(story: Sequence[Told], session_id: str = "20260101-000000-aaaa", *, over: bool = True) -> Path:
    """Write a session into a journal, and give its folder."""
    clock = FakeClock()
    host = JournalHostSession(make_session_folder(session_id), clock, inline=True)
    for seconds, event in story:
        clock.tick(seconds)
        host.emit(event)
    if over and story:
        host.emit(e.SessionClosed(reason="done"))
    host._writer.close()
    host._tail.close()
    host._lock.release()
    return host.folder


@asynccontextmanager
async def replayed(
    story: Sequence[Told],
    size: tuple[int, int] = (120, 40),
    glyphs: Glyphs = UNICODE,
    *,
    speed: float = 1.0,
    start: int = 0,
    over: bool = True,
) -> AsyncIterator[ReplayStage]:
    """Record a story, and open the console on it."""
    steady = FakeClock(0)
    session = ReplaySession(record(story, over=over), "ana", speed=speed, start=start, clock=steady)
    app = ConsoleApp(session, glyphs)
    app.animation_level = "none"
    try:
        async with app.run_test(size=size) as pilot:
            stage = ReplayStage(pilot, session, steady)
            await stage.show()
            yield stage
    finally:
        session.close()


def say(run_id: str, text: str) -> e.TextDelta:
    return e.TextDelta(run_id=run_id, round=1, text=text)


def roster() -> list[Told]:
    """A root and eleven researchers: more than a small wall shows."""
    runs = [started(f"run_{number}", "subagent-researcher", number, "run_m") for number in range(1, 12)]
    return [(0, started("run_m")), *((0, run) for run in runs)]


def mail(message_id: str, run_id: str, name: str) -> list[Told]:
    """A message that is written, and read four seconds later."""
    entry = e.HistoryAppended(run_id=run_id, index=1, entry=User("look at worker.log"))
    return [
        (1, queued(message_id, run_id=run_id, to=name)),
        (4, delivered(message_id, run_id=run_id)),
        (0, entry),
    ]


def whole() -> list[Told]:
    """Everything at once: text, a tool that fails, mail that is read and mail that comes back, and every end."""
    return [
        *roster(),
        *((0.1, say("run_m", f"word{number} ")) for number in range(20)),
        *mail("m1", "run_9", "subagent-researcher#9"),
        (1, e.ToolCalled(run_id="run_10", round=1, tool_call_id="c", name="shell", arguments="{}")),
        (1, e.ToolReturned(run_id="run_10", round=1, tool_call_id="c", text="exit 2", is_error=True)),
        (840, e.NoticeRaised(level=e.NoticeLevel.WARNING, text="the disk is nearly full")),
        (1, e.NoticeRaised(level=e.NoticeLevel.ERROR, text="it is full", run_id="run_11")),
        (1, queued("m2", run_id="run_2", to="subagent-researcher#2")),
        (1, e.MessageReturned(message_id="m2", reason=ReturnReason.RUN_ENDED, run_id="run_2")),
        (1, e.RunFinished(run_id="run_2", outcome=Outcome.ERROR, error="overloaded")),
        *((0.1, say("run_m", f"word{number} ")) for number in range(20)),
        (1, e.RunFinished(run_id="run_m", outcome=Outcome.ANSWERED, answer="all is well")),
    ]
