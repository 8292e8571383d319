"""One turn: rounds until an answer, nudged where the model says nothing, wrapped up where the budget ends."""

from __future__ import annotations

from collections.abc import Iterable

from dashboard.agent.rounds import call_tools, request
from dashboard.agent.run_state import RunState
from dashboard.core.errors import ModelError
from dashboard.core.events import LoopContinued
from dashboard.core.history import Provenance, User
from dashboard.core.mail import BoundaryKind, Delivered
from dashboard.core.outcomes import Outcome, RunEnd

PROMPTS = {
    Provenance.CONTINUATION: (
        "Your last turn had neither text nor a tool call. Go on with the task: call a tool, or give your answer."
    ),
    Provenance.FINAL_ANSWER: (
        "Your rounds are used up and tools are off now. Give your final answer from what you have."
    ),
}


async def take_turn(run: RunState) -> RunEnd:
    """Run rounds until what would be the turn's answer; also the rest of a turn that mail has extended.

    Returns:
        ``answered``, which mail may still extend, or ``wrap_up``, which nothing extends (P10); after either, a
        follow-up may open another turn (T4).

    Raises:
        ModelError: a request failed for good, or gave a cut reply of no use.
    """
    while True:
        wrapping_up = await _must_wrap_up(run)
        reply = await request(run, tools_on=not wrapping_up)
        entry = reply.entry
        says_something = bool(entry.content.strip())
        if reply.truncated and not says_something and not entry.tool_calls:
            raise ModelError(
                "the reply was cut before it said anything", "the model's output limit was reached",
                "Raise that limit, or ask for less",
            )  # fmt: skip
        if wrapping_up:
            run.history.close_calls()  # a model may ask for tools that are off
            return RunEnd(Outcome.WRAP_UP, entry.content)
        if entry.tool_calls:
            await call_tools(run, entry.tool_calls)
            await run.take(BoundaryKind.AFTER_TOOLS)
        elif says_something:
            return RunEnd(Outcome.ANSWERED, entry.content)
        elif not wakes(await run.take(BoundaryKind.DEGENERATE)) and not run.budget.capped(run.round + 1):
            _prompt(run, Provenance.CONTINUATION)  # an inject never replaces it (T2)


def wakes(delivered: Iterable[Delivered]) -> bool:
    """Whether any of these messages starts or extends a turn."""
    return any(message.wakes for message in delivered)


async def _must_wrap_up(run: RunState) -> bool:
    """Whether the next round is the forced wrap-up; then its mail and its prompt are in the history."""
    if not run.budget.capped(run.round + 1):
        return False
    await run.take(BoundaryKind.WRAP_UP)
    if not run.budget.capped(run.round + 1):
        return False  # mail came just now, and a reset was left for it
    _prompt(run, Provenance.FINAL_ANSWER)
    return True


def _prompt(run: RunState, kind: Provenance) -> None:
    run.emit(LoopContinued(run_id=run.run_id, round=run.round + 1, kind=kind))
    run.history.append(User(PROMPTS[kind], kind))
