"""The wall, the tree and the lines around them, at every size."""

from __future__ import annotations

import pytest

from dashboard.core.events import (
    ToolCalled,
    ToolReturned,
)
from dashboard.core.outcomes import Outcome
from dashboard.ui.commands import COMMANDS, Mode
from dashboard.ui.glyphs import ASCII
from dashboard.ui.screens.help import Help
from tests.ui.conftest import OpenStage


class TestTheWall:
    async def test_every_run_has_a_live_panel_with_its_label_and_a_row_in_the_tree(self, stage: OpenStage) -> None:
        async with stage(size=(160, 46)) as s:
            s.roster()
            s.say("run_1", "I look at api.log")
            await s.show()
            shown = s.text()
            for label in (
                "● main working r1/10",
                "● subagent-researcher#1 working r1/10",
                "● subagent-researcher#2",
            ):
                assert label in shown
            assert "I look at api.log" in shown
            assert "├ ● researcher#1 working r1" in shown
            assert "└ ● researcher#2 working r1" in shown
            assert "host running · 0 pending · 3 live · 0 done" in shown

    async def test_an_empty_session_shows_what_it_waits_for(self, stage: OpenStage) -> None:
        async with stage() as s:
            assert "no run yet" in s.text()

    async def test_text_appears_as_it_streams_and_is_redrawn_only_where_it_changed(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.roster()
            await s.show()
            for piece in ("Hel", "lo ", "world"):
                s.say("run_1", piece)
                await s.show()
            assert "Hello world" in s.text()

    async def test_a_tool_is_shown_from_call_to_result_with_its_time(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            call = ToolCalled(
                run_id="run_m", round=1, tool_call_id="c", name="grep", arguments='{"path":"api.log"}'
            )
            s.emit(call)
            await s.show()
            s.clock.tick(2.1)
            await s.console.take_slow_frame()
            await s.pilot.pause()
            assert "◆ main in tool" in s.text()
            assert "▸ grep path=api.log · running" in s.text()
            assert "grep 2.1s" in s.text()
            s.emit(ToolReturned(run_id="run_m", round=1, tool_call_id="c", text="7 matches", elapsed=2_100_000))
            await s.show()
            assert "▸ grep path=api.log · 1 line · 2.1s" in s.text()
            assert "7 matches" in s.text()

    async def test_a_finished_run_stays_and_says_how_it_ended(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.roster()
            s.say("run_1", "the cause is r42")
            s.clock.tick(41)
            s.finish("run_1")
            s.finish("run_2", Outcome.ERROR)
            s.finish("run_m", Outcome.CANCELLED)
            await s.show()
            assert "the cause is r42" in s.text()
            assert "✓ answered · 1 round · 41.0s" in s.text()
            assert "0 live · 1 failed · 1 done · 1 stopped" in s.text()

    async def test_a_selection_never_moves_by_itself(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.roster()
            await s.show()
            await s.press("l")
            chosen = s.console.wall.chosen
            s.start("run_w", "subagent-writer", 1, "run_m")
            s.finish("run_m")
            await s.show()
            assert s.console.wall.chosen == chosen == "run_1"

    async def test_hjkl_and_arrows_reach_every_panel_also_those_out_of_sight(self, stage: OpenStage) -> None:
        async with stage(size=(80, 24)) as s:
            for number in range(1, 21):
                s.start(f"run_{number}", "subagent-a", number)
            await s.show()
            seen = [s.console.wall.chosen]
            for _ in range(19):
                await s.press("l")
                seen.append(s.console.wall.chosen)
                assert s.console.wall.chosen_panel is not None
                assert s.console.wall.chosen_panel.display
            assert seen == [f"run_{number}" for number in range(1, 21)]
            assert "more not in sight" in s.text()

    async def test_zoom_shows_one_run_alone_and_escape_brings_the_others_back(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.roster()
            await s.show()
            await s.press("l", "z")
            visible = [run_id for run_id in ("run_m", "run_1", "run_2") if s.panel(run_id).display]
            assert visible == ["run_1"]
            await s.press("escape")
            assert all(s.panel(run_id).display for run_id in ("run_m", "run_1", "run_2"))

    async def test_what_streamed_while_a_panel_was_hidden_is_there_when_it_comes_back(
        self, stage: OpenStage
    ) -> None:
        async with stage() as s:
            s.roster()
            await s.show()
            await s.press("z")
            s.say("run_2", "said out of sight")
            await s.show()
            assert "said out of sight" not in s.text()
            await s.press("z")
            await s.show()
            assert "said out of sight" in s.text()


class TestSmallAndPlain:
    @pytest.mark.parametrize("size", [(39, 12), (40, 11), (10, 3), (1, 1)])
    async def test_a_terminal_that_is_too_small_says_what_is_needed_and_goes_on(
        self, stage: OpenStage, size: tuple[int, int]
    ) -> None:
        async with stage() as s:
            s.roster()
            await s.show()
            await s.pilot.resize_terminal(*size)
            await s.show()
            if size[0] > 20:
                assert "too small" in s.text()
                assert "40x12" in s.text()
            await s.pilot.resize_terminal(120, 40)
            s.say("run_1", "still here")
            await s.show()
            assert "still here" in s.text()

    async def test_the_smallest_terminal_shows_a_panel_and_can_send(self, stage: OpenStage) -> None:
        async with stage(size=(40, 12)) as s:
            s.start("run_m")
            s.say("run_m", "hello from main")
            await s.show()
            assert "hello from main" in s.text()
            await s.press("m")
            await s.send("hi")
            assert await s.boundary("run_m") == ["hi"]

    async def test_in_a_narrow_terminal_the_tree_is_a_drawer(self, stage: OpenStage) -> None:
        async with stage(size=(80, 24)) as s:
            s.roster()
            await s.show()
            assert "delegation" not in s.text()
            await s.press("d")
            await s.show()
            assert "└ ● researcher#2" in s.text()
            await s.press("d")
            assert "delegation" not in s.text()

    async def test_the_ascii_set_draws_states_and_rails_in_ascii(self, stage: OpenStage) -> None:
        async with stage(size=(160, 46), glyphs=ASCII) as s:
            s.roster()
            await s.show()
            await s.press("l", "m")
            await s.send("hello")
            await s.boundary("run_1")
            await s.show()
            assert "* subagent-researcher#1 working" in s.text()
            assert "| operator ana - read in round 2" in s.text()
            assert "╭" not in s.text()
            assert "┏" not in s.text()


class TestHelp:
    async def test_it_names_every_command(self, stage: OpenStage) -> None:
        async with stage(size=(120, 60)) as s:
            await s.press("question_mark")
            assert isinstance(s.app.screen, Help)
            shown = s.text()
            live = [command for command in COMMANDS if Mode.REPLAY not in command.modes or len(command.modes) > 1]
            assert [command.id for command in live if command.help not in shown] == []

    async def test_where_it_does_not_fit_it_scrolls(self, stage: OpenStage) -> None:
        async with stage(size=(80, 24)) as s:
            await s.press("question_mark")
            assert "What a panel's head says" not in s.text()
            await s.press("end")
            await s.pilot.pause(0.1)
            assert "What a panel's head says" in s.text()

    async def test_the_footer_names_the_keys_of_the_mode_that_is_on(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            await s.show()
            assert "q detach" in s.screen()[-1]
            await s.press("m")
            assert "Enter send" in s.screen()[-1]
            assert "q detach" not in s.screen()[-1]

    async def test_the_palette_runs_a_command(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.roster()
            await s.show()
            await s.press("colon")
            await s.pilot.pause()
            await s.type("selected run alone")
            await s.pilot.pause(0.4)
            await s.press("enter")
            await s.pilot.pause(0.2)
            assert s.console.wall.zoomed
