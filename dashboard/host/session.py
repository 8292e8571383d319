"""``Session``: a session hosted by a program of one's own, which every console on this machine can attach to."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Sequence
from types import TracebackType
from typing import Any

from dashboard import __version__
from dashboard.agent import INHERIT, Agent, RunResult, Runtime, run_agent
from dashboard.agent.finishing import completed
from dashboard.agent.loop import Inherit
from dashboard.agent.structured import output_schema
from dashboard.core.errors import HostError, RosterError
from dashboard.core.events import ApprovalRequested, ControlAction
from dashboard.core.inbox import Inbox, check_inbox
from dashboard.core.labels import AGENT_TYPE, ROOT_LABEL, subagent_label
from dashboard.core.sessions import Control
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
        RosterError: a type that cannot be a label (a ``ValueError``).
        SessionUnsafeError: on entering, if the state folder cannot be trusted with a journal.
        HostError: on entering a second time before it was left.
    """

    def __init__(self, title: str, agent_types: Sequence[str] = ()) -> None:
        self._title = title
        self._labels = tuple(subagent_label(agent_type) for agent_type in _checked(agent_types))
        self._hosted: _Hosted | None = None
        self._inside = False

    async def __aenter__(self) -> Session:
        if self._inside:
            raise HostError("the session has been entered already", fix="Make another Session")
        self._inside = True
        try:
            journal = JournalHostSession(make_session_folder(new_session_id(wall_clock(), os.urandom(3))))
            try:
                await journal.start(__version__, self._title, self._labels)
            except BaseException:
                await _to_its_end(journal.close("the session could not be opened"))
                raise
        except BaseException:
            self._inside = False
            raise
        runtime = Runtime(emit=journal.emit, next_ordinal=journal.inbox.next_ordinal)
        journal.inbox.runtime = runtime
        self._hosted = _Hosted(journal, runtime, Watch(journal, runtime))
        self._hosted.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        reason = "the program left the session" if kind is None else f"the program failed: {kind.__name__}"
        try:
            await _to_its_end(self._open().close(reason))
        finally:
            self._inside = False

    @property
    def session_id(self) -> str:
        """The session's name, for ``dashboard attach``."""
        return self._open().journal.folder.name

    @property
    def inbox(self) -> RoutedInbox:
        """The inbox of every run of the session: give it to agents and to ``make_subagent_tool`` (P13).

        What reads it is a run of this session, however it is started: recorded in its journal, under the control
        of its operators, and ended when the session is left.
        """
        return self._open().journal.inbox

    @property
    def runtime(self) -> Runtime:
        """What its runs share, for ``Agent.run(runtime=...)``: a run that reads nothing is seen here by that."""
        return self._open().runtime

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
            NotAnInboxError, InboxSignatureError, RosterError: as for ``Agent.run``, before any event.
        """
        own = self._inbox_of(agent) if isinstance(inbox, Inherit) else inbox
        check_inbox(own, "Session.run(inbox=...)")
        if schema is not None:
            output_schema(schema, "Session.run(schema=...)")
        return await run_agent(
            agent, task, self._open().running(), label=agent.name or ROOT_LABEL, inbox=own, schema=schema
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
        hosted = self._open()
        label, own = agent.name or ROOT_LABEL, self._inbox_of(agent)
        ended = await run_agent(agent, task, hosted.running(), label=label, inbox=own, keep_open=True)
        return hosted.watch.reason or ended.error

    def approvals(self) -> list[ApprovalRequested]:
        """Give the tool calls that wait for somebody's word, the oldest first: run, tool and arguments (H4)."""
        return self.runtime.approvals.requests()

    def control(
        self,
        action: ControlAction | str,
        run_id: str | None = None,
        *,
        approval_id: str | None = None,
        reason: str = "",
        by: str = "the program",
    ) -> None:
        """Do to this session's runs what an operator can do; it is recorded in the same way (A11, H4).

        Args:
            action: ``cancel``, ``cancel_subtree``, ``pause``, ``step``, ``resume``, ``allow``, ``deny``, or
                ``stop_session``.
            run_id: the run, of those that ``inbox.runs()`` or a ``RunResult`` names; not for the last three.
            approval_id: what is allowed or denied, of ``approvals()``.
            reason: why it is denied, for the agent to read.
            by: who does it, for people.

        Raises:
            ControlRefusedError: it cannot be done now, with the reason.
            ValueError: there is no such action.
        """
        runtime, desk = self.runtime, self._open().watch.desk
        asked = Control(runtime.new_id("ctl"), ControlAction(action), run_id, by, approval_id, reason)
        desk.ask(asked)

    def _inbox_of(self, agent: Agent) -> Inbox:
        return self.inbox if agent.inbox is None else agent.inbox

    def _open(self) -> _Hosted:
        if self._hosted is None:
            raise HostError(
                "the session has not been entered", fix="Use it as: async with Session(...) as session"
            )
        return self._hosted


class _Hosted:
    """What stands behind an entered session, until it is closed."""

    def __init__(self, journal: JournalHostSession, runtime: Runtime, watch: Watch) -> None:
        self.journal = journal
        self.runtime = runtime
        self.watch = watch
        self._ending: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin to watch."""
        self.watch.begin()
        self._ending = asyncio.create_task(self._end_runs_on_stop(), name="end runs on stop")

    def running(self) -> Runtime:
        """Give what runs share, while they may start.

        Raises:
            HostError: the session is over.
        """
        if self.watch.reason:
            raise HostError(f"the session {self.journal.folder.name} is over", self.watch.reason, "Open another")
        return self.runtime

    async def close(self, reason: str) -> None:
        """End what runs, tell what was asked for and done, and let go of the journal, in any case."""
        self.watch.stop(reason)
        try:
            if self._ending is not None:
                await self._ending
        finally:
            await self.watch.end()
            await self.journal.close(self.watch.reason)

    async def _end_runs_on_stop(self) -> None:
        try:
            why = await self.watch.over()
        except Exception as error:  # nobody can control the runs any more: they end, and whoever leaves is told
            self.watch.stop(f"the session could not be watched: {type(error).__name__}: {error}")
            await self.runtime.lives.end_all(self.watch.reason)
            raise
        await self.runtime.lives.end_all(why)


async def _to_its_end(call: Coroutine[Any, Any, None]) -> None:
    """Take a step to its end, and only then let a cancellation through."""
    _, interrupted = await completed(call)
    if interrupted:
        raise asyncio.CancelledError


def _checked(agent_types: Sequence[str]) -> Sequence[str]:
    if isinstance(agent_types, str):
        raise RosterError(
            "Session(agent_types=...) is one str", f"it got {agent_types!r}", f"Give a list: [{agent_types!r}]"
        )
    for agent_type in agent_types:
        if not isinstance(agent_type, str) or not AGENT_TYPE.fullmatch(agent_type):
            raise RosterError(
                f"Session(agent_types=...): {agent_type!r} cannot be a label",
                "a type is 1 to 63 letters, digits, '_', '.' or '-'", "Start it with a letter or a digit",
            )  # fmt: skip
    return agent_types
