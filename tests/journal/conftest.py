"""A journal of its own for each test, and the shortest way to start runs and write to them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.core.events import KnownEvent, Record, RunStarted
from dashboard.core.mail import Boundary, BoundaryKind
from dashboard.core.messages import Message, Preset, Receipt, Sender, SenderKind
from dashboard.journal import mailroom, schema
from dashboard.journal.store import Store
from tests.conftest import FakeClock

ANA = Sender(SenderKind.OPERATOR, "ana")


class Desk:
    """One journal, with every step in a transaction of its own."""

    def __init__(self, path: Path, clock: FakeClock) -> None:
        self.store = Store(schema.create(path))
        self.clock = clock
        self._count = 0
        self._lengths: dict[str, int] = {}

    def append(self, event: KnownEvent) -> None:
        with self.store.transaction():
            self.store.append(event, self.clock())

    def start(self, run_id: str, label: str, ordinal: int = 1, *, reading: bool = True) -> None:
        self.append(
            RunStarted(run_id=run_id, label=label, ordinal=ordinal, task="t", max_iterations=10, reading=reading)
        )

    def message(self, body: str, preset: Preset = Preset.STEER, *, sender: Sender = ANA, id: str = "") -> Message:  # noqa: A002
        self._count += 1
        return Message(id or f"msg_{self._count:03}", body, preset.lane, preset.wake, sender, self.clock())

    def send(self, address: str, message: Message | str, preset: Preset = Preset.STEER) -> Receipt:
        if isinstance(message, str):
            message = self.message(message, preset)
        with self.store.transaction():
            return mailroom.accept(self.store, address, message, self.clock())

    def take(self, run_id: str, kind: BoundaryKind = BoundaryKind.AFTER_TOOLS) -> list[str]:
        """Take as a loop would: each entry after the ones that it already has."""
        length = self._lengths.setdefault(run_id, 2)
        with self.store.transaction():
            taken = mailroom.take(self.store, run_id, boundary(kind, length), self.clock())
        self._lengths[run_id] += len(taken)
        return [delivered.text for delivered in taken]

    def events(self, kind: type | None = None) -> list[KnownEvent]:
        records: list[Record] = self.store.records(0, 100_000)
        return [record.event for record in records if kind is None or isinstance(record.event, kind)]  # type: ignore[misc]

    def state(self, message_id: str) -> tuple[str, str | None]:
        (row,) = self.store.rows("SELECT state, reason FROM message WHERE id = ?", message_id)
        return row[0], row[1]


def boundary(kind: BoundaryKind = BoundaryKind.AFTER_TOOLS, index: int = 2) -> Boundary:
    return Boundary(kind, turn=1, round=2, history_index=index)


@pytest.fixture
def desk(tmp_path: Path, clock: FakeClock) -> Iterator[Desk]:
    desk = Desk(tmp_path / "journal.db", clock)
    yield desk
    desk.store.connection.close()
