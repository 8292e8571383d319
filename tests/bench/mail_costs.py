"""Mail: an empty take, and a message from send to delivered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from dashboard.core.events import RunStarted
from dashboard.core.inbox import QueueInbox
from dashboard.core.mail import Boundary, BoundaryKind
from dashboard.core.messages import Lane
from dashboard.journal.routed_inbox import RoutedInbox
from dashboard.journal.session import JournalHostSession
from tests.bench.measure import alternated, report

STORES = ("memory", "journal")
TAKES = 400
SENDS = 200
EMPTY = Boundary(BoundaryKind.AFTER_TOOLS, 1, 1, 0)


@contextmanager
def inbox_on(store: str) -> Iterator[RoutedInbox]:
    """Give an inbox with one run that lives: alone in memory, or a host's over its journal."""
    if store == "memory":
        yield _with_a_run(RoutedInbox())
        return
    with TemporaryDirectory() as folder:
        session = JournalHostSession(Path(folder))
        yield _with_a_run(session.inbox)
        asyncio.run(session.close("measured"))


def _with_a_run(inbox: RoutedInbox) -> RoutedInbox:
    inbox.emit(RunStarted(run_id="run_1", label="main", ordinal=1, task="t", max_iterations=3))
    return inbox


@contextmanager
def raw_sqlite() -> Iterator[apsw.Connection]:
    """Give a bare connection to a file of the same kind, with one table."""
    with TemporaryDirectory() as folder:
        connection = apsw.Connection(str(Path(folder) / "raw.db"))
        for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "CREATE TABLE t (a, b)"):
            connection.execute(statement).fetchall()
        yield connection
        connection.close()


def empty_takes(inbox: RoutedInbox) -> int:
    """Take where nothing waits."""

    async def takes() -> None:
        mail = inbox.open_run("run_1")
        for _ in range(TAKES):
            await mail.take(EMPTY)

    asyncio.run(takes())
    return TAKES


def sent_and_delivered(inbox: RoutedInbox, index: Iterator[int]) -> int:
    """Send one message and read it at the next boundary, again and again."""

    async def exchange() -> None:
        mail = inbox.open_run("run_1")
        for _ in range(SENDS):
            inbox.send("run_1", "check worker.log instead", Lane.NEXT_STEP)
            (delivered,) = await mail.take(Boundary(BoundaryKind.AFTER_TOOLS, 1, 1, next(index)))
            assert delivered.text

    asyncio.run(exchange())
    return SENDS


def main() -> None:
    """Print each store's costs beside its baseline."""
    drain = QueueInbox().reader()

    def drains() -> int:
        async def read() -> None:
            for _ in range(TAKES):
                drain()
                await asyncio.sleep(0)

        asyncio.run(read())
        return TAKES

    with raw_sqlite() as connection:

        def transactions() -> int:
            for _ in range(TAKES):
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("SELECT 1 FROM t LIMIT 1").fetchall()
                connection.execute("COMMIT")
            return TAKES

        def inserts() -> int:
            for _ in range(SENDS):
                for _ in range(2):  # a send and a delivery are two transactions that reach the disk
                    connection.execute("BEGIN IMMEDIATE")
                    connection.execute("INSERT INTO t VALUES (1, 'check worker.log instead')")
                    connection.execute("COMMIT")
            return SENDS

        for store in STORES:
            with inbox_on(store) as inbox:
                index = iter(range(1_000_000))
                baseline = ("a queue's drain", drains) if store == "memory" else ("bare transaction", transactions)
                base, cost = alternated(baseline[1], lambda inbox=inbox: empty_takes(inbox))  # type: ignore[misc]
                report(f"empty take ({store})", (baseline[0], base), ("take", cost))
                base, cost = alternated(inserts, lambda i=inbox, n=index: sent_and_delivered(i, n))  # type: ignore[misc]
                report(f"send to delivered ({store})", ("two bare inserts", base), ("both", cost))
