"""What goes on beside the runs of a host: it says that it lives, and does what operators ask."""

from __future__ import annotations

import asyncio
from types import TracebackType

from dashboard.agent import Runtime
from dashboard.core.sessions import HostSession
from dashboard.host.control import ControlDesk

HEARTBEAT_SECONDS = 1.0
LOOK_SECONDS = 0.1


class Watch:
    """Entered for as long as a host lives; the runs end before it is left.

    Args:
        session: the host's face of the session.
        runtime: whose runs are controlled.
    """

    def __init__(self, session: HostSession, runtime: Runtime) -> None:
        self._session = session
        self.desk = ControlDesk(session, runtime, self.stop)
        self._stopped = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.reason = ""

    async def __aenter__(self) -> Watch:
        self.begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.end()

    def begin(self) -> None:
        """Begin to beat and to look."""
        self._tasks = [
            asyncio.create_task(self._pulse(), name="heartbeat"),
            asyncio.create_task(self._look(), name="controls"),
        ]

    async def end(self) -> None:
        """Beat and look no longer, and tell that a stop was done."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.desk.tell_stopped()

    def stop(self, reason: str) -> None:
        """Say that every run has to end; the first reason stands. Safe in a signal handler of the event loop."""
        self.reason = self.reason or reason
        self._stopped.set()

    async def over(self) -> str:
        """Return once ``stop`` was called, with the reason; or raise what ended the watching, which is a bug."""
        stopped = asyncio.create_task(self._stopped.wait(), name="stop")
        try:
            done, _ = await asyncio.wait((stopped, *self._tasks), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
        for task in done:
            task.result()
        return self.reason

    async def _pulse(self) -> None:
        while True:
            self._session.beat()
            await asyncio.sleep(HEARTBEAT_SECONDS)

    async def _look(self) -> None:
        while not self.reason:
            await asyncio.sleep(LOOK_SECONDS)
            await self.desk.look()
        await asyncio.Event().wait()
