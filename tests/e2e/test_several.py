"""Several consoles and several sessions at once, and a console that stands still while its session goes on."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from dashboard.journal.home import JOURNAL_NAME
from tests.e2e.sessions import Sessions, named, small_logs

STOPPED_SECONDS = 10.0
WAL_LIMIT = 16 * 1024 * 1024
BUSY = """\
[main]
model = "scripted:rounds"
tools = ["python:naps:nap"]
max_iterations = 100000

[models.rounds]
replies = [{ text = "another round", calls = [{ tool = "nap", arguments = {} }] }]
"""
NAPS = '''
import asyncio

async def nap() -> str:
    """Rest for a moment."""
    await asyncio.sleep(0.02)
    return "rested"
'''


def test_two_operators_have_a_view_each_and_see_who_wrote_what(sessions: Sessions, tmp_path: Path) -> None:
    logs = str(small_logs(tmp_path))
    with sessions.console("demo", logs, "--speed", "0.3", operator="ana") as ana:
        ana.until("● main working")
        with sessions.console("attach", operator="bob", size=(120, 40)) as bob:
            bob.until("main working")
            bob.send("z")  # his view, not hers
            bob.send("mlook at db.log first\r")
            ana.until(lambda text: "operator bob" in text and "look at db.log first" in text)
            assert "delegation" in ana.text
            ana.send("mand be brief\r")
            bob.until(lambda text: "operator ana" in text and "and be brief" in text)
            bob.send("q")
            assert bob.ended() == 0
        ana.until(lambda text: "▌ operator bob · read in round" in text, patience=60)
        ana.send("q")
        assert ana.ended() == 0
    senders = {message.body: message.sender.name for message in sessions.projection().messages.values()}
    assert senders == {"look at db.log first": "bob", "and be brief": "ana"}


def test_with_several_live_sessions_attach_asks_which(sessions: Sessions, tmp_path: Path) -> None:
    logs = str(small_logs(tmp_path))
    sessions.run("demo", "--detach", "--speed", "0.1", logs)
    staging = sessions.run("demo", "--detach", "--speed", "0.1").strip()
    with sessions.console("attach") as terminal:
        terminal.until(lambda text: "2 live sessions" in text and "files of logs" in text)
        terminal.send("\x1b[B\r")  # the older one stands below
        terminal.until(lambda text: "host running" in text and "files of logs" in text)
        terminal.send("q")
        assert terminal.ended() == 0
    with sessions.console("attach", staging) as terminal:
        terminal.until("staging incident")
        terminal.send("q")
        assert terminal.ended() == 0
    with sessions.console("attach") as terminal:
        terminal.until("2 live sessions")
        terminal.send("q")
        assert terminal.ended() == 0
        assert "detached" not in terminal.text


def test_a_console_that_was_stopped_catches_up_and_has_slowed_nobody(sessions: Sessions, tmp_path: Path) -> None:
    (tmp_path / "naps.py").write_text(NAPS)
    (tmp_path / "busy.toml").write_text(BUSY)

    def rounds() -> int:
        return named(sessions.projection(), "main").round

    with sessions.console("run", str(tmp_path / "busy.toml"), "go", "--speed", "0") as terminal:
        terminal.until("another round")
        began, before = time.monotonic(), rounds()
        terminal.rest(2.0)
        pace = (rounds() - before) / (time.monotonic() - began)
        os.killpg(terminal.process.pid, signal.SIGSTOP)
        began, before = time.monotonic(), rounds()
        while time.monotonic() - began < STOPPED_SECONDS:
            time.sleep(0.5)
        meanwhile = (rounds() - before) / (time.monotonic() - began)
        assert meanwhile > pace / 2  # a machine that others use too is allowed to be slow, not to stand still
        assert (sessions.folder / f"{JOURNAL_NAME}-wal").stat().st_size < WAL_LIMIT
        last = rounds()
        os.killpg(terminal.process.pid, signal.SIGCONT)
        terminal.until(lambda text: any(f"r{number}/" in text for number in range(last, last + 2_000)))
        terminal.send("q")
        assert terminal.ended() == 0
