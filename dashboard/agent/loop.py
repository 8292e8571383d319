"""The loop: one run of an agent, from its task to its end.

The order of a run's events: ``RunStarted``; the mail is opened; ``HistoryAppended`` for a system message and for
the task; ``TurnStarted``; what the open of the turn delivers. Then each round: ``RoundStarted``, deltas,
``HistoryAppended`` for the reply, ``RoundFinished``, ``ToolCalled`` and ``ToolReturned`` as tools come and go,
``HistoryAppended`` for every result in the order of the calls, what the boundary delivers (``MessageDelivered``,
then ``HistoryAppended``, and ``BudgetExtended`` if that resets the budget), and, if the loop has to prompt,
``LoopContinued`` and its ``HistoryAppended``. A call that asks first tells ``ApprovalRequested`` and
``ApprovalAnswered`` between its ``ToolCalled`` and ``ToolReturned``. The last turn of a run is closed by
``RunFinished``; every earlier one, and each of a root's, by ``TurnFinished``. Mail that opens a later turn stands
before that turn's ``TurnStarted`` with the new turn's number: only the claim can tell whether a turn opens.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from dashboard.agent.approval import approval_of
from dashboard.agent.boundary import open_mail
from dashboard.agent.history import History
from dashboard.agent.life import Life, RunCancelledError
from dashboard.agent.run_state import RunState
from dashboard.agent.runtime import Runtime
from dashboard.agent.structured import output_schema, structured_turn
from dashboard.agent.telling import Emit, Telling
from dashboard.agent.turns import take_turn
from dashboard.core.errors import DashboardError
from dashboard.core.events import RunStarted
from dashboard.core.history import System, User
from dashboard.core.inbox import Inbox, check_inbox
from dashboard.core.labels import display_name
from dashboard.core.mail import BoundaryKind, RunInbox, opens_runs
from dashboard.core.outcomes import Outcome, RunEnd

if TYPE_CHECKING:
    from dashboard.agent.agent import Agent  # which is built on this loop

logger = logging.getLogger(__name__)


class Inherit(Enum):
    """Stands for an inbox that was not given: the agent's own is read."""

    INHERIT = "inherit"


INHERIT = Inherit.INHERIT


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended.

    Args:
        run_id: the run.
        name: its display name, such as ``subagent-researcher#2``.
        outcome: answered, wrap-up, cancelled by an operator, or error.
        answer: the last turn's.
        error: what went wrong, or who cancelled it.
        value: what a structured run's answer was decoded to (P11).
    """

    run_id: str
    name: str
    outcome: Outcome
    answer: str
    error: str = ""
    value: Any = None


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
    schema: object = None,
    keep_open: bool = False,
    listeners: Sequence[Emit] = (),
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
        schema: a type to decode the answer to: one request, no tools, and no mail is read (P11).
        keep_open: stay idle after an answer, and take another turn when waking mail comes (T3). A turn that fails
            or is cancelled ends alone; the run goes on.
        listeners: who else is told this run's events.

    Returns:
        How the run ended; a failure is an ``error`` outcome, not an exception.

    Raises:
        NotAnInboxError, InboxSignatureError: as for ``Agent``, before any event.
        asyncio.CancelledError: the task was cancelled, and not this run alone; its end is recorded first.
    """
    source = agent.inbox if isinstance(inbox, Inherit) else inbox
    check_inbox(source, "run_agent(inbox=...)")
    if schema is not None:
        output_schema(schema, "run_agent(schema=...)")
        source = None
    runtime.lives.check_open()
    own = source if opens_runs(source) else None
    shared = own is not None and own.emit == runtime.emit
    label = agent.label if label is None else label
    started = RunStarted(
        run_id=runtime.new_id("run"),
        label=label,
        ordinal=own.next_ordinal(label) if own is not None and shared else runtime.next_ordinal(label),
        task=task,
        max_iterations=agent.max_iterations,
        parent_run_id=parent_run_id,
        parent_tool_call_id=parent_tool_call_id,
        reading=shared,
    )
    telling = Telling([runtime.emit], (*runtime.listeners, *listeners))
    telling.emit(started)
    if own is not None and not shared:
        telling.join(own.emit, _as_told_on(own, started))
    mail, recorder = open_mail(source, started)
    life = Life(started.run_id, display_name(label, started.ordinal), parent_run_id, telling.emit)
    run = RunState(
        run_id=started.run_id,
        label=label,
        depth=depth,
        model=agent.model,
        tools={tool.name: tool for tool in agent.tools},
        max_iterations=agent.max_iterations,
        runtime=runtime,
        history=History(started.run_id, telling.emit),
        mail=mail,
        recorder=recorder,
        telling=telling,
        life=life,
        approval=approval_of(agent.approval, "Agent(approval=...)"),
        one_followup=agent.turn_claim == "one",
    )
    runtime.lives.add(life)
    value = None
    try:
        if agent.system_message:
            run.history.append(System(agent.system_message))
        if keep_open:
            await _stay_open(run, task)
        with life.cancellable():
            if schema is None:
                await _answer(run, task)
            else:
                end, value = await structured_turn(run, task, schema)
                await run.close(end)
    except RunCancelledError as cancelled:
        await run.close(RunEnd(Outcome.CANCELLED, run.answer, cancelled.why))
    except asyncio.CancelledError:
        await run.close(RunEnd(Outcome.CANCELLED, run.answer, life.why))
        raise
    except Exception as error:
        _log(run, error)
        await run.close(RunEnd(Outcome.ERROR, run.answer, _describe(error)))
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise  # the process, or this very coroutine, is torn down: nothing can be awaited any more
    except BaseException as error:
        # some libraries have such errors; the end is recorded all the same
        await run.close(RunEnd(Outcome.ERROR, run.answer, _describe(error)))
        raise
    finally:
        runtime.lives.remove(life)
    end = run.ended
    return RunResult(run.run_id, life.name, end.outcome, end.answer, end.error, value)


def _as_told_on(inbox: RunInbox, started: RunStarted) -> RunStarted:
    """Give a start as the inbox's own bus has to tell it: under a name that is free there, and reading."""
    ordinal = inbox.next_ordinal(started.label)
    return msgspec.structs.replace(started, ordinal=ordinal, reading=True)


async def _answer(run: RunState, task: str) -> None:
    """Live for one task: follow-ups open further turns of the same run, and the last answer is its own (T4)."""
    await _open_with(run, task)
    while True:
        end = await take_turn(run)
        if not await run.finish(end):
            return


async def _stay_open(run: RunState, task: str) -> NoReturn:
    """Live until the task is cancelled, idle between turns; ``cancel`` ends the open turn alone (A11)."""
    prompt = task if task.strip() else None
    while True:
        try:
            with run.life.cancellable():
                await _next_turn(run, prompt)
                end = await _whole_turn(run)
        except RunCancelledError as cancelled:
            if run.life.ending:
                raise
            await run.cancel_turn(RunEnd(Outcome.CANCELLED, error=cancelled.why), cancelled.before)
        else:
            run.close_turn(end)
        prompt = None


async def _next_turn(run: RunState, prompt: str | None) -> None:
    """Open a turn: the first with its prompt, another once mail wakes the idle run (T1, T3)."""
    if prompt is not None:
        await _open_with(run, prompt)
        return
    with run.life.resting():
        await run.mail.wait()
        while not await run.take(BoundaryKind.WAKE, run.turn + 1):
            run.life.rest()  # what had waked it was withdrawn: it rests on, and a step for it is void
            await run.mail.wait()


async def _whole_turn(run: RunState) -> RunEnd:
    """Take a turn with whatever extends it. One that fails is over, and does not end a session's root."""
    try:
        while True:
            end = await take_turn(run)
            if end.outcome is not Outcome.ANSWERED or not await run.take(BoundaryKind.FINAL):
                return end
    except Exception as error:
        run.history.close_calls()  # it goes on from here, whatever the failure left
        _log(run, error)
        return RunEnd(Outcome.ERROR, error=_describe(error))


async def _open_with(run: RunState, task: str) -> None:
    run.history.append(User(task))
    run.open_turn()
    await run.take(BoundaryKind.TURN_OPEN)


def _describe(error: BaseException) -> str:
    return str(error) if isinstance(error, DashboardError) else f"{type(error).__name__}: {error}"


def _log(run: RunState, error: Exception) -> None:
    """Keep the traceback of what nobody foresaw; a model that fails is told by the event alone."""
    if not isinstance(error, DashboardError):
        logger.error("%s: the turn failed", run.label, exc_info=error)
