"""``Session``: a session hosted by a program of one's own, which every console on this machine can attach to."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from types import TracebackType

from dashboard import __version__
from dashboard.agent import INHERIT, Agent, RunResult, Runtime, run_agent
from dashboard.agent.loop import Inherit
from dashboard.core.errors import HostError
from dashboard.core.inbox import Inbox
from dashboard.core.labels import ROOT_LABEL, subagent_label
from dashboard.host.watch import Watch
from dashboard.journal.clock import wall_clock
from dashboard.journal.home import make_session_folder, new_session_id
from dashboard.journal.routed_inbox import RoutedInbox
from dashboard.journal.session import JournalHostSession


class Session:
    """Hosts runs in this program, recorded in a journal that outlives it: ``dashboard attach`` shows them live.

    Use it with ``async with``. Leaving it ends what still runs, returns the mail that nobody read, and closes the
    journal. Source: A1, A8, A9; the control of runs is A11.

    Args:
        title: what the session is about, for people.
        agent_types: the types that will be spawned: known addresses before the first such run (A5).

    Raises:
        SessionUnsafeError: on entering, if the state folder cannot be trusted with a journal.
    """

    def __init__(self, title: str, agent_types: Sequence[str] = ()) -> None:
        self._title = title
        self._labels = tuple(subagent_label(agent_type) for agent_type in agent_types)
        self._hosted: tuple[JournalHostSession, Runtime, Watch] | None = None
        self._ending: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Session:
        session = JournalHostSession(make_session_folder(new_session_id(wall_clock(), os.urandom(4))))
        await session.start(__version__, self._title, self._labels)
        runtime = Runtime(emit=session.emit, next_ordinal=session.inbox.next_ordinal)
        watch = Watch(session, runtime)
        await watch.__aenter__()
        self._hosted = session, runtime, watch
        self._ending = asyncio.create_task(self._end_runs_on_stop(), name="end runs on stop")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        session, _, watch = self._open()
        try:
            watch.stop("the program left the session" if kind is None else f"the program failed: {kind.__name__}")
            if self._ending is not None:
                await self._ending
        finally:
            await watch.__aexit__(kind, error, trace)
            await session.close(watch.reason)

    @property
    def session_id(self) -> str:
        """The session's name, for ``dashboard attach``."""
        return self._open()[0].folder.name

    @property
    def inbox(self) -> RoutedInbox:
        """The inbox of every run of the session: give it to agents and to ``make_subagent_tool`` (P13)."""
        return self._open()[0].inbox

    @property
    def runtime(self) -> Runtime:
        """What its runs share, for ``Agent.run(runtime=...)``."""
        return self._open()[1]

    async def run(
        self, agent: Agent, task: str, *, inbox: Inbox | Inherit | None = INHERIT, schema: object = None
    ) -> RunResult:
        """Run an agent on a task, to its answer.

        Args:
            agent: who runs; without a name its runs are labelled ``main``, and without an inbox they read the
                session's.
            task: the prompt.
            inbox: instead of these, for this run; ``None`` reads nothing (P12).
            schema: a type to decode the answer to, as for ``Agent.run`` (P11).

        Returns:
            How it ended; cancelled, if an operator stopped it or the session.

        Raises:
            HostError: the session is over, or was not entered.
        """
        runtime, _ = self._running()
        return await run_agent(
            agent,
            task,
            runtime,
            label=agent.name or ROOT_LABEL,
            inbox=self._inbox_of(agent) if isinstance(inbox, Inherit) else inbox,
            schema=schema,
        )

    async def serve(self, agent: Agent, task: str = "") -> str:
        """Keep an agent open: it answers the task, then every message that wakes it, until the session is stopped.

        Args:
            agent: as for ``run``.
            task: the first prompt; an empty one leaves it idle until a message comes (T3).

        Returns:
            Why the session was stopped.

        Raises:
            HostError: the session is over, or was not entered.
        """
        runtime, watch = self._running()
        root = asyncio.create_task(
            run_agent(
                agent,
                task,
                runtime,
                label=agent.name or ROOT_LABEL,
                inbox=self._inbox_of(agent),
                keep_open=True,
            )
        )
        over = asyncio.create_task(watch.over())
        try:
            await asyncio.wait((root, over), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task_ in (root, over):
                task_.cancel()
            await asyncio.gather(root, over, return_exceptions=True)
        return watch.reason

    async def _end_runs_on_stop(self) -> None:
        _, runtime, watch = self._open()
        await runtime.lives.end_all(await watch.over())

    def _inbox_of(self, agent: Agent) -> Inbox:
        return self.inbox if agent.inbox is None else agent.inbox

    def _running(self) -> tuple[Runtime, Watch]:
        _, runtime, watch = self._open()
        if watch.reason:
            raise HostError(f"the session {self.session_id} is over", watch.reason, "Open another")
        return runtime, watch

    def _open(self) -> tuple[JournalHostSession, Runtime, Watch]:
        if self._hosted is None:
            raise HostError(
                "the session has not been entered", fix="Use it as: async with Session(...) as session"
            )
        return self._hosted
