"""A host as a process: what signals do to it, what is left of it, and what a command that looks says of that."""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dashboard.core.events import HostStarted, RunFinished, SessionClosed
from dashboard.core.outcomes import Outcome
from dashboard.journal.catalog import summarize
from dashboard.journal.home import find_session
from dashboard.journal.reaping import readable
from tests.cli.test_commands import DASHBOARD, dashboard

PATIENCE = 20.0
ROSTER = """\
[main]
model = "scripted:waits"
tools = ["python:naps:nap"]

[models.waits]
replies = [{ text = "I wait.", calls = [{ tool = "nap", arguments = {} }] }]
"""
TOOLS = '''
import asyncio

async def nap() -> str:
    """Wait for long."""
    await asyncio.sleep(600)
    return "rested"
'''


class Detached:
    """A session whose host is a process of its own, with a root that is busy for ten minutes."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home = home
        (folder / "naps.py").write_text(TOOLS)
        (folder / "roster.toml").write_text(ROSTER)
        roster = str(folder / "roster.toml")
        started = dashboard("run", roster, "sleep", "--detach", "--speed", "0", home=home)
        assert started.returncode == 0, started.stderr
        self.name = started.stdout.strip()
        self.folder = find_session(self.name)
        with readable(self.folder) as store:
            (event,) = (record.event for record in store.records(0, 1))
        assert isinstance(event, HostStarted)
        self.pid = event.pid

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return dashboard(*arguments, home=self.home)

    def state(self) -> str:
        return summarize(self.folder).state

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def ended(self) -> tuple[RunFinished, SessionClosed | None]:
        """Give how its root ended, and how the session did if it was closed."""
        with readable(self.folder) as store:
            events = [record.event for record in store.records(0, 10_000)]
        (finished,) = (event for event in events if isinstance(event, RunFinished))
        return finished, next((event for event in events if isinstance(event, SessionClosed)), None)


@pytest.fixture
def host(state_home: Path, tmp_path: Path) -> Iterator[Detached]:
    host = Detached(state_home, tmp_path)
    yield host
    with contextlib.suppress(ProcessLookupError):
        host.signal(signal.SIGKILL)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)


def test_a_lost_line_leaves_it_running_and_being_asked_to_end_it_ends_its_runs_and_says_so(host: Detached) -> None:
    host.signal(signal.SIGHUP)
    assert host.run("send", host.name, "main", "still there?").returncode == 0
    assert host.state() == "running"
    host.signal(signal.SIGTERM)
    until(lambda: host.state() == "closed")
    finished, closed = host.ended()
    assert finished.outcome is Outcome.CANCELLED
    assert closed == SessionClosed(reason="the host was asked to end (SIGTERM)")
    assert "returned, main: the run, or its turn, was cancelled" in host.run("mail", host.name).stdout


def test_a_stopped_host_does_not_respond_and_is_not_lost_and_goes_on(
    host: Detached,
) -> None:
    host.signal(signal.SIGSTOP)
    until(lambda: host.state() == "not responding")
    waits = host.run("send", host.name, "main", "wake up", "--timeout", "0")
    assert waits.returncode == 3
    host.signal(signal.SIGCONT)
    until(lambda: host.state() == "running")
    assert host.run("stop", host.name).returncode == 0
    assert host.ended()[1] == SessionClosed(reason=f"stopped by {getpass.getuser()}")


def test_whoever_looks_at_a_killed_host_finds_its_runs_lost_and_its_mail_back_at_once(host: Detached) -> None:
    assert host.run("send", host.name, "main", "save me").returncode == 0
    host.signal(signal.SIGKILL)
    until(lambda: not Path(f"/proc/{host.pid}").exists() or _is_zombie(host.pid))
    told = json.loads(host.run("mail", host.name, "--json").stdout)  # the first to look
    assert (told["state"], told["reason"], told["body"]) == ("undeliverable", "host_lost", "save me")
    assert host.state() == "lost"
    assert "last activity" in host.run("tail", host.name).stdout
    assert host.run("send", host.name, "main", "too late").returncode == 1


def test_waiting_for_a_message_whose_host_is_killed_ends_with_its_return(host: Detached) -> None:
    waiting = subprocess.Popen(
        [*DASHBOARD, "send", host.name, "main", "save me", "--wait"],
        env={**os.environ, "DASHBOARD_HOME": str(host.home)}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    until(lambda: "save me" in host.run("mail", host.name).stdout)
    host.signal(signal.SIGKILL)
    told, _ = waiting.communicate(timeout=PATIENCE)
    assert waiting.returncode == 4
    assert "returned, main: the host process died" in told


def test_a_host_without_work_and_without_anybody_there_ends_by_itself(state_home: Path, tmp_path: Path) -> None:
    (tmp_path / "roster.toml").write_text('[main]\nmodel = "scripted:m"\n[models.m]\nreplies = ["done"]\n')
    roster = str(tmp_path / "roster.toml")
    started = dashboard("run", roster, "t", "--detach", "--speed", "0", "--linger", "0.2", home=state_home)
    until(lambda: summarize(find_session(started.stdout.strip())).state == "closed")
    told = dashboard("tail", started.stdout.strip(), home=state_home).stdout
    assert "closed: nothing ran, and no console was there" in told


def test_a_task_is_read_from_standard_input_and_no_list_of_processes_shows_it(
    state_home: Path, tmp_path: Path
) -> None:
    (tmp_path / "roster.toml").write_text('[main]\nmodel = "scripted:m"\n[models.m]\nreplies = ["done"]\n')
    task = "a secret\nof two lines and \udcff" + "x" * 200_000  # more than a pipe or an argument can hold
    started = subprocess.run(
        [*DASHBOARD, "run", str(tmp_path / "roster.toml"), "-", "--detach", "--speed", "0"],
        env={**os.environ, "DASHBOARD_HOME": str(state_home)}, capture_output=True, text=True, check=False,
        input=task.replace("\udcff", "가"), timeout=60,
    )  # fmt: skip
    assert started.returncode == 0, started.stderr
    name = started.stdout.strip()
    try:
        assert "a secret" in dashboard("tail", name, home=state_home).stdout
        with readable(find_session(name)) as store:
            event = store.records(0, 1)[0].event
        assert isinstance(event, HostStarted)
        assert b"secret" not in Path(f"/proc/{event.pid}/cmdline").read_bytes()
    finally:
        assert dashboard("stop", name, home=state_home).returncode == 0


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
