"""The writer in memory: from any thread, at once, and whoever waits for a change is woken."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest

from dashboard.core.errors import SendRefusedError
from dashboard.core.events import MessageQueued, NoticeLevel, NoticeRaised, RunStarted
from dashboard.core.messages import Refusal
from dashboard.journal.jobs import Job
from dashboard.journal.memory import MemoryLedger, MemoryWriter
from dashboard.journal.routed_inbox import RoutedInbox
from tests.conftest import FakeClock
from tests.journal.conftest import of

THREADS, EACH = 8, 100


def notice(text: str) -> NoticeRaised:
    return NoticeRaised(level=NoticeLevel.NOTE, text=text)


def texts(writer: MemoryWriter) -> list[str]:
    return [event.text for event in of(writer.records(), NoticeRaised)]


@pytest.fixture
def memory(clock: FakeClock) -> MemoryWriter:
    return MemoryWriter(clock)


def test_what_is_emitted_is_recorded_with_its_time_when_the_call_returns(
    memory: MemoryWriter, clock: FakeClock
) -> None:
    memory.emit(notice("one"))
    clock.tick(5)
    memory.emit(notice("two"))
    one, two = memory.records()
    assert (one.seq, two.seq, two.at - one.at) == (1, 2, 5_000_000)
    assert memory.records(after=1) == [two]
    memory.close()
    assert len(memory.records()) == 2


def test_a_job_has_its_answer_when_the_call_returns(memory: MemoryWriter) -> None:
    job: Job[MemoryLedger, int] = Job(lambda ledger: ledger.append(notice("x"), 1))
    assert memory.submit(job).future.result(0) == 1


def test_a_job_that_is_refused_is_undone(memory: MemoryWriter) -> None:
    def refuse(ledger: MemoryLedger) -> None:
        ledger.append(notice("never"), 1)
        raise SendRefusedError(Refusal.EMPTY, "nothing to send")

    assert isinstance(memory.submit(Job(refuse)).future.exception(0), SendRefusedError)
    assert memory.records() == []


def test_an_event_that_cannot_be_is_told_by_a_notice(
    memory: MemoryWriter, caplog: pytest.LogCaptureFixture
) -> None:
    started = RunStarted(run_id="r", label="main", ordinal=1, task="t", max_iterations=1)
    memory.emit(started)
    memory.emit(started)
    assert len(of(memory.records(), RunStarted)) == 1
    assert "RunStarted could not be recorded" in texts(memory)[0]


def test_many_threads_send_and_each_threads_messages_keep_their_order(
    memory: MemoryWriter, clock: FakeClock
) -> None:
    memory.emit(RunStarted(run_id="r", label="main", ordinal=1, task="t", max_iterations=1))
    together = threading.Barrier(THREADS)

    def send(who: int) -> None:
        inbox = RoutedInbox(memory, operator=f"op{who}", clock=clock)
        together.wait(10)
        for number in range(EACH):
            inbox.steer("main", str(number))

    threads = [threading.Thread(target=send, args=(who,)) for who in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    records = memory.records()
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    queued = of(records, MessageQueued)
    assert len(queued) == THREADS * EACH
    for who in range(THREADS):
        assert [int(event.body) for event in queued if event.sender.name == f"op{who}"] == list(range(EACH))


def test_what_is_emitted_in_the_midst_of_a_commit_comes_right_after_it(memory: MemoryWriter) -> None:
    """A finalizer may run anywhere, in a job of the same thread too."""

    class Dropped:
        def __del__(self) -> None:
            memory.emit(notice("dropped"))

    def drop(ledger: MemoryLedger) -> None:
        ledger.append(notice("before"), 1)
        Dropped()
        gc.collect()
        ledger.append(notice("after"), 1)

    memory.submit(Job(drop)).future.result(0)
    assert texts(memory) == ["before", "after", "dropped"]


class TestWaitingForAChange:
    async def test_an_event_wakes_everyone_who_waits(self, memory: MemoryWriter) -> None:
        waiting = [asyncio.ensure_future(memory.changed()) for _ in range(3)]
        memory.emit(notice("x"))
        await asyncio.gather(*waiting)

    async def test_listening_begins_with_the_call_so_that_nothing_is_missed(self, memory: MemoryWriter) -> None:
        changed = memory.changed()
        memory.emit(notice("before anybody awaits"))
        await changed

    async def test_a_change_in_another_thread_wakes_the_loop(self, memory: MemoryWriter) -> None:
        changed = memory.changed()
        thread = threading.Thread(target=memory.emit, args=(notice("x"),))
        thread.start()
        await changed
        thread.join()

    async def test_a_look_wakes_nobody(self, memory: MemoryWriter) -> None:
        changed = asyncio.ensure_future(memory.changed())
        memory.submit(Job(lambda ledger: ledger.runs()))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not changed.done()
        changed.cancel()

    async def test_who_has_left_is_forgotten(self, memory: MemoryWriter) -> None:
        changed = asyncio.ensure_future(memory.changed())
        changed.cancel()
        await asyncio.wait([changed])
        assert memory._listeners == set()

    async def test_who_leaves_while_a_change_is_on_its_way_disturbs_nobody(self, memory: MemoryWriter) -> None:
        leaving, staying = asyncio.ensure_future(memory.changed()), memory.changed()
        memory.emit(notice("x"))
        leaving.cancel()
        await staying

    def test_a_loop_that_was_closed_disturbs_nobody(self, memory: MemoryWriter) -> None:
        async def listen() -> None:
            memory.changed()

        asyncio.run(listen())
        memory.emit(notice("x"))
        assert len(memory.records()) == 1
