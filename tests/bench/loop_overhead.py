"""The loop: a round with an instant model and an instant tool, with an inbox and without one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from dashboard.agent import Agent, Runtime, run_agent, tool
from dashboard.core.history import Assistant, ToolCall
from dashboard.core.inbox import Inbox, QueueInbox
from dashboard.models.base import ModelEvent, ModelRequest, Reply
from tests.bench.mail_costs import STORES, inbox_on
from tests.bench.measure import alternated, report

ROUNDS = 300


class InstantModel:
    """Calls the tool in every round but the last."""

    def __init__(self) -> None:
        self._left = ROUNDS

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Reply at once."""
        self._left -= 1
        calls = (ToolCall(f"call_{self._left}", "look", "{}"),) if self._left else ()
        yield Reply(Assistant("" if calls else "done", tool_calls=calls))


@tool
async def look() -> str:
    """Look."""
    return "seen"


def run(inbox: Inbox | None, runtime: Runtime, recorded: Callable[[], object] = bool) -> int:
    """Run to the answer, until all of it is recorded, and count the rounds."""
    agent = Agent(InstantModel(), tools=[look], max_iterations=ROUNDS, inbox=inbox)
    asyncio.run(run_agent(agent, "p", runtime))
    recorded()
    return ROUNDS


def main() -> None:
    """Print each inbox beside the same loop, on the same bus, without one."""
    queue = QueueInbox()
    base, cost = alternated(lambda: run(None, Runtime()), lambda: run(queue, Runtime()))
    report("round (QueueInbox)", ("without", base), ("with", cost))
    for store in STORES:
        with inbox_on(store) as inbox:
            runtime = Runtime(emit=inbox.emit, next_ordinal=inbox.next_ordinal)
            base, cost = alternated(
                lambda runtime=runtime, inbox=inbox: run(None, runtime, inbox.runs),  # type: ignore[misc]
                lambda runtime=runtime, inbox=inbox: run(inbox, runtime, inbox.runs),  # type: ignore[misc]
            )
            report(f"round (RoutedInbox, {store})", ("without", base), ("with", cost))
