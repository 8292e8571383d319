"""The two faces of a session: the operator's, which a console works with, and the host's, which agents run on.

Nothing above knows that a session is a SQLite file.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol, runtime_checkable

import msgspec

from dashboard.core.events import ControlAction, KnownEvent
from dashboard.core.inbox import Inbox
from dashboard.core.messages import Amendment, Message, Preset, Receipt, Refusal
from dashboard.core.playback import Playback
from dashboard.core.records import Record
from dashboard.core.views import RunView


class HostState(StrEnum):
    """What is known of the process that runs a session's agents."""

    STARTING = "starting"
    RUNNING = "running"
    NOT_RESPONDING = "not responding"
    CLOSED = "closed"
    LOST = "lost"
    REPLAY = "replay"  # none is there: a recording is played

    @property
    def lives(self) -> bool:
        """Whether its process is there, be it running or stopped."""
        return self in (HostState.STARTING, HostState.RUNNING, HostState.NOT_RESPONDING)

    @property
    def over(self) -> bool:
        """Whether nothing in the session will read mail any more."""
        return self in (HostState.CLOSED, HostState.LOST)


class HostStatus(msgspec.Struct, frozen=True):
    """The host as an operator sees it.

    Args:
        state: what is known.
        pid: its process, 0 before it has started.
        heartbeat_at: when it last said that it lives, in microseconds since the epoch, UTC; 0 if never.
    """

    state: HostState
    pid: int = 0
    heartbeat_at: int = 0


class Control(msgspec.Struct, frozen=True):
    """One thing that an operator asked of the host.

    Args:
        id: the request.
        action: a ``ControlAction``, or one of a newer console's that this host does not know.
        run_id: the run that it is about, where it is about one.
        by: who asked.
        approval_id: what an ``allow`` or ``deny`` answers.
        reason: why, in the operator's words.
        seq: its place among the session's events.
    """

    id: str
    action: str
    run_id: str | None = None
    by: str = ""
    approval_id: str | None = None
    reason: str = ""
    seq: int | None = None


class ControlAnswer(msgspec.Struct, frozen=True):
    """How the host answered a request.

    Args:
        refused: why it did not do it; empty where it did.
    """

    refused: str = ""


class Destination(msgspec.Struct, frozen=True):
    """A run that a message which came back can be sent on to.

    Args:
        session_id: the session that it lives in.
        title: what that session is about.
        run_id: the run.
        name: its display name.
        short: the same for narrow places.
    """

    session_id: str
    title: str
    run_id: str
    name: str
    short: str


class BatchPart(msgspec.Struct, frozen=True):
    """One recipient of a broadcast, and the message that is meant for it.

    Args:
        run_id: the recipient, fixed when the broadcast was composed (A6).
        name: its display name, to be shown before sending.
        message: its own message, with an id of its own and the ``batch_id`` that all parts share.
    """

    run_id: str
    name: str
    message: Message


class BatchResult(msgspec.Struct, frozen=True):
    """What became of one part of a broadcast at send: a receipt, or the reason why it was refused."""

    part: BatchPart
    receipt: Receipt | None = None
    refusal: Refusal | None = None
    what: str = ""  # the refusal as a sentence


class OperatorSession(Protocol):
    """What a console can do with a session."""

    @property
    def session_id(self) -> str:
        """The session's name for people and commands."""
        ...

    @property
    def operator(self) -> str:
        """Whose messages these will be."""
        ...

    def now(self) -> int:
        """Give the time in microseconds since the epoch, UTC."""
        ...

    def read(self, after: int, limit: int) -> list[Record]:
        """Give the events that follow a seq, at most so many; empty, and nearly free, when nothing changed."""
        ...

    def compose(self, body: str, preset: Preset) -> Message:
        """Make a message of this operator's, with its id and time (A3)."""
        ...

    async def send(self, address: str, message: Message) -> Receipt:
        """Store a message for a run.

        Raises:
            SendRefusedError: it was refused, and nothing was stored.
            JournalError: it could not be stored; sending the same message again is safe.
        """
        ...

    def compose_batch(self, body: str, preset: Preset, recipients: Sequence[RunView]) -> tuple[BatchPart, ...]:
        """Make a broadcast to the runs that are given now, and to no others (A6).

        Args:
            body: what everyone gets.
            preset: how everyone gets it.
            recipients: the runs, as the operator sees them.
        """
        ...

    async def broadcast(self, batch: Sequence[BatchPart]) -> tuple[BatchResult, ...]:
        """Store a broadcast, each part for its run, in one step; a part that is refused stops no other.

        Raises:
            JournalError: nothing of it could be stored; sending the same batch again is safe.
        """
        ...

    async def amend(self, message_id: str, change: Amendment) -> Receipt:
        """Withdraw, edit, hold, release or promote a message that is still open (A10).

        Raises:
            SendRefusedError: ``too_late``, ``unknown``, or the new body is refused; nothing was changed.
            JournalError: it could not be stored.
        """
        ...

    async def destinations(self) -> list[Destination]:
        """Give the runs that a message which came back can be sent on to: of this session, and of every other."""
        ...

    async def forward(self, message_id: str, to: Destination) -> Receipt:
        """Send the text of a message that came back on to somebody else, as a message of its own; it is recorded.

        Raises:
            SendRefusedError: it was refused there, or the message has not come back; nothing was stored.
            JournalError: it could not be stored.
        """
        ...

    async def request(
        self,
        action: ControlAction,
        run_id: str | None = None,
        *,
        approval_id: str | None = None,
        reason: str = "",
    ) -> str:
        """Ask the host for something; gives the control's id.

        Args:
            action: what.
            run_id: the run that it is about; not for ``stop_session``.
            approval_id: what an ``allow`` or ``deny`` answers.
            reason: why, for the run that is denied something.
        """
        ...

    def probe(self) -> HostStatus:
        """Look at the host, and reap the session if it has died."""
        ...

    def close(self) -> None:
        """Let go of the session. The agents go on."""
        ...


@runtime_checkable
class Played(Protocol):
    """What tells a recorded session from a live one: no more, so that neither is ever taken for the other."""

    @property
    def playback(self) -> Playback:
        """What moves it: play, pause, speed and jumps."""
        ...


class ReplayedSession(OperatorSession, Played, Protocol):
    """A recorded session that is played: ``read`` and ``now`` give what was so at the moment that it has come to.

    Whatever would write to it, or ask its host for something, raises ``ReplayError``.
    """


class HostSession(Protocol):
    """What a host does with a session."""

    @property
    def inbox(self) -> Inbox:
        """The inbox of every run."""
        ...

    def emit(self, event: KnownEvent) -> None:
        """Append an event; never waits."""
        ...

    def beat(self) -> None:
        """Say that this host lives."""
        ...

    async def start(self, version: str, title: str, labels: tuple[str, ...]) -> None:
        """Record that this process took the session; returns once that is stored.

        Args:
            version: of this package.
            title: what the session is about, for people.
            labels: what the roster can spawn: known addresses before the first such run (A5).
        """
        ...

    async def controls(self) -> list[Control]:
        """Give what operators asked for and nobody has applied yet, in order."""
        ...

    def console_seen_at(self) -> int:
        """Give when a console was last there, in microseconds since the epoch, UTC; 0 if never."""
        ...

    async def changed(self) -> None:
        """Return once the journal has changed."""
        ...

    async def close(self, reason: str) -> None:
        """Record that the session is over, and let go of it."""
        ...
