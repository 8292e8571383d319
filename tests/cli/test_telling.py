"""``tail`` and ``export``: all of a session, or what goes on in it, for pipes and for people."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path

from dashboard.core.events import HistoryAppended
from dashboard.core.history import Assistant
from tests.cli.conftest import SESSION, Hosted, shell


def says(run_id: str, text: str, index: int = 1) -> HistoryAppended:
    return HistoryAppended(run_id=run_id, index=index, entry=Assistant(text))


class TestTail:
    async def test_it_tells_what_has_happened_and_ends(self, hosted: Hosted) -> None:
        hosted.emit(says("run_main", "hello"))
        await hosted.written()
        lines = (await shell("tail", SESSION)).output.splitlines()
        assert lines[1].endswith("about a title")
        assert lines[-1].endswith(" main: says: hello")

    async def test_it_can_be_narrowed_to_a_run_or_a_label(self, hosted: Hosted) -> None:
        hosted.emit(says("run_main", "of main"), says("run_r1", "of one"), says("run_r2", "of two"))
        await hosted.written()
        assert "of main" not in (await shell("tail", SESSION, "--agent", "researcher")).output
        one = (await shell("tail", SESSION, "--agent", "researcher#2")).output
        assert "of two" in one
        assert "of one" not in one

    async def test_a_name_that_nobody_has_is_refused_and_a_label_that_may_come_is_not(
        self, hosted: Hosted
    ) -> None:
        assert "called 'nobody'" in (await shell("tail", SESSION, "--agent", "nobody")).stderr
        assert (await shell("tail", SESSION, "--agent", "writer")).exit_code == 0

    async def test_only_the_last_lines_can_be_asked_for(self, hosted: Hosted) -> None:
        hosted.emit(says("run_main", "one\ntwo\nthree"))
        await hosted.written()
        lines = (await shell("tail", SESSION, "-n", "2")).output.splitlines()
        assert [line.split("| ")[1] for line in lines] == ["two", "three"]

    async def test_as_json_it_gives_every_event_as_it_is_stored(self, hosted: Hosted) -> None:
        lines = (await shell("tail", SESSION, "--json")).output.splitlines()
        told = [json.loads(line) for line in lines]
        assert [one["seq"] for one in told] == [1, 2, 3, 4]
        assert told[1]["event"]["type"] == "RunStarted"

    async def test_following_it_tells_all_that_comes_until_the_session_is_over(self, hosted: Hosted) -> None:
        following = asyncio.ensure_future(shell("tail", SESSION, "--follow", "--agent", "writer"))
        while not hosted.session.console_seen_at():
            await hosted.goes_on(following)  # whoever follows is there for the host too
        hosted.start("run_w", "subagent-writer")
        hosted.emit(says("run_w", "written"), says("run_main", "not asked for"))
        await hosted.close("done")
        output = (await following).output
        assert "subagent-writer#1: says: written" in output
        assert "not asked for" not in output

    async def test_following_with_few_lines_shows_those_at_once_and_then_all_that_comes(
        self, hosted: Hosted
    ) -> None:
        hosted.emit(says("run_main", "one\ntwo\nthree"))
        await hosted.written()
        following = asyncio.ensure_future(shell("tail", SESSION, "--follow", "-n", "1"))
        while not hosted.session.console_seen_at():
            await hosted.goes_on(following)
        await hosted.close("done")
        lines = (await following).output.splitlines()
        assert lines[0].endswith("| three")
        assert lines[-1].endswith("session: closed: done")


class TestExport:
    async def test_a_document_has_everything_and_goes_to_a_file_of_its_own(
        self, hosted: Hosted, tmp_path: Path
    ) -> None:
        hosted.emit(says("run_r1", "the finding"))
        await hosted.written()
        file = tmp_path / "out.md"
        assert (await shell("export", SESSION, "-o", str(file))).output == f"{file}\n"
        assert "the finding" in file.read_text()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600

    async def test_a_file_that_is_there_is_never_overwritten(self, hosted: Hosted, tmp_path: Path) -> None:
        file = tmp_path / "out.md"
        file.write_text("mine")
        done = await shell("export", SESSION, "-o", str(file))
        assert "Name a file that is not there yet" in done.stderr
        assert done.exit_code == 1
        assert file.read_text() == "mine"

    async def test_as_json_lines_it_is_every_event(self, hosted: Hosted) -> None:
        lines = (await shell("export", SESSION, "--format", "jsonl")).output.splitlines()
        assert [json.loads(line)["seq"] for line in lines] == [1, 2, 3, 4]

    async def test_one_run_alone_can_be_exported(self, hosted: Hosted) -> None:
        hosted.emit(says("run_r1", "of one"), says("run_r2", "of two"))
        await hosted.written()
        output = (await shell("export", SESSION, "--agent", "researcher#1")).output
        assert "of one" in output
        assert "of two" not in output
