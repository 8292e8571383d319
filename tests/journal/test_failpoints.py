"""Whoever dies right before or right after a step leaves all of it or nothing, the first time and later."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dashboard.core.messages import Edit, Lane, Message, MessageState, Preset
from dashboard.journal.checking import check
from dashboard.journal.failpoints import POINTS, STATUS, VARIABLE, Failpoints
from dashboard.journal.home import make_session_folder
from dashboard.journal.session import JournalHostSession, JournalOperatorSession
from tests.capabilities import FORK, needs
from tests.conftest import FakeClock
from tests.journal.test_session import die, started, written

ROOT = Path(__file__).parent.parent.parent
HOST_POINTS = [
    *((point, nth) for point in ("commit.before", "commit.after") for nth in (1, 2, 7, 40)),
    *((point, nth) for point in ("append.before", "append.after") for nth in (1, 2, 9, 70)),
    *((point, nth) for point in ("end.before", "end.after") for nth in (1, 2, 4)),
    ("create.before", 1),
    ("create.after", 1),
]
CONSOLE_POINTS = [
    (point, nth)
    for point in ("commit.before", "commit.after", "append.before", "append.after")
    for nth in (1, 2, 7, 30)
]


class Yard:
    """A process that was started once, and forks: each death costs a fork and not the start of an interpreter."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.soak", "--serve", "--seed", "1"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def die_at(self, victim: str, point: str, nth: int) -> dict[str, Any]:
        """Give how the victim ended, and what was wrong with what it left."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(victim, point, nth, file=self._process.stdin, flush=True)
        answer: dict[str, Any] = msgspec.json.decode(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        assert self._process.wait(60) == 0


@pytest.fixture(scope="module")
def yard() -> Iterator[Yard]:
    needs(FORK)
    yard = Yard()
    yield yard
    yard.close()


def test_every_point_is_died_at() -> None:
    assert {point for point, _ in HOST_POINTS} == POINTS


@pytest.mark.parametrize(("point", "nth"), HOST_POINTS)
def test_a_host_that_dies_there_loses_nothing_that_was_acknowledged(yard: Yard, point: str, nth: int) -> None:
    assert yard.die_at("host", point, nth) == {"status": [STATUS], "failure": ""}


@pytest.mark.parametrize(("point", "nth"), CONSOLE_POINTS)
def test_a_console_that_dies_there_disturbs_nobody(yard: Yard, point: str, nth: int) -> None:
    assert yard.die_at("console", point, nth) == {"status": [STATUS], "failure": ""}


class TestOneStepOfAConsole:
    """By the environment, in an interpreter of its own: a send is its first step, an amendment its second."""

    SENDS_AND_EDITS = """
import asyncio, sys
from pathlib import Path
import msgspec
from dashboard.core.messages import Edit, Message
from dashboard.journal.session import JournalOperatorSession

async def work():
    message = msgspec.json.decode(sys.argv[2], type=Message)
    await session.send("run_1", message)
    print("sent", flush=True)
    await session.amend(message.id, Edit("changed"))
    print("edited", flush=True)

session = JournalOperatorSession(Path(sys.argv[1]), "ana")
asyncio.run(work())
"""

    @pytest.mark.parametrize(
        ("wanted", "acknowledged", "stored"),
        [
            ("append.before", [], None),
            ("append.after", [], None),
            ("commit.before", [], None),
            ("commit.after", [], "hello"),
            ("append.before:2", ["sent"], "hello"),
            ("append.after:2", ["sent"], "hello"),
            ("commit.before:2", ["sent"], "hello"),
            ("commit.after:2", ["sent"], "changed"),
        ],
    )
    async def test_it_is_there_whole_or_not_at_all_and_may_be_sent_again(
        self, clock: FakeClock, wanted: str, acknowledged: list[str], stored: str | None
    ) -> None:
        host = JournalHostSession(make_session_folder("20260101-000000-aaaa"), clock)
        await host.start("0", "title", ())
        host.emit(started("run_1"))
        await written(host)
        session = JournalOperatorSession(host.folder, "ana", clock)
        message = session.compose("hello", Preset.STEER)
        done = await asyncio.to_thread(self.send_and_edit, host.folder, message, wanted)
        assert (done.returncode, done.stderr, done.stdout.split()) == (STATUS, "", acknowledged)
        found = session.look(lambda store: store.message(message.id))
        assert (found.body if found else None) == stored
        receipt = await session.send("run_1", message)
        await session.amend(receipt.message_id, Edit("changed"))
        (only,) = session.look(lambda store: store.messages())
        assert (only.id, only.body, only.lane, only.state) == (
            message.id, "changed", Lane.NEXT_STEP, MessageState.QUEUED,
        )  # fmt: skip
        session.close()
        die(host)
        assert check(host.folder).faults == ()

    def send_and_edit(self, folder: Path, message: Message, wanted: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", self.SENDS_AND_EDITS, str(folder), msgspec.json.encode(message).decode()],
            env={VARIABLE: wanted, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


class TestAPoint:
    def test_it_ends_the_process_when_it_is_come_to_so_many_times(self) -> None:
        ends: list[int] = []
        points = Failpoints("commit.before:3", ends.append)
        for _ in range(2):
            points.at("commit.before")
            points.at("commit.after")
        assert ends == []
        for _ in range(3):
            points.at("commit.before")
        assert ends == [STATUS]

    def test_none_is_wanted_without_the_variable(self) -> None:
        ends: list[int] = []
        for point in POINTS:
            Failpoints("", ends.append).at(point)
        assert ends == []

    @pytest.mark.parametrize("wanted", ["commit", "commit.before:", "commit.before:0", "commit.before:x", ":1"])
    def test_one_that_is_not_there_is_refused_with_those_that_are(self, wanted: str) -> None:
        with pytest.raises(ValueError, match="names no failpoint; there are: append.after"):
            Failpoints(wanted)

    def test_a_process_with_a_wrong_one_says_so_at_once(self) -> None:
        done = subprocess.run(
            [sys.executable, "-c", "import dashboard.journal.store"],
            env={VARIABLE: "nowhere", "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode != 0
        assert "DASHBOARD_FAILPOINT='nowhere' names no failpoint" in done.stderr
