"""Many senders against a running loop, 10,000 messages: each read once, each lane in the order of acceptance."""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from dashboard.agent import Agent, Runtime, run_agent
from dashboard.agent.tools import tool
from dashboard.core.errors import SendRefusedError
from dashboard.core.events import HistoryAppended, KnownEvent, RunStarted
from dashboard.core.history import Assistant, ToolCall, User
from dashboard.core.messages import Lane, MessageState, Refusal
from dashboard.core.outcomes import Outcome
from dashboard.journal.home import make_session_folder
from dashboard.journal.memory import MemoryWriter
from dashboard.journal.routed_inbox import RoutedInbox
from dashboard.journal.session import JournalHostSession
from dashboard.models.base import ModelEvent, ModelRequest, Reply
from tests.semantics.senders import PAUSE_SECONDS, check_order, preset_of, send_from_a_process, send_from_a_thread

SENDERS = 8
EACH = 1_250


class ReadingModel:
    """Calls its tool until all was sent and the steer lane was read; then answers whatever comes.

    Args:
        steps: how many messages the steer lane gets.
    """

    def __init__(self, steps: int) -> None:
        self.all_sent = False
        self._steps_left = steps
        self._seen = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        new = request.history[self._seen :]  # a history only grows
        self._seen += len(new)
        self._steps_left -= sum(isinstance(entry, User) and Lane.NEXT_STEP in entry.content for entry in new)
        goes_on = not self.all_sent or self._steps_left > 0
        calls = (ToolCall(f"call_{len(request.history)}", "wait", "{}"),) if goes_on else ()
        yield Reply(Assistant("" if calls else "done", tool_calls=calls))


class Reading:
    """A loop that reads until all was sent and read, and remembers what its history holds.

    Args:
        inbox: what it reads.
        runtime: what it runs in.
        senders: how many there are.
        each: how many messages each of them sends.
    """

    def __init__(self, inbox: RoutedInbox, runtime: Runtime, senders: int = SENDERS, each: int = EACH) -> None:
        self.inbox = inbox
        self.runtime = runtime
        self.senders = senders
        self.each = each
        self.bodies: list[str] = []
        self.started = asyncio.Event()
        self.news = asyncio.Event()
        self.run_id = ""
        runtime.listeners = (self._listen,)

    def _listen(self, event: KnownEvent) -> None:
        match event:
            case RunStarted():
                self.run_id = event.run_id
                self.started.set()
            case HistoryAppended(entry=User(content)) if content != "p":
                self.bodies.append(content)
            case _:
                pass

    async def wait(self) -> str:
        """Return once something was sent, so that no round is made in vain."""
        await self.news.wait()
        self.news.clear()
        return "done"

    async def run(self, send_all: Callable[[str], Awaitable[None]]) -> None:
        steps = sum(preset_of(number).lane is Lane.NEXT_STEP for number in range(self.each))
        model = ReadingModel(self.senders * steps)
        agent = Agent(model, tools=[tool(self.wait)], max_iterations=1_000_000, inbox=self.inbox)
        loop = asyncio.ensure_future(run_agent(agent, "p", self.runtime))
        await self.started.wait()
        await send_all(self.run_id)
        model.all_sent = True
        while not loop.done():
            self.news.set()  # what was sent last may have come before the last wait
            await asyncio.wait([loop], timeout=0.01)
        assert (await loop).outcome is Outcome.ANSWERED
        check_order(self.bodies, self.senders, self.each)
        messages = self.inbox.messages()
        assert len(messages) == self.senders * self.each
        assert all(message.state is MessageState.DELIVERED for message in messages)
        for lane in Lane:  # over all senders: a total order, that of acceptance
            accepted = [message.body for message in messages if message.lane is lane]
            assert [body for body in self.bodies if body.split()[1] == lane] == accepted
        with pytest.raises(SendRefusedError) as caught:
            self.inbox.steer(self.run_id, "late")
        assert caught.value.refusal is Refusal.RUN_ENDED


async def from_threads(reading: Reading) -> None:
    loop = asyncio.get_running_loop()

    def told() -> None:
        loop.call_soon_threadsafe(reading.news.set)

    async def send_all(run_id: str) -> None:
        threads = [
            threading.Thread(target=send_from_a_thread, args=(reading.inbox, run_id, sender, EACH, told))
            for sender in range(SENDERS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            await asyncio.to_thread(thread.join)

    await reading.run(send_all)


async def test_threads_write_to_a_run_in_memory() -> None:
    inbox = RoutedInbox(MemoryWriter())
    await from_threads(Reading(inbox, Runtime(emit=inbox.emit, next_ordinal=inbox.next_ordinal)))


async def test_threads_write_to_a_run_over_a_journal() -> None:
    session = JournalHostSession(make_session_folder("20260101-000000-aaaa"))
    inbox = session.inbox
    await from_threads(Reading(inbox, Runtime(emit=session.emit, next_ordinal=inbox.next_ordinal)))
    await session.close("done")


@pytest.mark.parametrize(("senders", "each"), [(8, 1_250), (2, 5_000)])
async def test_processes_write_to_a_run_over_a_journal(state_home: Path, senders: int, each: int) -> None:
    folder = make_session_folder("20260101-000000-aaaa")
    session = JournalHostSession(folder)
    runtime = Runtime(emit=session.emit, next_ordinal=session.inbox.next_ordinal)
    reading = Reading(session.inbox, runtime, senders, each)
    spawn = multiprocessing.get_context("spawn")

    async def send_all(run_id: str) -> None:
        processes = [
            spawn.Process(target=send_from_a_process, args=(folder, run_id, sender, each))
            for sender in range(senders)
        ]
        for process in processes:
            process.start()
        while any(process.is_alive() for process in processes):
            reading.news.set()  # as a rule there is some: to wait for it would cost more than a round in vain
            await asyncio.sleep(PAUSE_SECONDS)
        assert [process.exitcode for process in processes] == [0] * senders

    await reading.run(send_all)
    await session.close("done")
