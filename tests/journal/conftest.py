"""Ledgers and writers of both kinds, and the shortest way to start runs on one and write to them.

Whatever takes ``ledger``, ``desk``, ``writer`` or ``inbox`` runs twice: in memory, and on a SQLite file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from dashboard.core.events import Event, KnownEvent, RunStarted
from dashboard.core.mail import Boundary, BoundaryKind, Delivered
from dashboard.core.messages import Amendment, Lane, Message, Preset, Receipt, Sender, SenderKind
from dashboard.core.outcomes import Outcome, RunEnd
from dashboard.core.records import Record
from dashboard.journal import mailroom, schema
from dashboard.journal.inline import InlineWriter
from dashboard.journal.jobs import Job
from dashboard.journal.ledger import StoredMessage
from dashboard.journal.memory import MemoryLedger, MemoryWriter
from dashboard.journal.routed_inbox import RoutedInbox
from dashboard.journal.store import Store
from tests.conftest import FakeClock

ANA = Sender(SenderKind.OPERATOR, "ana")
STORES = ("memory", "sqlite")
AnyLedger = Store | MemoryLedger
AnyWriter = InlineWriter | MemoryWriter
E = TypeVar("E", bound=Event)


class Desk:
    """One ledger, with every step in a transaction of its own."""

    def __init__(self, ledger: AnyLedger, clock: FakeClock) -> None:
        self.ledger = ledger
        self.clock = clock
        self._count = 0
        self._lengths: dict[str, int] = {}

    def append(self, event: KnownEvent) -> int:
        with self.ledger.transaction():
            return self.ledger.append(event, self.clock())

    def start(self, run_id: str, label: str, ordinal: int = 1, *, reading: bool = True) -> None:
        self.append(
            RunStarted(run_id=run_id, label=label, ordinal=ordinal, task="t", max_iterations=10, reading=reading)
        )

    def message(
        self,
        body: str,
        preset: Preset = Preset.STEER,
        *,
        sender: Sender = ANA,
        id: str = "",  # noqa: A002 - what it is called in the message
        expires_in: float | None = None,
    ) -> Message:
        self._count += 1
        expires_at = None if expires_in is None else self.clock() + int(expires_in * 1_000_000)
        message_id = id or f"msg_{self._count:03}"
        return Message(message_id, body, preset.lane, preset.wake, sender, self.clock(), expires_at)

    def send(self, address: str, message: Message | str, preset: Preset = Preset.STEER) -> Receipt:
        if isinstance(message, str):
            message = self.message(message, preset)
        with self.ledger.transaction():
            return mailroom.accept(self.ledger, address, message, self.clock())

    def amend(self, message_id: str, change: Amendment, by: Sender = ANA) -> Receipt:
        with self.ledger.transaction():
            return mailroom.amend(self.ledger, message_id, change, by, self.clock())

    def deliver(
        self, run_id: str, kind: BoundaryKind = BoundaryKind.AFTER_TOOLS, *, one_followup: bool = False
    ) -> tuple[Delivered, ...]:
        """Take as a loop would: each entry after the ones that it already has."""
        at = Boundary(kind, 1, 2, self._lengths.setdefault(run_id, 2), one_followup)
        with self.ledger.transaction():
            taken = mailroom.take(self.ledger, run_id, at, self.clock())
        self._lengths[run_id] += len(taken)
        return taken

    def take(
        self, run_id: str, kind: BoundaryKind = BoundaryKind.AFTER_TOOLS, *, one_followup: bool = False
    ) -> list[str]:
        return [delivered.text for delivered in self.deliver(run_id, kind, one_followup=one_followup)]

    def finish(
        self, run_id: str, outcome: Outcome = Outcome.ANSWERED, *, one_followup: bool = False
    ) -> list[tuple[str, bool]]:
        """Give each text that came instead of the end, and whether it opens a turn."""
        at = Boundary(BoundaryKind.FINAL, 1, 2, self._lengths.setdefault(run_id, 2), one_followup)
        with self.ledger.transaction():
            taken = mailroom.finish(self.ledger, run_id, at, RunEnd(outcome, "a"), self.clock())
        self._lengths[run_id] += len(taken)
        return [(delivered.text, delivered.opens_turn) for delivered in taken]

    def drain(self, run_id: str) -> list[str]:
        with self.ledger.transaction():
            return mailroom.drain(self.ledger, run_id, self.clock())

    def events(self, *kinds: type[E]) -> list[E]:
        return of(self.ledger.records(0, 100_000), *kinds)

    def stored(self, message_id: str) -> StoredMessage:
        message = self.ledger.message(message_id)
        assert message is not None
        return message

    def state(self, message_id: str) -> tuple[str, str | None]:
        message = self.stored(message_id)
        return message.state, message.reason

    def waiting(self, run_id: str, lane: Lane = Lane.NEXT_STEP) -> list[str]:
        return [message.body for message in self.ledger.claimable(run_id, lane, 0, 1_000)]


def of(records: list[Record], *kinds: type[E]) -> list[E]:
    """Give the events of these kinds, in order; of every kind if none is named."""
    return [record.event for record in records if isinstance(record.event, kinds or Event)]  # type: ignore[misc]


def records_of(writer: AnyWriter) -> list[Record]:
    """Give everything that a writer has recorded."""
    job: Job[AnyLedger, list[Record]] = Job(lambda ledger: ledger.records(0, 100_000))
    return writer.submit(job).future.result()


def boundary(kind: BoundaryKind = BoundaryKind.AFTER_TOOLS, index: int = 2) -> Boundary:
    return Boundary(kind, turn=1, round=2, history_index=index)


@pytest.fixture(params=STORES)
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AnyLedger]:
    if request.param == "memory":
        yield MemoryLedger()
        return
    store = Store(schema.create(tmp_path / "journal.db"))
    yield store
    store.connection.close()


@pytest.fixture
def desk(ledger: AnyLedger, clock: FakeClock) -> Desk:
    return Desk(ledger, clock)


@pytest.fixture(params=STORES)
def writer(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[AnyWriter]:
    if request.param == "memory":
        yield MemoryWriter(clock)
        return
    path = tmp_path / "journal.db"
    schema.create(path).close()
    inline = InlineWriter(path, clock)
    yield inline
    inline.close()


@pytest.fixture
def inbox(writer: AnyWriter, clock: FakeClock) -> RoutedInbox:
    return RoutedInbox(writer, operator="ana", clock=clock)
