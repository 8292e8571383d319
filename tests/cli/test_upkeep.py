"""``sessions``, ``doctor`` and ``completion``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from dashboard.cli.diagnosis import Finding, Level, diagnose, finding_lines
from dashboard.cli.shared import Exit
from dashboard.core.errors import HostError
from dashboard.journal.home import JOURNAL_NAME, make_session_folder
from dashboard.journal.proving import prove
from tests.cli.conftest import SESSION, Hosted, command, shell


class _Unlocked(nullcontext[None]):
    """A lock that locks nothing."""

    def release(self) -> None: ...


def found(what: str) -> list[Finding]:
    return [finding for finding in diagnose() if finding.what == what]


class TestSessions:
    async def test_it_lists_how_each_stands(self, hosted: Hosted) -> None:
        await shell("send", SESSION, "main", "waits")
        head, row = (await shell("sessions")).output.splitlines()
        assert head.split() == ["SESSION", "STATE", "AGE", "LAST", "RUNS", "OPEN", "PENDING", "SIZE", "TITLE"]
        assert row.split()[:2] == [SESSION, "running"]
        assert row.split()[4:7] == ["3", "3", "1"]
        assert row.endswith("a title")

    async def test_as_json_it_is_an_object_a_session(self, hosted: Hosted) -> None:
        told = json.loads((await shell("sessions", "--json")).output)
        assert (told["session"], told["state"], told["runs"], told["problem"]) == (SESSION, "running", 3, None)

    async def test_one_that_cannot_be_read_hides_no_other(self, hosted: Hosted) -> None:
        (make_session_folder("20260102-000000-bbbb") / JOURNAL_NAME).write_bytes(b"x" * 5_000)
        rows = (await shell("sessions")).output.splitlines()[1:]
        assert "cannot be read as a journal" in rows[0]
        assert rows[1].split()[:2] == [SESSION, "running"]


class TestDoctor:
    def test_a_place_that_works_is_said_to_work_and_left_as_it_is(self, state_home: Path) -> None:
        done = command("doctor")
        assert done.exit_code == Exit.DONE
        assert "a host's lock holds, and a journal is shared between processes" in done.output
        assert list(state_home.iterdir()) == []

    def test_a_folder_that_others_may_write_to_fails_with_the_way_out(self, state_home: Path) -> None:
        state_home.chmod(0o777)
        done = command("doctor")
        assert done.exit_code == Exit.FAILED
        assert f"chmod 700 {state_home}" in done.output

    def test_a_folder_that_is_not_there_yet_is_no_trouble(
        self, state_home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DASHBOARD_HOME", str(state_home / "new"))
        assert [finding.level for finding in found("state")] == [Level.OK]
        assert not (state_home / "new").exists()

    def test_a_file_system_without_locks_fails(self, state_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("dashboard.journal.proving.hold", lambda folder: _Unlocked())
        with pytest.raises(HostError, match="does not lock files"):
            prove(state_home)

    def test_little_space_fails(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            "dashboard.cli.diagnosis.shutil.disk_usage", lambda folder: SimpleNamespace(free=1_000_000)
        )
        (space,) = found("space")
        assert (space.level, space.how) == (Level.FAIL, "977K free")

    def test_a_session_that_cannot_be_read_is_named(self) -> None:
        (make_session_folder("20260102-000000-bbbb") / JOURNAL_NAME).write_bytes(b"x" * 5_000)
        (session,) = found("session")
        assert session.level is Level.FAIL
        assert session.how.startswith("20260102-000000-bbbb: ")

    def test_a_locale_without_box_drawing_is_noted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            "dashboard.cli.diagnosis.locale.getpreferredencoding", lambda setlocale: "ANSI_X3.4-1968"
        )
        assert [finding.level for finding in found("locale")] == [Level.NOTE]

    @pytest.mark.parametrize(
        ("term", "size", "level"),
        [("xterm-256color", (80, 24), Level.OK), ("dumb", (80, 24), Level.FAIL), ("xterm", (39, 24), Level.FAIL)],
    )
    def test_a_terminal_is_judged_by_what_the_console_needs(
        self, monkeypatch: pytest.MonkeyPatch, term: str, size: tuple[int, int], level: Level
    ) -> None:
        monkeypatch.setenv("TERM", term)
        monkeypatch.setattr("dashboard.cli.diagnosis.sys.stdin", SimpleNamespace(isatty=lambda: True))
        monkeypatch.setattr("dashboard.cli.diagnosis.sys.stdout", SimpleNamespace(isatty=lambda: True))
        for name, of in zip(("COLUMNS", "LINES"), size, strict=True):
            monkeypatch.setenv(name, str(of))
        assert [finding.level for finding in found("terminal")] == [level]

    @pytest.mark.parametrize(
        ("wait", "level", "said"),
        [
            ("500", Level.NOTE, "escape-time is 500 ms"),
            ("20", Level.OK, "20 ms"),
            ("", Level.NOTE, "does not say"),
        ],
    )
    def test_a_slow_escape_in_tmux_is_noted_with_the_setting(
        self, monkeypatch: pytest.MonkeyPatch, wait: str, level: Level, said: str
    ) -> None:
        def tmux(command: list[str], **_: object) -> SimpleNamespace:
            return SimpleNamespace(stdout=wait if command[-1] == "escape-time" else "external")

        monkeypatch.setenv("TMUX", "/tmp/tmux-0/default,1,0")
        monkeypatch.setattr("dashboard.cli.diagnosis.subprocess.run", tmux)
        (finding,) = found("tmux")
        assert finding.level is level
        assert said in finding.how

    def test_what_it_found_cannot_steer_the_terminal(self) -> None:
        lines = list(finding_lines([Finding(Level.FAIL, "state", "\x1b[2J", "rm\x07")]))
        assert lines == ["FAIL  state        <1B>[2J", " " * 19 + "rm<07>"]


class TestCompletion:
    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_each_shell_gets_a_script_for_both_names(self, shell: str) -> None:
        output = command("completion", shell).output
        assert "_DASHBOARD_COMPLETE" in output
        assert "_SUBAGENT_DASHBOARD_COMPLETE" in output

    @staticmethod
    def completed(words: str, home: Path) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", "from dashboard.cli.commands import main; main(prog_name='dashboard')"],
            env={
                **os.environ, "DASHBOARD_HOME": str(home), "_DASHBOARD_COMPLETE": "bash_complete",
                "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1),
            },
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        return [line.partition(",")[2] for line in done.stdout.splitlines() if line]

    async def test_sessions_and_runs_are_offered(self, hosted: Hosted, state_home: Path) -> None:
        assert self.completed("dashboard attach 2026", state_home) == [SESSION]
        assert self.completed(f"dashboard send {SESSION} subagent-r", state_home) == [
            "subagent-researcher#1",
            "subagent-researcher#2",
        ]
        assert "subagent-researcher#1" in self.completed(
            f"dashboard control {SESSION} pause subagent-", state_home
        )

    def test_a_session_that_is_not_there_offers_nothing_and_breaks_nothing(self, state_home: Path) -> None:
        assert self.completed("dashboard send nosuch s", state_home) == []
