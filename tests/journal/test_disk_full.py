"""A disk that is really full: a sender is told, nothing acknowledged is lost, and all goes on with more room."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.core.errors import JournalError
from dashboard.core.mail import Boundary, BoundaryKind
from dashboard.core.messages import MessageState, Preset, Receipt
from dashboard.core.outcomes import Outcome, RunEnd
from dashboard.journal import routed_mail
from dashboard.journal import writer as writer_module
from dashboard.journal.checking import check
from dashboard.journal.home import HOME_VARIABLE, make_session_folder
from dashboard.journal.session import JournalHostSession, JournalOperatorSession
from tests.capabilities import SMALL_DISK, mount_small_disk, needs, unmount
from tests.conftest import FakeClock
from tests.journal.test_session import started, written

SIZE = "1m"
BODY = "x" * 4_000


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A disk of a mebibyte, where sessions are kept."""
    needs(SMALL_DISK)
    disk = tmp_path / "small disk"
    disk.mkdir()
    assert mount_small_disk(disk, SIZE) == ""
    monkeypatch.setenv(HOME_VARIABLE, str(disk))
    monkeypatch.setattr(writer_module, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(routed_mail, "RETRY_SECONDS", 0.01)
    yield disk
    unmount(disk)


def boundary(index: int) -> Boundary:
    return Boundary(BoundaryKind.AFTER_TOOLS, turn=1, round=2, history_index=index)


def fill(disk: Path) -> Path:
    """Take all the room that is left."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 512)
        except OSError:
            return filler


async def test_a_full_disk_is_told_to_the_sender_and_the_log_and_nothing_acknowledged_is_lost(
    small_disk: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    host = JournalHostSession(make_session_folder("20260101-000000-aaaa"), clock)
    await host.start("0", "title", ())
    host.emit(started("run_1"))
    await written(host)
    session = JournalOperatorSession(host.folder, "ana", clock)
    acknowledged: list[Receipt] = []

    async def send() -> None:
        message = session.compose(f"{len(acknowledged)} {BODY}", Preset.STEER)
        acknowledged.append(await session.send("run_1", message))

    await send()
    filler = fill(small_disk)

    async def send_on() -> None:
        while True:  # the log has some room of its own, which was taken before the disk was full
            await send()

    with caplog.at_level(logging.ERROR), pytest.raises(JournalError) as told:
        await send_on()
    assert "the journal could not be written" in str(told.value)
    assert "full" in str(told.value)
    assert "the journal could not be written, and will be tried again" in caplog.text
    before = len(acknowledged)
    assert [message.id for message in session.look(lambda store: store.messages())] == [
        receipt.message_id for receipt in acknowledged
    ]

    mail = host.inbox.open_run("run_1")
    taken: list[str] = []
    ending = asyncio.ensure_future(mail.finish(boundary(0), RunEnd(Outcome.ANSWERED, "done " * 50_000)))
    while "cannot be recorded yet" not in caplog.text and not ending.done():
        await asyncio.wait([ending], timeout=0.01)
    assert not ending.done()
    filler.unlink()
    taken += [delivered.text for delivered in await ending]  # it was extended, by what waits (T2)
    while len(taken) < before:
        taken += [delivered.text for delivered in await mail.take(boundary(len(taken)))]
    await send()
    while len(taken) < len(acknowledged):
        taken += [delivered.text for delivered in await mail.take(boundary(len(taken)))]
    assert taken == [f"{number} {BODY}" for number in range(len(acknowledged))]
    assert all(message.state is MessageState.DELIVERED for message in host.inbox.messages())
    assert await mail.finish(boundary(len(taken)), RunEnd(Outcome.ANSWERED, "done")) == ()
    session.close()
    await host.close("done")
    report = check(host.folder)
    assert (report.faults, report.messages) == ((), before + 1)
