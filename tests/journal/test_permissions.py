"""What a session leaves on the disk is its user's alone, whatever the umask, and nobody else's folder is used."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.cli.launch import start_host
from dashboard.core.errors import HostError
from dashboard.core.messages import Preset
from dashboard.journal.home import HOME_VARIABLE, make_session_folder
from dashboard.journal.reaping import look
from dashboard.journal.session import JournalHostSession, JournalOperatorSession
from tests.capabilities import OTHER_USER, needs
from tests.conftest import FakeClock
from tests.journal.test_session import die, started, written

NOBODY = 65534


@pytest.fixture(params=[0o000, 0o077, 0o277], ids="umask {:03o}".format)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in (folder, *folder.iterdir())}


async def test_every_file_of_a_session_is_its_users_alone_whatever_the_umask(umask: int, clock: FakeClock) -> None:
    host = JournalHostSession(make_session_folder("20260101-000000-aaaa"), clock)
    await host.start("0", "title", ())
    host.emit(started("run_1"))
    await written(host)
    session = JournalOperatorSession(host.folder, "ana", clock)
    await session.send("run_1", session.compose("hello", Preset.STEER))
    assert modes(host.folder) == {
        host.folder.name: 0o700,
        "journal.db": 0o600,
        "journal.db-wal": 0o600,
        "journal.db-shm": 0o600,
        "host.lock": 0o600,
    }
    session.close()
    die(host)
    look(host.folder, clock)
    assert set(modes(host.folder).values()) == {0o700, 0o600}


@pytest.mark.parametrize("umask", [0o000, 0o077], ids="umask {:03o}".format, indirect=True)
def test_the_log_of_a_host_process_is_private_too(umask: int, tmp_path: Path) -> None:
    roster = tmp_path / "no_roster.toml"
    roster.write_text("")
    with contextlib.suppress(HostError):  # it need not come to its work: its log is there before it
        start_host("roster", [str(roster)])
    (log,) = Path(os.environ[HOME_VARIABLE]).glob("sessions/*/host.log")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


AS_ANOTHER_USER = """
import os, sys
from pathlib import Path
from dashboard.core.errors import SessionUnsafeError
from dashboard.journal.home import find_session, make_session_folder
os.setgroups([])
os.setgid({nobody})
os.setuid({nobody})
for use in (lambda: make_session_folder("20260102-000000-bbbb"), lambda: find_session("20260101-000000-aaaa")):
    try:
        use()
    except SessionUnsafeError as error:
        print(error)
"""


def test_a_folder_that_someone_else_owns_is_refused_before_anything_is_made_in_it() -> None:
    """By another user, for real: what this process may do anyway proves nothing."""
    needs(OTHER_USER)
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        folder = home / "sessions" / "20260101-000000-aaaa"
        folder.mkdir(parents=True)
        (folder / "journal.db").touch()
        for part in (home, home / "sessions", folder):
            part.chmod(0o755)  # others may look
        done = subprocess.run(
            [sys.executable, "-c", AS_ANOTHER_USER.format(nobody=NOBODY)],
            env={**os.environ, HOME_VARIABLE: str(home)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        made, found = done.stdout.splitlines()
        assert f"{home} belongs to another user (uid {os.geteuid()})" in made
        assert f"{folder} belongs to another user (uid {os.geteuid()})" in found
        assert [part.name for part in (home / "sessions").iterdir()] == [folder.name]
