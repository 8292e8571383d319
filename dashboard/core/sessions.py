"""The two faces of a session: the operator's, which a console works with, and the host's, which agents run on.

Nothing above knows that a session is a SQLite file.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

import msgspec

from dashboard.core.events import ControlAction, KnownEvent, Record
from dashboard.core.inbox import Inbox
from dashboard.core.messages import Message, Preset, Receipt


class HostState(StrEnum):
    """What is known of the process that runs a session's agents."""

    STARTING = "starting"
    RUNNING = "running"
    NOT_RESPONDING = "not responding"
    CLOSED = "closed"
    LOST = "lost"


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
    """One thing that an operator asked of the host."""

    id: str
    action: str  # a ``ControlAction``, or one of a newer console's that this host does not know
    run_id: str | None = None


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

    async def request(self, action: ControlAction, run_id: str | None = None) -> str:
        """Ask the host for something; gives the control's id."""
        ...

    def probe(self) -> HostStatus:
        """Look at the host, and reap the session if it has died."""
        ...

    def close(self) -> None:
        """Let go of the session. The agents go on."""
        ...


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
