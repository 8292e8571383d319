"""The operator's story in a real terminal, against real processes: the screen, the journal and the report."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from dashboard.core.transcript import MessageEntry, ToolEntry
from dashboard.ui.terminal import RAW_PAUSE
from tests.e2e.sequences import foreign
from tests.e2e.sessions import Sessions, named, small_logs

HOSTILE = "\x1b]52;c;aGk=\x07\u009b2J\u202e[/dim][@click=app.quit]x[/]"
MARKED = "<1B>]52;c;aGk=<07><9B>2J<202E>[/dim][@click=app.quit]x[/]"


def test_an_operator_redirects_one_researcher_detaches_and_comes_back_to_the_report(sessions: Sessions) -> None:
    with sessions.console("demo", "--speed", "3") as terminal:  # it still has rounds to go once this is typed
        terminal.until("subagent-researcher#2")
        terminal.send("@")
        terminal.until("write to")
        terminal.send("res")
        terminal.until(lambda text: text.count("subagent-researcher#") >= 2)
        terminal.send("\x1b[B")
        terminal.send("\r")
        terminal.until("write to subagent-researcher#2 · steer: read this before your next model request")
        terminal.send("check worker.log instead")
        terminal.until("check worker.log instead")
        sessions.next_round(terminal, "subagent-researcher#2")  # so that it is seen to wait for the one after
        terminal.send("\r")
        terminal.until("◌ pending")
        # a screen is read piece by piece: what belongs together is waited for together
        terminal.until(lambda text: "✓ read in round" in text and "subagent-researcher#2, after" in text)
        terminal.until("▌ operator ana · read in round")
        terminal.until("The operator asks for worker.log")
        terminal.send("q")
        assert terminal.ended() == 0
        assert "detached" in terminal.text
        assert foreign(bytes(terminal.raw)) == []
    with sessions.console("attach") as terminal:
        terminal.until("subagent-writer#1", patience=90)  # it went on meanwhile
        terminal.until(lambda text: "○ main idle" in text and "4 done" in text, patience=90)
        terminal.send("q")
        assert terminal.ended() == 0
        assert "incident-report.md" in terminal.text

    projection = sessions.projection()
    (message,) = projection.messages.values()
    two = named(projection, "subagent-researcher#2")
    assert (message.to, message.state, message.sender.name) == (two.name, "delivered", "ana")
    at = next(index for index, entry in enumerate(two.entries) if isinstance(entry, MessageEntry))
    after = [entry for entry in two.entries[at:] if isinstance(entry, ToolEntry)]
    assert json.loads(after[0].arguments)["path"] == "worker.log"
    assert after[0].round == message.round
    for run in projection.runs.values():
        assert sum(isinstance(entry, MessageEntry) for entry in run.entries) == (1 if run is two else 0)
    report = (sessions.folder / "reports" / "incident-report.md").read_text(encoding="utf-8")
    assert "deploy.log:5" in report
    assert "worker.log:2011" in report
    assert "Operator leads" in report


def test_an_idle_main_answers_a_follow_up_stop_all_ends_the_session_and_a_replay_shows_it_again(
    sessions: Sessions, tmp_path: Path
) -> None:
    logs = small_logs(tmp_path)
    with sessions.console("demo", str(logs), "--speed", "50") as terminal:
        terminal.until("○ main idle", patience=60)
        terminal.send("g")
        terminal.send("h" * 6)
        terminal.send("m\tlook for refused\r")
        terminal.until("✓ read in round")
        terminal.until("○ main idle")
        terminal.send("Q")
        terminal.until("and end the session?")
        terminal.rest(0.6)  # it is deaf for its first moments
        terminal.send("\t\r")
        terminal.until("host closed")
        terminal.send("q")
        assert terminal.ended() == 0
    with sessions.console("replay", sessions.folder.name) as terminal:
        terminal.until("read-only: nothing is sent")
        terminal.send("n")
        terminal.until(lambda text: "paused" in text and "operator ana wrote to main" in text)
        terminal.send("n")
        terminal.until("main read operator ana's message in round")
        terminal.send("q")
        assert terminal.ended() == 0
    projection = sessions.projection()
    root = named(projection, "main")
    searched = [entry for entry in root.entries if isinstance(entry, ToolEntry) and "refused" in entry.arguments]
    assert searched
    assert root.turn == 2
    assert projection.closed == "stopped by ana"


def test_kill_9_of_the_console_in_mid_stream_loses_nothing(sessions: Sessions) -> None:
    with sessions.console("demo", "--speed", "2") as terminal:
        terminal.until("subagent-researcher#2")
        terminal.send("@res2\rkeep an eye on db.log\r")
        terminal.until(lambda text: "◌ pending" in text or "✓ read in round" in text)
        terminal.process.kill()
        terminal.process.wait()
    seq = sessions.projection().seq
    with sessions.console("attach") as terminal:
        terminal.until("✓ read in round")
        terminal.send("@res2\r\x07zg")  # its panel alone, from the start: what came later has not hidden it there
        terminal.until("▌ operator ana")
        terminal.until("keep an eye on db.log")
        terminal.send("q")
        assert terminal.ended() == 0
    projection = sessions.projection()
    assert projection.seq > seq
    (message,) = projection.messages.values()
    assert message.state == "delivered"


def test_kill_9_of_the_host_leaves_lost_runs_and_returned_mail(sessions: Sessions) -> None:
    with sessions.console("demo", "--speed", "0.2") as terminal:  # slow: the message is still unread
        terminal.until("● main working")
        terminal.send("mare you there?\r")
        terminal.until("◌ pending")
        os.kill(sessions.host_pid(), signal.SIGKILL)
        terminal.until(lambda text: "host lost" in text and "? main lost" in text, patience=5)
        terminal.until("↩ returned · main: the host process died")
        terminal.until("are you there?")
        terminal.send("q")
        assert terminal.ended() == 0
    assert "lost" in sessions.run("sessions")


def test_hostile_text_reaches_the_terminal_as_marks_and_never_as_a_sequence(
    sessions: Sessions, tmp_path: Path
) -> None:
    logs = tmp_path / f"logs {HOSTILE}".replace("/", "_")
    logs.mkdir()
    (logs / f"{HOSTILE}.log".replace("/", "_")).write_text(f"2026-01-01T10:00:00Z ERROR {HOSTILE} failed\n" * 40)
    (logs / "app.log").write_text(f"2026-01-01T10:00:01Z ERROR the queue refused {HOSTILE}\n" * 40)
    with sessions.console("demo", str(logs), "--speed", "4") as terminal:
        terminal.until("researcher#1")
        terminal.send("@res\r")
        terminal.until("write to subagent-researcher")
        terminal.send(b"\x1b[200~" + f"look for {HOSTILE}\nand more".encode() + b"\x1b[201~")
        terminal.until("control characters made visible")
        terminal.until("<1B>]52;c;aGk=<07><9B>2J<202E>")
        terminal.send("\r")
        terminal.until("✓ read in round")
        terminal.until("○ main idle", patience=60)
        terminal.send("zg")  # from the start: the task with the file's name, its lines in a result, the message
        read = ""
        for _ in range(6):
            terminal.rest(0.3)
            read += terminal.text
            terminal.send("\x1b[6~")
        assert f"▌ look for {MARKED}" in read
        assert any(f"{said} {MARKED}" in read for said in ("ERROR", "queue refused"))
        for _ in range(5):
            terminal.send("l")
            terminal.rest(0.2)
        terminal.send("q")
        assert terminal.ended() == 0
        assert foreign(bytes(terminal.raw)) == []
    listed = sessions.run("sessions")
    assert "\x1b" not in listed
    assert "<1B>" in listed
    (message,) = sessions.projection().messages.values()
    assert message.body.endswith("\nand more")  # one message, with its line break


def test_a_raw_paste_of_several_lines_stays_a_draft(sessions: Sessions, tmp_path: Path) -> None:
    with sessions.console("demo", str(small_logs(tmp_path)), "--speed", "0.2") as terminal:
        terminal.until("● main working")
        terminal.send("m")
        terminal.until("write to main")
        terminal.send("first \x07line\rsecond line\rthird line\r")
        terminal.until("pasted 4 lines, Enter sends")
        terminal.rest(3 * RAW_PAUSE)  # nobody is as fast as this test: what follows at once belongs to the paste
        terminal.send("\r")
        terminal.until("◌ pending")
        terminal.send("q")
        terminal.ended()
    (message,) = sessions.projection().messages.values()
    assert message.body == "first <07>line\nsecond line\nthird line\n"


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_a_console_that_is_asked_to_end_leaves_the_terminal_in_order(
    sessions: Sessions, tmp_path: Path, sent: signal.Signals
) -> None:
    with sessions.console("demo", str(small_logs(tmp_path)), "--speed", "1") as terminal:
        terminal.until("● main working")
        terminal.process.send_signal(sent)
        assert terminal.ended() == 0
        assert "detached" in terminal.text
        assert terminal.raw.rindex(b"\x1b[?1049l") > terminal.raw.rindex(b"\x1b[?1049h")


def test_a_console_follows_the_size_of_its_terminal(sessions: Sessions, tmp_path: Path) -> None:
    with sessions.console("demo", str(small_logs(tmp_path)), "--speed", "1") as terminal:
        terminal.until("● main working")
        terminal.resize(38, 10)
        terminal.until("too small")
        terminal.resize(80, 24)
        terminal.until("m message")
        terminal.resize(200, 60)
        terminal.until("delegation")
        terminal.send("q")
        assert terminal.ended() == 0
