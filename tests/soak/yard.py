"""The yard: processes are forked and killed at random moments, and what is left is examined after each kill."""

from __future__ import annotations

import asyncio
import random
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path

from dashboard.core.errors import SendRefusedError
from dashboard.core.messages import Preset, Refusal
from dashboard.journal import failpoints
from dashboard.journal.catalog import host_started
from dashboard.journal.home import JOURNAL_NAME, make_session_folder, session_folders
from dashboard.journal.reaping import look
from dashboard.journal.session import JournalOperatorSession
from tests.soak.consoles import be_reader, be_writer
from tests.soak.hosting import be_host
from tests.soak.oracle import Figures, examine
from tests.soak.processes import KILLED, LONGEST_SECONDS, await_that, fork, has_ended, kill, wait_for_end

FOUND_SECONDS = 1.0  # in which whoever looks has to find a dead host's runs lost
LIFE_SECONDS = (0.2, 1.5)  # from which to which a host lives if nobody kills it: then it closes its session
LONGEST_PAUSE = 0.08  # seconds between two kills
HOST_SHARE = 0.35  # of the kills
WRITERS = ("ana", "bo", "cy")
READER = "reader"
_SHOWN = 20  # of what is wrong


class YardError(Exception):
    """Something that has to be true is not."""


@dataclass(slots=True)
class Tally:
    """What a run of the yard came to."""

    hosts_killed: int = 0
    consoles_killed: int = 0
    hosts_closed: int = 0
    sessions: int = 0
    examinations: int = 0
    deliveries_checked: int = 0
    slowest_find: float = 0.0  # seconds from a look to lost runs
    totals: Figures = field(default_factory=Figures)

    @property
    def kills(self) -> int:
        """How many there were."""
        return self.hosts_killed + self.consoles_killed

    def lines(self) -> list[str]:
        """Give the figures for people."""
        return [
            f"kills: {self.hosts_killed} hosts, {self.consoles_killed} consoles",
            f"sessions: {self.sessions}, of which {self.hosts_closed} were closed by their hosts",
            *(f"{one.name.replace('_', ' ')}: {getattr(self.totals, one.name):,}" for one in fields(Figures)),
            f"examinations: {self.examinations:,}",
            f"deliveries checked: {self.deliveries_checked:,}",
            f"slowest find of a dead host: {self.slowest_find * 1000:.0f} ms",
        ]


class Yard:
    """Forks and kills.

    Args:
        seed: what decides whom and when.
    """

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self._folders = 0
        self.tally = Tally()

    def kill_at_random(self, kills: int, deadline: float = float("inf")) -> None:
        """Run sessions, and kill hosts and consoles in them, until there were so many kills.

        Args:
            kills: how many.
            deadline: by the monotonic clock, after which no session is begun.

        Raises:
            YardError: something was lost, doubled, out of order, or left open.
        """
        while self.tally.kills < kills and time.monotonic() < deadline:
            self._run_one_session(kills)

    def die_at(self, point: str, nth: int, victim: str) -> int:
        """Let a host or a writer die by itself at a failpoint, and examine what is left; gives its exit status.

        Raises:
            YardError: something was lost, doubled, out of order, or left open.
        """
        folder = self._new_folder()
        host = partial(be_host, folder, 1, float(LONGEST_SECONDS))  # it lives until somebody dies
        if victim == "host" and point.startswith("create"):
            return self._die_while_creating(folder, _doomed(host, point, nth), host)
        if victim == "host":
            host_pid = fork(_doomed(host, point, nth))
            await_that(lambda: host_started(folder) or has_ended(host_pid), "the host does not start")
            writers = [fork(partial(be_writer, folder, name, 2)) for name in WRITERS[:2]]
            status = wait_for_end(host_pid)
        else:
            host_pid = fork(host)
            await_that(lambda: host_started(folder), "the host does not start")
            writers = [fork(partial(be_writer, folder, WRITERS[1], 2))]
            status = wait_for_end(fork(_doomed(partial(be_writer, folder, WRITERS[0], 3), point, nth)))
            self._examine(folder, over=False)
            kill(host_pid)
        self._examine_end(folder)
        self._wait_for_consoles(writers)
        return status

    def _die_while_creating(self, folder: Path, doomed: Callable[[], None], host: Callable[[], None]) -> int:
        status = wait_for_end(fork(doomed))
        if (folder / JOURNAL_NAME).exists():  # then it is whole
            self._examine_end(folder)
            return status
        if folder in session_folders():
            raise YardError(f"half of a journal is taken for a session: {folder}")
        again = fork(host)  # nothing is in the way of another try
        await_that(lambda: host_started(folder), "the second host does not start")
        kill(again)
        self._examine_end(folder)
        left = [file.name for file in folder.iterdir() if "making" in file.name]
        if left:
            raise YardError(f"a creation that was cut off has left {left} in {folder}")
        return status

    def _run_one_session(self, kills: int) -> None:
        folder = self._new_folder()
        self.tally.sessions += 1
        host = fork(partial(be_host, folder, self._dice.randrange(1 << 30), self._dice.uniform(*LIFE_SECONDS)))
        await_that(lambda: host_started(folder), "the host does not start")
        consoles = {name: self._fork_console(folder, name) for name in (*WRITERS, READER)}
        generation = 0
        while not (self._dice.random() < HOST_SHARE or self.tally.kills >= kills - 1):
            time.sleep(self._dice.uniform(0.001, LONGEST_PAUSE))
            name = self._dice.choice(list(consoles))
            if has_ended(host) or not _was_killed(kill(consoles.pop(name)), name):
                break  # the session is over: its host was faster
            self.tally.consoles_killed += 1
            self._examine(folder, over=False)
            generation += 1
            reborn = name if name == READER else f"{name.partition('-')[0]}-{generation}"
            consoles[reborn] = self._fork_console(folder, reborn)
        time.sleep(self._dice.uniform(0.001, LONGEST_PAUSE))
        if _was_killed(kill(host), "the host"):
            self.tally.hosts_killed += 1
        else:
            self.tally.hosts_closed += 1
        self.tally.totals.add(self._examine_end(folder))
        self._wait_for_consoles(consoles.values())
        shutil.rmtree(folder)

    def _fork_console(self, folder: Path, name: str) -> int:
        if name == READER:
            return fork(partial(be_reader, folder))
        return fork(partial(be_writer, folder, name, self._dice.randrange(1 << 30)))

    def _wait_for_consoles(self, pids: Iterable[int]) -> None:
        """Each sees by itself that the session is over."""
        for pid in pids:
            status = wait_for_end(pid)
            if status:
                raise YardError(f"a console ended with {status}")

    def _examine_end(self, folder: Path) -> Figures:
        """Look, as anybody does who finds a host dead, and examine what that comes to."""
        began = time.monotonic()
        state = look(folder).state
        took = time.monotonic() - began
        self.tally.slowest_find = max(self.tally.slowest_find, took)
        if not state.over or took > FOUND_SECONDS:
            raise YardError(f"after {took:.3f} s the session of a host that has ended is {state}: {folder}")
        figures = self._examine(folder, over=True)
        _check_refused(folder)
        return figures

    def _examine(self, folder: Path, *, over: bool) -> Figures:
        figures, faults = examine(folder, over=over)
        self.tally.examinations += 1
        self.tally.deliveries_checked += figures.delivered
        if faults:
            raise YardError(
                f"{folder.name}, after {self.tally.lines()[0]}:\n  " + "\n  ".join(faults[:_SHOWN])
                + f"\n  ({len(faults)} in all)"
            )  # fmt: skip
        return figures

    def _new_folder(self) -> Path:
        self._folders += 1
        letters = "".join(self._dice.choice("abcdefghjkmnpqrstvwxyz") for _ in range(4))
        return make_session_folder(f"20260101-{self._folders:06}-{letters}")


def _was_killed(status: int, who: str) -> bool:
    """Whether it was the kill that ended a process; else it was faster, and ended well.

    Raises:
        YardError: it had failed.
    """
    if status not in (0, KILLED):
        raise YardError(f"{who} ended with {status}, and nobody had killed it")
    return status == KILLED


def _doomed(body: Callable[[], None], point: str, nth: int) -> Callable[[], None]:
    """Give what does the same, up to a failpoint."""

    def run() -> None:
        failpoints.at = failpoints.Failpoints(f"{point}:{nth}").at
        body()

    return run


def _check_refused(folder: Path) -> None:
    """Whoever writes to a session that is over is told so, and nothing is stored."""
    session = JournalOperatorSession(folder, "late", inline=True)  # no thread: this process forks
    try:
        asyncio.run(session.send("main", session.compose("too late", Preset.STEER)))
    except SendRefusedError as refused:
        if refused.refusal is not Refusal.RUN_ENDED:
            raise YardError(f"a send to a session that is over was refused as {refused.refusal}") from refused
    else:
        raise YardError(f"a session that is over accepted a message: {folder}")
    finally:
        session.close()
