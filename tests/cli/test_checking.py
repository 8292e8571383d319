"""``sessions check``: what is sound is said to be, and each fault is told with its place."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw

from dashboard.cli.shared import Exit
from dashboard.journal.home import JOURNAL_NAME, make_session_folder
from tests.cli.conftest import SESSION, Hosted, command, shell

KEPT = Path(__file__).parent.parent / "journal" / "kept" / "format-1.db"


async def test_a_session_that_goes_on_is_checked_as_it_stands(hosted: Hosted) -> None:
    await shell("send", SESSION, "main", "waits")
    await shell("send", SESSION, "researcher#1", "read this")
    await hosted.read("run_r1")
    done = await shell("sessions", "check", SESSION)
    assert done.exit_code == Exit.DONE
    assert done.output.startswith(f"{SESSION}: sound; ")
    assert done.output.endswith(" 3 runs, 2 messages, 1 of them read\n")


async def test_each_fault_is_told_with_its_place_and_the_status_says_so(hosted: Hosted) -> None:
    await shell("send", SESSION, "main", "waits")
    await hosted.close()
    connection = apsw.Connection(str(hosted.folder / JOURNAL_NAME))
    connection.execute("UPDATE message SET state = 'queued'; UPDATE run SET ordinal = 7 WHERE run_id = 'run_r1'")
    connection.close()
    done = await shell("sessions", "check")
    assert done.exit_code == Exit.FAILED
    assert "faults found" in done.output
    assert "    msg_" in done.output
    assert "    run_r1: " in done.output


async def test_one_that_cannot_be_read_hides_no_other(hosted: Hosted) -> None:
    (make_session_folder("20260102-000000-bbbb") / JOURNAL_NAME).write_bytes(b"x" * 5_000)
    done = await shell("sessions", "check")
    assert done.exit_code == Exit.FAILED
    assert f"{SESSION}: sound" in done.output
    assert "20260102-000000-bbbb: " in done.output


def test_a_session_of_an_older_format_is_brought_to_this_one_and_checked() -> None:
    shutil.copy(KEPT, make_session_folder("20260102-000000-bbbb") / JOURNAL_NAME)
    done = command("sessions", "check")
    assert done.output.startswith("20260102-000000-bbbb: ")
    assert done.exit_code == Exit.DONE, done.output


def test_with_no_session_there_is_nothing_wrong() -> None:
    done = command("sessions", "check")
    assert (done.exit_code, done.output) == (Exit.DONE, "there is no session yet\n")
