"""The README's screenshots: the demo recorded in virtual time, and drawn by the real console at chosen moments."""

from __future__ import annotations

import asyncio
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from textual.pilot import Pilot

from dashboard import __version__
from dashboard.agent import Runtime, run_agent
from dashboard.core.errors import HostError
from dashboard.core.events import ControlAction, MessageDelivered
from dashboard.core.messages import Amendment, Message, Preset, Receipt, Sender, SenderKind
from dashboard.core.records import Record
from dashboard.core.sessions import BatchPart, BatchResult, Destination, HostState, HostStatus
from dashboard.core.views import RunView
from dashboard.host.demo.roster import demo_roster
from dashboard.host.virtual_time import VirtualTime
from dashboard.journal.home import HOME_VARIABLE, JOURNAL_NAME, make_session_folder
from dashboard.journal.session import JournalHostSession, JournalOperatorSession
from dashboard.journal.tail import Tail
from dashboard.ui.app import ConsoleApp
from dashboard.ui.glyphs import UNICODE
from dashboard.ui.screens.console import settle

SESSION = "20261130-140000-demo"
START = int(datetime(2026, 11, 30, 14, 0, tzinfo=UTC).timestamp()) * 1_000_000
SENT_AFTER = 19.0  # seconds into the recording at which the operator writes
RECORDED = 260.0
STILL = 3  # pauses in which nothing changes
ADDRESSED = "subagent-researcher#2"
WRITTEN = "check worker.log instead"


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture.

    Args:
        name: the file's name, without its ending.
        size: cells across and down.
        moment: gives the instant to draw, of the recording's events.
        keys: what the operator presses first.
    """

    name: str
    size: tuple[int, int]
    moment: Callable[[list[Record]], int]
    keys: tuple[str, ...] = ()


class RecordedSession:
    """A session as it stood at one instant: nothing moves, and nothing can be sent.

    Args:
        records: every event up to that instant.
        at: the instant, in microseconds since the epoch, UTC.
    """

    session_id = SESSION
    operator = "ana"

    def __init__(self, records: list[Record], at: int) -> None:
        self._records = records
        self._at = at

    def now(self) -> int:
        """Give the instant."""
        return self._at

    def read(self, after: int, limit: int) -> list[Record]:
        """Give the events that follow a seq: seqs are gap-free, so they are positions too."""
        return self._records[after : after + limit]

    def compose(self, body: str, preset: Preset) -> Message:
        """Make a message, for a draft that is only looked at."""
        return Message("msg_0", body, preset.lane, preset.wake, Sender(SenderKind.OPERATOR, "ana"), self._at)

    async def send(self, address: str, message: Message) -> Receipt:  # noqa: ARG002 - the port's
        """Refuse: this is a picture."""
        raise HostError("a recording cannot be written to")

    def compose_batch(self, body: str, preset: Preset, recipients: Sequence[RunView]) -> tuple[BatchPart, ...]:
        """Make a broadcast, for a draft that is only looked at."""
        return tuple(BatchPart(run.run_id, run.name, self.compose(body, preset)) for run in recipients)

    async def broadcast(self, batch: Sequence[BatchPart]) -> tuple[BatchResult, ...]:  # noqa: ARG002 - the port's
        """Refuse: this is a picture."""
        raise HostError("a recording cannot be written to")

    async def amend(self, message_id: str, change: Amendment) -> Receipt:  # noqa: ARG002 - the port's
        """Refuse: this is a picture."""
        raise HostError("a recording cannot be written to")

    async def destinations(self) -> list[Destination]:
        """Give none: this is a picture."""
        return []

    async def forward(self, message_id: str, to: Destination) -> Receipt:  # noqa: ARG002 - the port's
        """Refuse: this is a picture."""
        raise HostError("a recording cannot be written to")

    async def request(
        self,
        action: ControlAction,  # noqa: ARG002 - the port's
        run_id: str | None = None,  # noqa: ARG002
        *,
        approval_id: str | None = None,  # noqa: ARG002
        reason: str = "",  # noqa: ARG002
    ) -> str:
        """Refuse: this is a picture."""
        raise HostError("a recording cannot be controlled")

    def probe(self) -> HostStatus:
        """Say that the host ran."""
        return HostStatus(HostState.RUNNING, 4242, self._at)

    def close(self) -> None:
        """Do nothing: nothing is open."""


def draw_all(folder: Path) -> Iterator[Path]:
    """Draw every screenshot.

    Args:
        folder: where to; made if it is not there.

    Yields:
        Each file, once it is written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _same_everywhere():
        records = record_demo()
        for shot in SHOTS:
            path = folder / f"{shot.name}.svg"
            path.write_text(asyncio.run(draw(shot, records)), encoding="utf-8")
            yield path


def record_demo() -> list[Record]:
    """Run the demo in virtual time, with one message of an operator, and give its events."""
    virtual = VirtualTime(START)
    entropy = random.Random(7)  # noqa: S311 - ids of a recording, which are to be the same each time
    folder = make_session_folder(SESSION)
    session = JournalHostSession(folder, virtual.clock, inline=True)
    console = JournalOperatorSession(folder, "ana", virtual.clock, inline=True)
    runtime = Runtime(session.emit, virtual.clock, asyncio.sleep, entropy.randbytes, virtual.run_blocking)
    roster = demo_roster(None, folder, speed=1.0)

    async def story() -> None:
        await session.start(__version__, roster.title, roster.labels)
        root = roster.make_root(session.inbox)
        run = asyncio.create_task(run_agent(root, roster.task, runtime, keep_open=True))
        await asyncio.sleep(SENT_AFTER)
        await console.send(ADDRESSED, console.compose(WRITTEN, Preset.STEER))
        await asyncio.sleep(RECORDED - SENT_AFTER)
        run.cancel()
        await asyncio.wait([run])
        await session.close("recorded")

    virtual.run(story())
    console.close()
    tail = Tail(folder / JOURNAL_NAME)
    records = tail.read(0, 1_000_000)
    tail.close()
    return records


async def draw(shot: Shot, records: list[Record]) -> str:
    """Draw one picture, as SVG."""
    at = shot.moment(records)
    shown = [record for record in records if record.at <= at]
    app = ConsoleApp(RecordedSession(shown, at), UNICODE)
    app.animation_level = "none"
    async with app.run_test(size=shot.size) as pilot:
        await settle(app.console_screen, len(shown))
        await _press(pilot, shot.keys)
        await settle(app.console_screen, len(shown))
        return await _at_rest(app, pilot)


async def _at_rest(app: ConsoleApp, pilot: Pilot[None]) -> str:
    """Give the picture once it has stayed the same for a few pauses.

    A pause ends when the process uses little time, and so too early on a machine that gives it none.
    """
    same, picture = 0, ""
    while same < STILL:
        await pilot.pause()
        drawn = app.export_screenshot(title="dashboard", simplify=True)
        same, picture = (same + 1 if drawn == picture else 0), drawn
    return picture


async def _press(pilot: Pilot[None], keys: tuple[str, ...]) -> None:
    for key in keys:
        await pilot.press(key)
        await pilot.pause()


def _seconds(seconds: float) -> Callable[[list[Record]], int]:
    return lambda records: START + round(seconds * 1_000_000)  # noqa: ARG005 - some moments look, this one does not


def _after_delivery(seconds: float) -> Callable[[list[Record]], int]:
    def moment(records: list[Record]) -> int:
        delivered = next(record.at for record in records if isinstance(record.event, MessageDelivered))
        return delivered + round(seconds * 1_000_000)

    return moment


@contextmanager
def _same_everywhere() -> Iterator[None]:
    """Draw in UTC, and keep the recording's session out of the user's own."""
    before = {name: os.environ.get(name) for name in ("TZ", HOME_VARIABLE)}
    with tempfile.TemporaryDirectory(prefix="dashboard-") as folder:
        os.environ.update({"TZ": "UTC", HOME_VARIABLE: folder})
        time.tzset()
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
            time.tzset()


SHOTS = (
    Shot("wall", (160, 46), _seconds(34)),
    Shot("pending", (160, 46), _seconds(SENT_AFTER + 0.8), keys=("l", "l")),
    Shot("delivered", (160, 46), _after_delivery(6), keys=("l", "l")),
    Shot("zoomed", (120, 40), _after_delivery(20), keys=("l", "l", "z")),
    Shot("small", (80, 24), _after_delivery(4), keys=("l", "l")),
)
