"""What a host process does with a roster: it runs the root until someone stops it, or nobody needs it any more."""

from __future__ import annotations

import asyncio

from dashboard.agent import Agent, Runtime, run_agent
from dashboard.core.sessions import HostSession
from dashboard.host.watch import LOOK_SECONDS, Watch


class Supervisor:
    """Runs one root agent and everything that it spawns.

    Args:
        session: the host's face of the session.
        linger: seconds without work and without a console, after which the session closes.
        runtime: what the roster shares.
    """

    def __init__(self, session: HostSession, linger: float, runtime: Runtime) -> None:
        self._session = session
        self._linger = linger
        self._runtime = runtime
        self._watch = Watch(session, runtime)

    def stop(self, reason: str) -> None:
        """End every run, and then the session; safe to call from a signal handler of the event loop."""
        self._watch.stop(reason)

    async def run(self, root: Agent, task: str) -> str:
        """Run the root until it is stopped, or nothing has happened for long enough.

        Returns:
            Why it is over.
        """
        async with self._watch as watch:
            work = asyncio.create_task(run_agent(root, task, self._runtime, keep_open=True), name="root run")
            over = asyncio.create_task(watch.over(), name="over")
            linger = asyncio.create_task(self._end_when_unneeded(), name="linger")
            await asyncio.wait((work, over, linger), return_when=asyncio.FIRST_COMPLETED)
            await self._runtime.lives.end_all(watch.reason)
            for ending in (over, linger):
                ending.cancel()
            ended = await asyncio.gather(work, over, linger, return_exceptions=True)
            for failed in ended:
                if isinstance(failed, Exception):
                    raise failed  # a bug of ours: let it be loud
        return watch.reason or "the root run ended"

    async def _end_when_unneeded(self) -> None:
        """End a session that nothing runs in and nobody looks at, by a clock that no one can set."""
        loop = asyncio.get_running_loop()
        quiet_since, last_seen = loop.time(), 0
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            seen_at = self._session.console_seen_at()
            if seen_at != last_seen or any(not life.idle for life in self._runtime.lives):
                quiet_since, last_seen = loop.time(), seen_at
            elif loop.time() - quiet_since >= self._linger:
                self._watch.stop("nothing ran, and no console was there")
                return
