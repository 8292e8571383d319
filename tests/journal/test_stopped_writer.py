"""A process that is stopped in the midst of a write holds up no loop: its mail waits, and comes later (A15)."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dashboard.core.mail import Boundary, BoundaryKind, Delivered
from dashboard.core.messages import MessageState, Preset
from dashboard.journal import routed_mail
from dashboard.journal.checking import check
from dashboard.journal.home import JOURNAL_NAME, make_session_folder
from dashboard.journal.session import JournalHostSession, JournalOperatorSession
from tests.conftest import FakeClock
from tests.journal.test_session import die, started, written

AFTER_TOOLS = Boundary(BoundaryKind.AFTER_TOOLS, turn=1, round=2, history_index=0)
PATIENCE_SECONDS = 30.0
STOPPED_INSIDE = """
import os, signal, sys
import apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN IMMEDIATE")
os.kill(os.getpid(), signal.SIGSTOP)
connection.execute("ROLLBACK")
"""


@contextmanager
def stopped_inside_a_transaction(journal: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Give a process that holds the write lock and does not run; what is left of it at the end is killed."""
    process = subprocess.Popen([sys.executable, "-c", STOPPED_INSIDE, str(journal)])
    try:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_boundary_waits_25_milliseconds_for_its_mail() -> None:
    assert routed_mail.TAKE_SECONDS == 0.025


async def test_a_boundary_gives_up_on_a_stopped_writer_and_a_later_one_gets_the_mail(clock: FakeClock) -> None:
    host = JournalHostSession(make_session_folder("20260101-000000-aaaa"), clock)
    await host.start("0", "title", ())
    host.emit(started("run_1"))
    await written(host)
    session = JournalOperatorSession(host.folder, "ana", clock)
    sent = await session.send("run_1", session.compose("hello", Preset.STEER))
    mail = host.inbox.open_run("run_1")
    with stopped_inside_a_transaction(host.folder / JOURNAL_NAME) as process:
        began = time.monotonic()
        assert await mail.take(AFTER_TOOLS) == ()
        assert time.monotonic() - began < 1
        waiting = session.look(lambda store: store.message(sent.message_id))
        assert waiting is not None
        assert waiting.state is MessageState.QUEUED
        process.send_signal(signal.SIGCONT)
        delivered: tuple[Delivered, ...] = ()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not delivered:
                delivered = await mail.take(AFTER_TOOLS)
        assert process.wait(PATIENCE_SECONDS) == 0
    assert [message.text for message in delivered] == ["hello"]
    session.close()
    die(host)
    assert check(host.folder).faults == ()
