"""A recorded session for a console: what it reads is what playback has come to, and nothing is ever sent."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import msgspec

from dashboard.core.errors import ReplayError
from dashboard.core.events import ControlAction
from dashboard.core.ids import ENTROPY_BYTES, sortable_id
from dashboard.core.messages import Amendment, Message, Preset, Receipt, Sender, SenderKind
from dashboard.core.playback import Playback
from dashboard.core.records import Record
from dashboard.core.sessions import BatchPart, BatchResult, Destination, HostState, HostStatus
from dashboard.core.views import RunView
from dashboard.journal.clock import Clock
from dashboard.journal.recording import JournalRecording

STALL = 1_000_000  # microseconds between two reads, from which on nobody was looking: that time does not pass


def steady_clock() -> int:
    """Give microseconds that nobody sets back."""
    return time.monotonic_ns() // 1000


class ReplaySession:
    """The operator's face of a session that is played, from its journal, which is only read.

    A session that still runs can be played too: there is so much of it so far, and more comes.

    Args:
        folder: the session's folder.
        operator: who looks.
        speed: how many recorded seconds pass in a real one: one of ``core.playback.SPEEDS``.
        start: the seq up to which everything is shown at once; it plays on from there.
        clock: real microseconds, of which only the differences matter.

    Raises:
        JournalError: there is no journal there that can be read.
        ValueError: there is no such speed.
    """

    def __init__(
        self, folder: Path, operator: str, *, speed: float = 1.0, start: int = 0, clock: Clock = steady_clock
    ) -> None:
        self._folder = folder
        self._operator = operator
        self._clock = clock
        self._read_at: int | None = None
        self._recording = JournalRecording(folder)
        try:
            self._playback = Playback(self._recording, speed)
            self._playback.skip_to(start)
        except BaseException:
            self._recording.close()
            raise

    @property
    def session_id(self) -> str:
        """The session's name, which is its folder's."""
        return self._folder.name

    @property
    def operator(self) -> str:
        """Who looks."""
        return self._operator

    @property
    def playback(self) -> Playback:
        """What moves it: play, pause, speed and jumps."""
        return self._playback

    def now(self) -> int:
        """Give the recorded time in microseconds since the epoch, UTC; 0 before the first record."""
        return self._playback.now

    def read(self, after: int, limit: int) -> list[Record]:
        """Let the time pass since the last call, and give what it has shown behind a seq, at most so many.

        Raises:
            JournalError: the journal could not be read just now.
        """
        at = self._clock()
        elapsed = 0 if self._read_at is None else at - self._read_at
        self._read_at = at
        self._playback.advance(min(max(0, elapsed), STALL))
        shown = self._playback.seq - after  # seqs are gap-free, so that is how many there are
        return self._recording.page(after, min(limit, shown)) if shown > 0 else []

    def compose(self, body: str, preset: Preset) -> Message:
        """Make a message of this operator's, which nobody will get."""
        sender = Sender(SenderKind.OPERATOR, self._operator)
        return Message(self._new_id("msg"), body, preset.lane, preset.wake, sender, self.now())

    def compose_batch(self, body: str, preset: Preset, recipients: Sequence[RunView]) -> tuple[BatchPart, ...]:
        """Make a broadcast, which nobody will get."""
        batch_id = self._new_id("batch")
        message = msgspec.structs.replace(self.compose(body, preset), batch_id=batch_id)
        return tuple(
            BatchPart(run.run_id, run.name, msgspec.structs.replace(message, id=self._new_id("msg")))
            for run in recipients
        )

    async def send(self, address: str, message: Message) -> Receipt:  # noqa: ARG002 - the port's
        """Refuse.

        Raises:
            ReplayError: always.
        """
        _refuse()

    async def broadcast(self, batch: Sequence[BatchPart]) -> tuple[BatchResult, ...]:  # noqa: ARG002 - the port's
        """Refuse.

        Raises:
            ReplayError: always.
        """
        _refuse()

    async def amend(self, message_id: str, change: Amendment) -> Receipt:  # noqa: ARG002 - the port's
        """Refuse.

        Raises:
            ReplayError: always.
        """
        _refuse()

    async def destinations(self) -> list[Destination]:
        """Give nobody: no message is sent on from here."""
        return []

    async def forward(self, message_id: str, to: Destination) -> Receipt:  # noqa: ARG002 - the port's
        """Refuse.

        Raises:
            ReplayError: always.
        """
        _refuse()

    async def request(
        self,
        action: ControlAction,  # noqa: ARG002 - the port's
        run_id: str | None = None,  # noqa: ARG002
        *,
        approval_id: str | None = None,  # noqa: ARG002
        reason: str = "",  # noqa: ARG002
    ) -> str:
        """Refuse.

        Raises:
            ReplayError: always.
        """
        _refuse()

    def probe(self) -> HostStatus:
        """Say that this is a replay. The session's host is not looked at, and not reaped where it has died."""
        return HostStatus(HostState.REPLAY)

    def close(self) -> None:
        """Let go of the journal."""
        self._recording.close()

    def _new_id(self, prefix: str) -> str:
        return sortable_id(prefix, self.now(), os.urandom(ENTROPY_BYTES))


def _refuse() -> NoReturn:
    raise ReplayError
