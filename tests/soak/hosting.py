"""The host of the yard: a root that spawns workers again and again, and a loop that is not ours beside it."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from pathlib import Path

from dashboard.agent import Agent, Runtime, make_subagent_tool
from dashboard.agent.tools import Tool, tool
from dashboard.core.history import Assistant, ToolCall
from dashboard.core.labels import ROOT_LABEL
from dashboard.core.outcomes import Outcome
from dashboard.host.supervisor import Supervisor
from dashboard.journal.home import LOG_NAME
from dashboard.journal.routed_inbox import RoutedInbox
from dashboard.journal.session import JournalHostSession
from dashboard.models.base import ModelEvent, ModelRequest, ReasoningPart, Reply, TextPart

WORKER, REVIEWER, CREW = "subagent-worker", "subagent-reviewer", "crew"
WORKERS = 2  # that the root spawns at once
TOOL_SECONDS = 0.003


class YardModel:
    """The root spawns workers, or answers and waits for mail; a worker works for some rounds, and answers.

    Args:
        dice: what decides.
    """

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Stream some words, then call or answer."""
        at, chance = len(request.history), self._dice.random()
        words = [f"word {at} {number} " for number in range(self._dice.randrange(1, 6))]
        yield ReasoningPart("hm ")
        for word in words:
            yield TextPart(word)
            await asyncio.sleep(0)
        yield Reply(Assistant("".join(words), "hm ", self._calls(request, at, chance)))

    def _calls(self, request: ModelRequest, at: int, chance: float) -> tuple[ToolCall, ...]:
        offered = {offer.name for offer in request.tools}
        if request.label == ROOT_LABEL and chance < 0.7:
            return tuple(_spawn("worker", f"call_{at}_{number}") for number in range(WORKERS))
        if "subagent" in offered and chance < 0.1:
            return (_spawn("reviewer", f"call_{at}"),)
        if "work" in offered and chance < 0.85:
            return (ToolCall(f"call_{at}", "work", "{}"),)
        return ()


def be_host(folder: Path, seed: int, seconds: float) -> None:
    """Host a session, and close it after a time, if nobody ends this process before.

    Args:
        folder: the session's folder.
        seed: what decides what its runs do.
        seconds: how long it lives.
    """
    logging.basicConfig(filename=folder / LOG_NAME, force=True)
    asyncio.run(_host(folder, random.Random(seed), seconds))


async def _host(folder: Path, dice: random.Random, seconds: float) -> None:
    session = JournalHostSession(folder)
    runtime = Runtime(emit=session.emit, next_ordinal=session.inbox.next_ordinal)
    await session.start("0", "the yard", (WORKER, REVIEWER))
    supervisor = Supervisor(session, linger=600, runtime=runtime)
    asyncio.get_running_loop().call_later(seconds, supervisor.stop, "it was enough")
    crew = asyncio.create_task(_work_as_crew(session.inbox, dice))
    reason = await supervisor.run(_root(session.inbox, dice), "go")
    crew.cancel()
    await asyncio.wait([crew])
    if not crew.cancelled():
        crew.result()  # it ends by that alone: let anything else be loud
    await session.close(reason)


def _root(inbox: RoutedInbox, dice: random.Random) -> Agent:
    model, work = YardModel(dice), _work(dice)
    spawn = make_subagent_tool(
        model,
        agent_types={
            "worker": {"tools": [work], "spawns": ["reviewer"]},
            "reviewer": {"tools": [work], "spawns": []},
        },
        max_depth=2,
        max_iterations=40,
        inbox=inbox,
    )
    return Agent(model, tools=[spawn], max_iterations=1_000_000, name=ROOT_LABEL, inbox=inbox)


def _work(dice: random.Random) -> Tool:
    @tool
    async def work() -> str:
        """Work."""
        await asyncio.sleep(dice.random() * TOOL_SECONDS)
        return "done"

    return work


def _spawn(agent_type: str, call_id: str) -> ToolCall:
    return ToolCall(call_id, "subagent", f'{{"agent_type": "{agent_type}", "task": "work"}}')


async def _work_as_crew(inbox: RoutedInbox, dice: random.Random) -> None:
    """Be a loop that knows the protocol alone: drain now and then, and end well, badly, or without a word."""
    while True:
        drain = inbox.reader(CREW)
        for _ in range(dice.randrange(1, 12)):
            drain()
            await asyncio.sleep(dice.random() * 2 * TOOL_SECONDS)
        outcome = dice.choice((Outcome.ANSWERED, Outcome.ERROR, None))
        if outcome is not None:
            for run in inbox.runs():
                if run.live and run.label == CREW:
                    inbox.end_run(run.run_id, outcome)
        del drain
