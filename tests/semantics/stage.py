"""One run over a real inbox, on either store: what the tests of the rules play on."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from dashboard.agent.agent import Agent, TurnClaim
from dashboard.agent.life import Life
from dashboard.agent.loop import RunResult, run_agent
from dashboard.agent.tools import Tool
from dashboard.core.events import Event, RunStarted
from dashboard.core.messages import Preset, Receipt
from dashboard.core.records import Record
from dashboard.journal import schema
from dashboard.journal.inline import InlineWriter
from dashboard.journal.jobs import Writer
from dashboard.journal.ledger import Ledger, StoredMessage
from dashboard.journal.memory import MemoryWriter
from dashboard.journal.routed_inbox import RoutedInbox
from dashboard.journal.schema import connect
from dashboard.journal.store import Store
from dashboard.journal.tail import Tail
from dashboard.models.base import ModelClient
from tests.agent.fakes import FakeModel, Recorder, Turn, fake_runtime, settle, shorthand
from tests.conftest import FakeClock

STORES = ("memory", "sqlite")
E = TypeVar("E", bound=Event)


@contextmanager
def inbox_on(store: str, clock: Callable[[], int]) -> Iterator[RoutedInbox]:
    """Give an inbox on a store of its own.

    Args:
        store: one of ``STORES``.
        clock: microseconds since the epoch, UTC.
    """
    if store == "memory":
        yield RoutedInbox(MemoryWriter(clock), operator="ana", clock=clock)
        return
    with ledger_on(store, clock) as (writer, _):
        yield RoutedInbox(writer, operator="ana", clock=clock, changed=_a_moment)


@contextmanager
def ledger_on(store: str, clock: Callable[[], int]) -> Iterator[tuple[Writer[Ledger], Callable[[], list[Record]]]]:
    """Give a writer to a ledger of its own, and what reads back all that it has recorded."""
    if store == "memory":
        memory = MemoryWriter(clock)
        yield memory, memory.records
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.db"
        schema.create(path).close()
        writer, tail = InlineWriter(path, clock), Tail(path)
        try:
            yield writer, lambda: tail.read(0, 1_000_000)
        finally:
            tail.close()
            writer.close()


@contextmanager
def journal_as_it_is(inbox: RoutedInbox) -> Iterator[Store | None]:
    """Give a copy of an inbox's journal: what a crash of its process would leave. ``None`` for one in memory."""
    ledger = inbox._writer._ledger  # type: ignore[attr-defined]
    if not isinstance(ledger, Store):
        yield None
        return
    original = Path(ledger.connection.filename)
    with TemporaryDirectory() as folder:
        for part in original.parent.glob(f"{original.name}*"):
            if not part.name.endswith("-shm"):  # the index of the WAL is made anew from it
                shutil.copy(part, folder)
        store = Store(connect(Path(folder) / original.name))
        try:
            yield store
        finally:
            store.connection.close()


async def _a_moment() -> None:
    """Let the others run: nothing tells that an inline writer's journal has changed."""
    await asyncio.sleep(0)


class RuleStage:
    """An inbox, a model and a runtime around one run."""

    def __init__(self, inbox: RoutedInbox, model: ModelClient, clock: FakeClock) -> None:
        self.inbox = inbox
        self.model = model
        self.clock = clock
        self.told = Recorder()
        self.runtime = fake_runtime(inbox.emit)
        self.runtime.listeners = (self.told,)
        self.runtime.entropy = os.urandom  # several stages share an inbox, and no two runs an id
        self.task: asyncio.Task[RunResult] | None = None

    def begin(
        self,
        *tools: Tool,
        max_iterations: int = 10,
        turn_claim: TurnClaim = "all",
        keep_open: bool = False,
        label: str = "subagent-writer",
    ) -> asyncio.Task[RunResult]:
        """Start the run on the prompt ``p``."""
        agent = Agent(
            self.model, tools=tools, max_iterations=max_iterations, inbox=self.inbox, turn_claim=turn_claim
        )
        self.task = asyncio.ensure_future(run_agent(agent, "p", self.runtime, label=label, keep_open=keep_open))
        return self.task

    async def finish(self) -> RunResult:
        """End a root for good, or wait for a sub-agent's answer."""
        assert self.task is not None
        await settle()
        if not self.task.done():
            await self.runtime.lives.end_all("the test is over")
        return await self.task

    @property
    def run_id(self) -> str:
        return self.told.of(RunStarted)[0].run_id

    @property
    def life(self) -> Life:
        return self.runtime.lives[self.run_id]

    @property
    def history(self) -> str:
        return shorthand(self.told.history(self.run_id))

    def send(self, text: str, preset: Preset = Preset.STEER) -> Receipt:
        return self.inbox.send(self.run_id, text, preset.lane, preset.wake)

    def message(self, message_id: str) -> StoredMessage:
        """Give one message as it stands."""
        found = self.inbox.message(message_id)
        assert found is not None
        return found

    def fate(self, text: str) -> str:
        """What became of the one message of this text: ``delivered in 2``, ``cancelled``, ``queued``."""
        (message,) = [message for message in self.inbox.messages() if message.original.body == text]
        if message.reason is not None:
            return str(message.reason)
        return str(message.state) if message.round is None else f"{message.state} in {message.round}"


def played(inbox: RoutedInbox, clock: FakeClock, *turns: Turn) -> tuple[RuleStage, FakeModel]:
    """Give a stage whose model plays these turns."""
    model = FakeModel(turns)
    return RuleStage(inbox, model, clock), model
