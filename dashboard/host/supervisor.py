"""What watches over a roster: it says that the host lives, does what operators ask, and knows when it is over."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field

from dashboard.agent import Agent, Runtime, run_agent
from dashboard.core.events import (
    ControlAction,
    ControlApplied,
    ControlRefused,
    KnownEvent,
    RunStarted,
    TurnFinished,
    TurnStarted,
)
from dashboard.core.sessions import Control, HostSession

HEARTBEAT_SECONDS = 1.0
LOOK_SECONDS = 0.1


@dataclass(slots=True)
class Activity:
    """Whether anything runs: a root's turn is open, and its sub-agents live within it.

    The end of a run is not looked at: an inbox of the session records it in one step with its last look for mail,
    and not through the host's emit.
    """

    at_work: bool = False
    _roots: set[str] = field(default_factory=set)

    def take(self, event: KnownEvent) -> None:
        """Note what an event says of a root."""
        match event:
            case RunStarted(parent_run_id=None):
                self._roots.add(event.run_id)
            case TurnStarted() if event.run_id in self._roots:
                self.at_work = True
            case TurnFinished() if event.run_id in self._roots:
                self.at_work = False  # idle: it waits for mail
            case _:
                pass


class Supervisor:
    """Runs one root agent and everything that it spawns.

    Args:
        session: the host's face of the session.
        linger: seconds without work and without a console, after which the session closes.
        runtime: what the roster shares; its ``emit`` is replaced by one that this watches.
    """

    def __init__(self, session: HostSession, linger: float, runtime: Runtime) -> None:
        self._session = session
        self._linger = linger
        self._activity = Activity()
        self._quiet_since = 0.0
        self._seen_at = 0
        self._stop = asyncio.Event()
        self._reason = ""
        self._applied: list[KnownEvent] = []
        self.runtime = runtime
        runtime.emit = self._emit

    def stop(self, reason: str) -> None:
        """End every run, and then the session; safe to call from a signal handler of the event loop."""
        self._reason = self._reason or reason
        self._stop.set()

    async def run(self, root: Agent, task: str) -> str:
        """Run the root until it is stopped, or nothing has happened for long enough.

        Returns:
            Why it is over.
        """
        work = asyncio.create_task(run_agent(root, task, self.runtime, keep_open=True), name="root run")
        pulse = asyncio.create_task(self._pulse(), name="heartbeat")
        watch = asyncio.create_task(self._watch(), name="watch controls and linger")
        stop = asyncio.create_task(self._stop.wait(), name="stop")
        await asyncio.wait([work, watch, stop], return_when=asyncio.FIRST_COMPLETED)
        for task_ in (work, watch, stop, pulse):
            task_.cancel()
            if task_ is not work or not work.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await task_
        for event in self._applied:
            self._session.emit(event)
        if work.done() and not work.cancelled():
            work.result()  # a root that raised is a bug of ours: let it be loud
        if watch.done() and not watch.cancelled():
            watch.result()
        return self._reason or "the root run ended"

    def _emit(self, event: KnownEvent) -> None:
        self._activity.take(event)
        self._session.emit(event)

    async def _pulse(self) -> None:
        while True:
            self._session.beat()
            await asyncio.sleep(HEARTBEAT_SECONDS)

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        self._quiet_since = loop.time()
        while not self._reason:
            await asyncio.sleep(LOOK_SECONDS)
            for control in await self._session.controls():
                self._apply(control)
            self._look_around(loop.time())

    def _apply(self, control: Control) -> None:
        if control.action == ControlAction.STOP_SESSION:
            self._applied.append(ControlApplied(control_id=control.id, action=ControlAction.STOP_SESSION))
            self.stop("stopped by an operator")
        else:  # of a newer console: say so, and go on
            why = f"this host does not know how to {control.action}"
            self._emit(ControlRefused(control_id=control.id, reason=why, run_id=control.run_id))

    def _look_around(self, now: float) -> None:
        """End a session that nothing runs in and nobody looks at, by a clock that no one can set."""
        seen_at = self._session.console_seen_at()
        if self._activity.at_work or seen_at != self._seen_at:
            self._seen_at = seen_at
            self._quiet_since = now
        elif now - self._quiet_since >= self._linger:
            self.stop("nothing ran, and no console was there")
