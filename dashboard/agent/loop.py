"""The loop: one run of an agent, from its task to its end.

The order of a run's events: ``RunStarted``; the mail is opened; ``HistoryAppended`` for a system message and for
the task; ``TurnStarted``; what the open of the turn delivers. Then each round: ``RoundStarted``, deltas,
``HistoryAppended`` for the reply, ``RoundFinished``, ``ToolCalled`` and ``ToolReturned`` as tools come and go,
``HistoryAppended`` for every result in the order of the calls, what the boundary delivers (``MessageDelivered``,
then ``HistoryAppended``), and, if the loop has to prompt, ``LoopContinued`` and its ``HistoryAppended``. The last
turn of a run is closed by ``RunFinished``; every earlier one by ``TurnFinished``. Mail that opens a later turn
stands before that turn's ``TurnStarted`` with the new turn's number: only the claim can tell whether a turn opens.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NoReturn

from dashboard.agent.boundary import open_mail, opens_runs
from dashboard.agent.history import History
from dashboard.agent.run_state import RunState
from dashboard.agent.runtime import Runtime
from dashboard.agent.tools import Tool
from dashboard.agent.turns import take_turn, wakes
from dashboard.core.errors import DashboardError, RosterError
from dashboard.core.events import NoticeLevel, NoticeRaised, RunStarted
from dashboard.core.history import System, User
from dashboard.core.inbox import Inbox, check_inbox
from dashboard.core.mail import BoundaryKind
from dashboard.core.outcomes import Outcome, RunEnd
from dashboard.models.base import ModelClient

logger = logging.getLogger(__name__)

DEFAULT_MAX_ITERATIONS = 10


class Inherit(Enum):
    """Stands for an inbox that was not given: the agent's own is read."""

    INHERIT = "inherit"


INHERIT = Inherit.INHERIT


@dataclass(frozen=True, slots=True)
class Agent:
    """What can be run, any number of times.

    Args:
        model: what answers.
        system_message: what it is told that it is; empty for none.
        tools: what it may call; names are unique.
        max_iterations: rounds without a person in the loop, per turn, from 1 (P9).
        name: the label its runs get, unless the caller gives one; ``agent-<6 hex>`` without.
        inbox: where its runs read messages, or ``None``.

    Raises:
        NotAnInboxError: ``inbox`` is no inbox (a ``ValueError``).
        InboxSignatureError: its reader cannot be called with a label (a ``TypeError``).
        RosterError: a tool that is none or has another one's name, or a budget under 1 (a ``ValueError``).
    """

    model: ModelClient
    system_message: str = ""
    tools: Sequence[Tool] = ()
    max_iterations: int = DEFAULT_MAX_ITERATIONS
    name: str | None = None
    inbox: Inbox | None = None

    def __post_init__(self) -> None:
        check_inbox(self.inbox, "Agent(inbox=...)")
        if self.max_iterations < 1:
            raise RosterError(
                "Agent(max_iterations=...) is too small", f"it got {self.max_iterations}", "Give 1 or more"
            )
        seen: set[str] = set()
        for tool in self.tools:
            if not isinstance(tool, Tool):
                raise RosterError(
                    "Agent(tools=...) is not all tools", f"it got {tool!r}", "Wrap it with tool(...)"
                )
            if tool.name in seen:
                raise RosterError("Agent(tools=...) has a name twice", tool.name, "Give one of them another name")
            seen.add(tool.name)

    @property
    def label(self) -> str:
        """The name, or a made one, which nobody outside can guess: name an agent that is to be written to."""
        return f"agent-{id(self) & 0xFFFFFF:06x}" if self.name is None else self.name


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended.

    Args:
        run_id: the run.
        outcome: answered, wrap-up or error; a cancelled run raises instead.
        answer: the last turn's.
        error: what went wrong, for an error.
    """

    run_id: str
    outcome: Outcome
    answer: str
    error: str = ""


async def run_agent(
    agent: Agent,
    task: str,
    runtime: Runtime,
    *,
    label: str | None = None,
    parent_run_id: str | None = None,
    parent_tool_call_id: str | None = None,
    depth: int = 0,
    inbox: Inbox | Inherit | None = INHERIT,
    keep_open: bool = False,
) -> RunResult:
    """Run an agent on a task until its answer, or, kept open, until it is cancelled.

    Args:
        agent: who runs.
        task: the first prompt; kept open, an empty one leaves the run idle until mail wakes it.
        runtime: what the roster shares.
        label: instead of the agent's own.
        parent_run_id: the run that spawned this one.
        parent_tool_call_id: the call that did.
        depth: how many runs stand above this one.
        inbox: instead of the agent's own, for this run; ``None`` turns it off (P12).
        keep_open: stay idle after an answer, and take another turn when waking mail comes (T3). A failing turn
            is told and ends alone; the run goes on.

    Returns:
        How the run ended; a failure is an ``error`` outcome, not an exception.

    Raises:
        NotAnInboxError, InboxSignatureError: as for ``Agent``, before any event.
        asyncio.CancelledError: the task was cancelled; the run's end is recorded first.
    """
    source = agent.inbox if isinstance(inbox, Inherit) else inbox
    check_inbox(source, "run_agent(inbox=...)")
    label = agent.label if label is None else label
    started = RunStarted(
        run_id=runtime.new_run_id(),
        label=label,
        ordinal=runtime.next_ordinal(label),
        task=task,
        max_iterations=agent.max_iterations,
        parent_run_id=parent_run_id,
        parent_tool_call_id=parent_tool_call_id,
        reading=opens_runs(source),
    )
    runtime.emit(started)
    run = RunState(
        run_id=started.run_id,
        label=label,
        depth=depth,
        model=agent.model,
        tools={tool.name: tool for tool in agent.tools},
        max_iterations=agent.max_iterations,
        runtime=runtime,
        history=History(started.run_id, runtime.emit),
        mail=open_mail(source, started, runtime.emit),
    )
    try:
        if agent.system_message:
            run.history.append(System(agent.system_message))
        end = await (_stay_open(run, task) if keep_open else _answer(run, task))
    except asyncio.CancelledError:
        await run.close(RunEnd(Outcome.CANCELLED, run.answer))
        raise
    except Exception as error:
        _log(run, error)
        end = RunEnd(Outcome.ERROR, run.answer, _describe(error))
    await run.close(end)
    return RunResult(run.run_id, end.outcome, end.answer, end.error)


async def _answer(run: RunState, task: str) -> RunEnd:
    """Live for one task: follow-ups open further turns of the same run, and the last answer is its own (T4)."""
    await _open_with(run, task)
    while True:
        end = await take_turn(run)
        delivered = await run.finish(end)
        if not delivered:
            return end
        if any(message.opens_turn for message in delivered):
            run.close_turn(end.answer)
            run.open_turn()


async def _stay_open(run: RunState, task: str) -> NoReturn:
    """Live until cancelled, idle between turns."""
    if task.strip():
        await _open_with(run, task)
    else:
        await _wake(run)
    while True:
        try:
            answer = await _whole_turn(run)
        except Exception as error:  # one failing turn must not end a session's root
            run.history.close_calls()  # it goes on from here, whatever the failure left
            _log(run, error)
            notice = f"the turn failed: {_describe(error)}"
            run.runtime.emit(NoticeRaised(level=NoticeLevel.ERROR, text=notice, run_id=run.run_id))
            answer = ""
        run.close_turn(answer)
        await _wake(run)


async def _whole_turn(run: RunState) -> str:
    while True:
        end = await take_turn(run)
        if end.outcome is not Outcome.ANSWERED or not await run.take(BoundaryKind.FINAL):
            return end.answer


async def _open_with(run: RunState, task: str) -> None:
    run.history.append(User(task))
    run.open_turn()
    await run.take(BoundaryKind.TURN_OPEN)


async def _wake(run: RunState) -> None:
    """Wait, idle, for mail that opens a turn; what comes along without waking is read, and starts nothing."""
    while True:
        await run.mail.wait()
        if wakes(await run.take(BoundaryKind.TURN_OPEN, run.turn + 1)):
            run.open_turn()
            return


def _describe(error: Exception) -> str:
    return str(error) if isinstance(error, DashboardError) else f"{type(error).__name__}: {error}"


def _log(run: RunState, error: Exception) -> None:
    """Keep the traceback of what nobody foresaw; a model that fails is told by the event alone."""
    if not isinstance(error, DashboardError):
        logger.error("%s: the turn failed", run.label, exc_info=error)
