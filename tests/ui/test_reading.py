"""Reading a transcript while it streams, and what hostile text looks like in it."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

from dashboard.core.events import (
    NoticeLevel,
    NoticeRaised,
    TextDelta,
    ToolCalled,
    ToolReturned,
)
from dashboard.core.messages import Preset
from tests.ui.conftest import OpenStage, Stage

HOSTILE = "\x1b]52;c;aGk=\x07\u009b\u202e[/dim][@click=app.quit]x[/]"
MARKED = "<1B>]52;c;aGk=<07><9B><202E>[/dim][@click=app.quit]x[/]"


class TestReading:
    async def fill(self, s: Stage, lines: int, begin: int = 0) -> None:
        s.emit(TextDelta(run_id="run_m", round=1, text="".join(f"line {begin + at}\n" for at in range(lines))))
        await s.show()

    async def test_a_transcript_follows_its_end(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            await self.fill(s, 100)
            assert "line 99" in s.text()

    async def test_scrolled_up_it_holds_its_place_and_says_how_much_is_new(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            await self.fill(s, 100)
            await s.press("pageup")
            place = re.findall(r"line \d+", s.text())
            await self.fill(s, 50, begin=100)
            assert re.findall(r"line \d+", s.text()) == place
            assert "↓ 50 new lines below (G)" in s.text()
            await s.press("G")
            await s.show()
            assert "line 149" in s.text()
            assert "new lines below" not in s.text()

    async def test_it_goes_on_following_when_the_panel_changes_its_size(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            await self.fill(s, 100)
            await s.press("m")  # the composer takes a line
            await s.press("escape")
            await s.pilot.resize_terminal(100, 20)
            await s.show()
            assert "line 99" in s.text()
            await self.fill(s, 1, begin=100)
            assert "line 100" in s.text()

    async def test_a_resize_keeps_the_line_in_sight_that_was_at_the_top(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            for at in range(60):
                s.emit(NoticeRaised(level=NoticeLevel.NOTE, text=f"note {at:02} {'word ' * 30}", run_id="run_m"))
            await s.show()
            await s.press("g", "pagedown", "pagedown")
            first = re.findall(r"note (\d\d) ", s.text())[0]
            await s.pilot.resize_terminal(70, 40)
            await s.show()
            assert re.findall(r"note (\d\d) ", s.text())[0] in (first, f"{int(first) + 1:02}")

    async def test_home_and_end_of_a_transcript(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m", task="the very first words")
            await self.fill(s, 200)
            assert "the very first words" not in s.text()
            await s.press("g")
            assert "the very first words" in s.text()

    @pytest.mark.parametrize("width", [120, 60, 41])
    async def test_wide_characters_keep_every_row_as_wide_as_the_screen(
        self, stage: OpenStage, width: int
    ) -> None:
        async with stage() as s:
            s.start("run_m")
            s.say("run_m", "가나다 👩‍👩‍👧 שלום 日本語 " * 40)
            await s.show()
            await s.pilot.resize_terminal(width, 30)
            await s.show()
            assert {cell_len(row) for row in s.screen()} == {width}


class TestHostileText:
    async def test_it_shows_literally_in_task_text_tool_notice_and_message(self, stage: OpenStage) -> None:
        async with stage(size=(200, 60)) as s:
            s.start("run_m", task=f"task {HOSTILE}")
            s.say("run_m", f"text {HOSTILE}")
            s.emit(
                ToolCalled(run_id="run_m", round=1, tool_call_id="c", name=f"t{HOSTILE}", arguments=HOSTILE),
                ToolReturned(run_id="run_m", round=1, tool_call_id="c", text=f"result {HOSTILE}"),
                NoticeRaised(level=NoticeLevel.ERROR, text=f"notice {HOSTILE}", run_id="run_m"),
            )
            session = s.console._session
            await session.send("run_m", session.compose(f"message {HOSTILE}", Preset.STEER))
            await s.show()
            shown = s.text()
            for place in ("task ", "text ", "result ", "notice ", "t"):
                assert f"{place}{MARKED}" in shown
            assert f"operator ana: message {MARKED}" in shown
            assert "\x1b" not in shown
            assert "\u202e" not in shown
            assert f"main: notice {MARKED}" in s.toasts()
            await s.boundary("run_m")
            await s.show()
            assert f"▌ message {MARKED}" in s.text()
            assert s.app.is_running
