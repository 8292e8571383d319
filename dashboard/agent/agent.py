"""``Agent``: what can be run, and the ways to run it. All of them are the one loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

from dashboard.agent.approval import MARKED, Approval, approval_of
from dashboard.agent.chunks import Chunk
from dashboard.agent.loop import INHERIT, Inherit, RunResult, run_agent
from dashboard.agent.runtime import Runtime
from dashboard.agent.streaming import loop_runs, stream_run, stream_sync
from dashboard.agent.structured import output_schema
from dashboard.agent.telling import Emit
from dashboard.agent.tools import Tool
from dashboard.core.errors import LoopRunningError, RosterError
from dashboard.core.inbox import Inbox, check_inbox
from dashboard.core.labels import is_label
from dashboard.core.mail import opens_runs
from dashboard.models.base import ModelClient

DEFAULT_MAX_ITERATIONS = 10
TURN_CLAIMS = ("all", "one")
TurnClaim = Literal["all", "one"]


@dataclass(frozen=True, slots=True)
class Agent:
    """What can be run, any number of times. Source: "Give a running agent an inbox" (AIMU); P2, P3, P9, P12, T6.

    Args:
        model: what answers.
        system_message: what it is told that it is; empty for none.
        tools: what it may call; names are unique.
        max_iterations: rounds without a person in the loop, per turn, from 1 (P9).
        name: the label its runs get; ``agent-<6 hex>``, which nobody outside can guess, without one (P2).
        inbox: where its runs read messages, or ``None`` (P12).
        approval: which tools wait for an operator's word: ``"marked"`` (those made with ``needs_approval``),
            ``"all"``, ``"none"``, tool names, or an ``Approval`` with a time-out of its own (H4).
        turn_claim: whether a turn opens with ``"all"`` follow-ups that wait, or with ``"one"`` (T6).

    Raises:
        NotAnInboxError: ``inbox`` is no inbox (a ``ValueError``).
        InboxSignatureError: its reader cannot be called with a label (a ``TypeError``).
        RosterError: a model, tool, approval or turn claim that is none, a tool with another one's name, a budget
            under 1, a name that cannot be a label, an approval for a tool that is not there (a ``ValueError``).
    """

    model: ModelClient
    system_message: str = ""
    tools: Sequence[Tool] = ()
    max_iterations: int = DEFAULT_MAX_ITERATIONS
    name: str | None = None
    inbox: Inbox | None = None
    approval: Approval | str | Collection[str] = MARKED
    turn_claim: TurnClaim = "all"

    def __post_init__(self) -> None:
        if isinstance(self.model, type) or not callable(getattr(self.model, "stream", None)):
            raise RosterError(
                "Agent(model=...) is no model", f"it got {self.model!r}", "Give an object with stream(request)"
            )
        check_inbox(self.inbox, "Agent(inbox=...)")
        if not isinstance(self.max_iterations, int) or self.max_iterations < 1:
            raise RosterError(
                "Agent(max_iterations=...) is no budget",
                f"it got {self.max_iterations!r}",
                "Give an int, 1 or more",
            )
        if self.turn_claim not in TURN_CLAIMS:
            raise RosterError(
                "Agent(turn_claim=...) is unknown", f"it got {self.turn_claim!r}", "Give 'all' or 'one'"
            )
        if self.name is not None and not is_label(self.name):
            raise RosterError(
                "Agent(name=...) cannot be a label", f"it got {self.name!r}",
                "Give 1 to 80 characters that can be printed, without '#'",
            )  # fmt: skip
        approval_of(self.approval, "Agent(approval=...)", self._checked_tools())

    def _checked_tools(self) -> set[str]:
        """Give the names of the tools.

        Raises:
            RosterError: one is no tool, or has another one's name.
        """
        given: object = self.tools
        if not isinstance(given, Sequence) or isinstance(given, str):
            raise RosterError("Agent(tools=...) is no list", f"it got {self.tools!r}", "Give a list of tools")
        seen: set[str] = set()
        for tool in self.tools:
            if not isinstance(tool, Tool):
                raise RosterError(
                    "Agent(tools=...) is not all tools", f"it got {tool!r}", "Wrap it with tool(...)"
                )
            if tool.name in seen:
                raise RosterError("Agent(tools=...) has a name twice", tool.name, "Give one of them another name")
            seen.add(tool.name)
        return seen

    @property
    def label(self) -> str:
        """The name, or a made one, which nobody outside can guess: name an agent that is to be written to (P2)."""
        return f"agent-{id(self) & 0xFFFFFF:06x}" if self.name is None else self.name

    @overload
    def run(
        self, task: str, *, stream: Literal[False] = False, inbox: Inbox | Inherit | None = INHERIT,
        schema: object = None, runtime: Runtime | None = None,
    ) -> Coroutine[Any, Any, RunResult]: ...  # fmt: skip
    @overload
    def run(
        self, task: str, *, stream: Literal[True], inbox: Inbox | Inherit | None = INHERIT,
        schema: object = None, runtime: Runtime | None = None,
    ) -> AsyncIterator[Chunk]: ...  # fmt: skip
    def run(
        self,
        task: str,
        *,
        stream: bool = False,
        inbox: Inbox | Inherit | None = INHERIT,
        schema: object = None,
        runtime: Runtime | None = None,
    ) -> Coroutine[Any, Any, RunResult] | AsyncIterator[Chunk]:
        """Run once, to the answer. Source: P7, P11, P12.

        Args:
            task: the prompt.
            stream: give chunks as they come, to be read with ``async for``; a message that the run reads is an
                ``is_inbox()`` chunk just before the round that reads it. Leaving the stream early ends the run.
            inbox: instead of the agent's own, for this run; ``None`` reads nothing.
            schema: a type that msgspec can decode; then the run is one model request without tools whose JSON is
                decoded to it, and no inbox is read (P11).
            runtime: what this run shares with others; without one the session's whose inbox it reads, or its own.

        Returns:
            To be awaited: how the run ended. A failure is an ``error`` outcome with its text, not an exception.

        Raises:
            NotAnInboxError, InboxSignatureError: as for the constructor, at this call and before any event (P3).
            RosterError: ``schema`` is no type that can be described as JSON (a ``ValueError``).
            HostError: when awaited, if the session whose inbox it reads is over.
            asyncio.CancelledError: when awaited, if the task was cancelled; the run's end is recorded first.
        """
        start = self._start(task, "Agent.run", inbox, schema, runtime)
        return stream_run(start) if stream else start(())

    @overload
    def run_sync(
        self, task: str, *, stream: Literal[False] = False, inbox: Inbox | Inherit | None = INHERIT,
        schema: object = None, runtime: Runtime | None = None,
    ) -> RunResult: ...  # fmt: skip
    @overload
    def run_sync(
        self, task: str, *, stream: Literal[True], inbox: Inbox | Inherit | None = INHERIT,
        schema: object = None, runtime: Runtime | None = None,
    ) -> Iterator[Chunk]: ...  # fmt: skip
    def run_sync(
        self,
        task: str,
        *,
        stream: bool = False,
        inbox: Inbox | Inherit | None = INHERIT,
        schema: object = None,
        runtime: Runtime | None = None,
    ) -> RunResult | Iterator[Chunk]:
        """Do what ``run`` does, in an event loop of its own, and return when it is done (P12).

        Args:
            task: the prompt.
            stream: give chunks as they come, to be read with ``for``.
            inbox: as for ``run``.
            schema: as for ``run``.
            runtime: as for ``run``.

        Raises:
            LoopRunningError: an event loop runs in this thread already (a ``RuntimeError``).
            NotAnInboxError, InboxSignatureError, RosterError: as for ``run``.
        """
        if loop_runs():
            raise LoopRunningError(
                "Agent.run_sync() cannot be called here", "an event loop is running in this thread",
                "Use `await agent.run(...)` instead",
            )  # fmt: skip
        start = self._start(task, "Agent.run_sync", inbox, schema, runtime)
        return stream_sync(stream_run(start)) if stream else asyncio.run(start(()))

    def _start(
        self, task: str, where: str, inbox: Inbox | Inherit | None, schema: object, runtime: Runtime | None
    ) -> Callable[[Sequence[Emit]], Coroutine[Any, Any, RunResult]]:
        """Check what the user gave, now; give what starts the run, once somebody listens."""
        source = self.inbox if isinstance(inbox, Inherit) else inbox
        check_inbox(source, f"{where}(inbox=...)")
        if schema is not None:
            output_schema(schema, f"{where}(schema=...)")
        shared = runtime or _runtime_of(source)
        return lambda listeners: run_agent(self, task, shared, inbox=source, schema=schema, listeners=listeners)


def _runtime_of(inbox: Inbox | None) -> Runtime:
    """Give what a run shares: with all others of a session, where the inbox is a session's; else with nobody."""
    if not opens_runs(inbox):
        return Runtime()
    hosted = getattr(inbox, "runtime", None)
    return hosted if isinstance(hosted, Runtime) else Runtime(emit=inbox.emit, next_ordinal=inbox.next_ordinal)
