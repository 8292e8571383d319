"""The commands as a shell runs them: bad input gets one clear line, and nothing is lost or left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DASHBOARD = [sys.executable, "-m", "dashboard"]


def dashboard(*arguments: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*DASHBOARD, *arguments],
        env={**os.environ, "DASHBOARD_HOME": str(home), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_version_is_told(state_home: Path) -> None:
    done = dashboard("--version", home=state_home)
    assert done.returncode == 0
    assert done.stdout.startswith("dashboard, version ")


@pytest.mark.parametrize("arguments", [("demo",), ("attach",), ("replay", "20260101-000000-aaaa")])
def test_without_a_terminal_the_console_says_so_and_exits_2(state_home: Path, arguments: tuple[str, ...]) -> None:
    done = dashboard(*arguments, home=state_home)
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr
    assert not (state_home / "sessions").exists()


@pytest.mark.parametrize(
    ("place", "said"),
    [("missing", "there is no folder"), ("a file", "is not a folder"), ("\x1b[2Jevil", "<1B>[2Jevil")],
)
def test_a_place_that_cannot_be_investigated_is_named_with_what_to_do(
    state_home: Path, tmp_path: Path, place: str, said: str
) -> None:
    (tmp_path / "a file").touch()
    done = dashboard("demo", "--detach", str(tmp_path / place), home=state_home)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Name " in done.stderr
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stderr
    assert not (state_home / "sessions").exists()


def test_a_folder_that_may_not_be_read_is_said_to_be_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dashboard.cli.launch import check_folder
    from dashboard.core.errors import PlaceError

    def refuse(path: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)  # whoever runs the tests may be root, who may read everything
    with pytest.raises(PlaceError, match="cannot be read: Permission denied"):
        check_folder(tmp_path)


def test_an_unknown_session_says_where_it_was_looked_for(state_home: Path) -> None:
    done = dashboard("stop", "nosuch", home=state_home)
    assert done.returncode == 1
    assert "no session 'nosuch' in" in done.stderr
    assert "`dashboard sessions` lists them" in done.stderr


def test_with_no_session_at_all_every_command_says_how_to_start_one(state_home: Path) -> None:
    assert "`dashboard demo` starts one" in dashboard("stop", home=state_home).stderr
    listed = dashboard("sessions", home=state_home)
    assert listed.returncode == 0
    assert "`dashboard demo` starts one" in listed.stdout


def test_a_host_that_cannot_start_shows_the_end_of_its_log(state_home: Path, tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "apsw.py").write_text("raise ImportError('apsw is not for this machine')")
    done = dashboard("demo", "--detach", home=state_home, PYTHONPATH=str(tmp_path / "broken"))
    assert done.returncode == 1
    assert "apsw is not for this machine" in done.stderr


def test_a_session_lives_on_its_own_is_listed_and_is_stopped(state_home: Path, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "app.log").write_text("2026-01-01T10:00:00Z ERROR the disk is full\n" * 5)
    started = dashboard("demo", "--detach", "--speed", "0.01", str(tmp_path / "logs"), home=state_home)
    assert started.returncode == 0, started.stderr
    session = started.stdout.strip()
    try:
        listed = dashboard("sessions", home=state_home).stdout
        assert session in listed
        assert "running" in listed
        assert "files of logs" in listed
    finally:
        stopped = dashboard("stop", session, home=state_home)
    assert stopped.returncode == 0, stopped.stderr
    assert f"{session} is stopped" in stopped.stdout
    assert "closed" in dashboard("sessions", home=state_home).stdout
    assert "already" in dashboard("stop", session, home=state_home).stdout
    assert (state_home / "sessions" / session / "host.log").read_text() == ""
