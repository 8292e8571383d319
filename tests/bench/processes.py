"""Across processes: a message from its sender to its run, and an event from its host to three who follow."""

from __future__ import annotations

import asyncio
import multiprocessing
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from dashboard.core.events import NoticeLevel, NoticeRaised, RunStarted
from dashboard.core.mail import Boundary, BoundaryKind
from dashboard.core.messages import Preset
from dashboard.journal.session import JournalHostSession, JournalOperatorSession
from tests.bench.measure import micro, percentiles

SENDS = 300
READERS = 3
TOLD = 120
GAP_SECONDS = 0.01
FRAME_SECONDS = 1 / 30  # how often a console looks
_spawn = multiprocessing.get_context("spawn")


def send_and_time(folder: Path, answers: Connection) -> None:
    """Be a sender: write a message once the one before was read, and say when each was written."""
    session = JournalOperatorSession(folder, "ana")
    with asyncio.Runner() as runner:
        for _ in range(SENDS):
            sent = time.monotonic()
            runner.run(session.send("run_1", session.compose("check worker.log instead", Preset.STEER)))
            answers.send(sent)
            answers.recv()
    session.close()


def follow_and_time(folder: Path, answers: Connection, frame: float) -> None:
    """Be one who follows: look as often as a console, and say how long after its telling each event was seen."""
    session = JournalOperatorSession(folder, "ana")
    after = 0
    late: list[float] = []
    answers.send("ready")
    while len(late) < TOLD:
        for record in session.read(after, 1_000):
            after = record.seq
            if isinstance(record.event, NoticeRaised):
                late.append(time.monotonic() - float(record.event.text))
        time.sleep(frame)
    answers.send(late)
    session.close()


def echo(answers: Connection) -> None:
    """Be the other end of a pipe: what two processes need to say one thing to each other at the least."""
    while answers.recv() is not None:
        answers.send(time.monotonic())


@contextmanager
def hosted() -> Iterator[JournalHostSession]:
    """Give a host with one run."""
    with TemporaryDirectory() as name:
        session = JournalHostSession(Path(name))
        asyncio.run(session.start("0", "bench", ()))
        session.emit(RunStarted(run_id="run_1", label="main", ordinal=1, task="t", max_iterations=3))
        session.inbox.runs()
        yield session
        asyncio.run(session.close("measured"))


def delivered() -> list[float]:
    """Give the seconds from each send, in its process, to the delivery at a boundary that comes at once."""
    with hosted() as session:
        here, there = _spawn.Pipe()
        sender = _spawn.Process(target=send_and_time, args=(session.folder, there))
        sender.start()

        async def read() -> list[float]:
            mail, taken = session.inbox.open_run("run_1"), []
            for index in range(SENDS):
                while not await mail.take(Boundary(BoundaryKind.AFTER_TOOLS, 1, 1, index)):
                    await asyncio.sleep(0)
                arrived = time.monotonic()
                taken.append(arrived - await asyncio.to_thread(here.recv))
                here.send("next")
            return taken

        times = asyncio.run(read())
        sender.join()
        return times


def seen(frame: float) -> list[float]:
    """Give the seconds from each telling to its being seen, over three processes that follow."""
    with hosted() as session:
        pipes = [_spawn.Pipe() for _ in range(READERS)]
        readers = [
            _spawn.Process(target=follow_and_time, args=(session.folder, there, frame)) for _, there in pipes
        ]
        for reader in readers:
            reader.start()
        for here, _ in pipes:
            here.recv()
        for _ in range(TOLD):
            session.emit(NoticeRaised(level=NoticeLevel.NOTE, text=str(time.monotonic())))
            time.sleep(GAP_SECONDS)
        late = [second for here, _ in pipes for second in here.recv()]
        for reader in readers:
            reader.join()
        return late


def piped() -> list[float]:
    """Give the seconds that one word takes through a pipe and back."""
    here, there = _spawn.Pipe()
    other = _spawn.Process(target=echo, args=(there,))
    other.start()
    times = []
    for _ in range(SENDS):
        began = time.monotonic()
        here.send("word")
        here.recv()
        times.append(time.monotonic() - began)
    here.send(None)
    other.join()
    return times


def append_rates() -> tuple[float, float]:
    """Give the seconds an event takes: through the writer in batches, and as a bare row in batches of 500."""
    events = 20_000
    notice = NoticeRaised(level=NoticeLevel.NOTE, text="x" * 80)
    with hosted() as session:
        began = time.perf_counter()
        for _ in range(events):
            session.emit(notice)
        session.inbox.runs()
        ours = (time.perf_counter() - began) / events
    with TemporaryDirectory() as name:
        connection = apsw.Connection(str(Path(name) / "bare.db"))
        connection.execute(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (a, b)"
        ).fetchall()
        began = time.perf_counter()
        for start in range(0, events, 500):
            connection.execute("BEGIN IMMEDIATE")
            for number in range(start, start + 500):
                connection.execute("INSERT INTO t VALUES (?, ?)", (number, notice.text))
            connection.execute("COMMIT")
        bare = (time.perf_counter() - began) / events
        connection.close()
    return ours, bare


def main() -> None:
    """Print each figure beside what the same machine needs at the least."""
    for what, times in (
        ("a word through a pipe and back", piped()),
        ("send to delivered, two processes", delivered()),
        (f"told to seen, {READERS} readers at once", seen(0.0005)),
        (f"told to seen, {READERS} consoles at 30 Hz", seen(FRAME_SECONDS)),
    ):
        middle, high = percentiles(times)
        print(f"{what:<38} p50 {micro(middle):>12}   p99 {micro(high):>12}   ({len(times)} times)")
    rates = [append_rates() for _ in range(3)]
    ours, bare = (statistics.median(column) for column in zip(*rates, strict=True))
    print(f"{'append, batched':<38} {1 / ours:,.0f} events/s   bare rows {1 / bare:,.0f}/s   {ours / bare:.2f}x")


if __name__ == "__main__":
    main()
