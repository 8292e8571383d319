"""The console, by keyboard, over a real journal."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len
from textual import events

from dashboard.core.events import (
    NoticeLevel,
    NoticeRaised,
    TextDelta,
    ToolCalled,
    ToolReturned,
    TurnFinished,
)
from dashboard.core.mail import Boundary, BoundaryKind
from dashboard.core.messages import Preset
from dashboard.core.outcomes import Outcome
from dashboard.core.sessions import HostState
from dashboard.ui.commands import COMMANDS, Mode
from dashboard.ui.glyphs import ASCII
from dashboard.ui.screens.confirm import Confirm
from dashboard.ui.screens.help import Help
from dashboard.ui.screens.picker import Picker
from tests.ui.conftest import OpenStage, Stage

HOSTILE = "\x1b]52;c;aGk=\x07\u009b\u202e[/dim][@click=app.quit]x[/]"
MARKED = "<1B>]52;c;aGk=<07><9B><202E>[/dim][@click=app.quit]x[/]"


def toasts(stage: Stage) -> str:
    return "\n".join(notification.message for notification in stage.app._notifications)


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
            assert "3 live · 0 done · 0 pending" in shown

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
            assert "0 live · 1 done · 1 stopped · 1 failed" in s.text()

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


class TestWriting:
    async def test_the_story_of_one_message(self, stage: OpenStage) -> None:
        async with stage(size=(160, 46)) as s:
            s.roster()
            await s.show()
            await s.press("at")
            assert isinstance(s.app.screen, Picker)
            await s.type("res")
            await s.press("down", "enter")
            assert "write to subagent-researcher#2 · steer: read this before your next model request" in s.text()
            await s.send("check worker.log instead")
            assert "◌ pending · subagent-researcher#2 reads it at its next round" in s.text()
            assert "◌ pending steer · operator ana: check worker.log instead" in s.text()
            assert "1 pending" in s.text()
            assert "unsent" not in s.text()
            assert await s.boundary("run_1") == []
            assert await s.boundary("run_2", round_number=4) == ["check worker.log instead"]
            await s.show()
            assert "✓ read in round 4 · subagent-researcher#2" in s.text()
            assert "▌ operator ana · read in round 4" in s.text()
            assert "pending steer" not in s.text()

    async def test_one_enter_is_one_message(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            await s.show()
            await s.press("m")
            await s.send("hi")
            assert await s.boundary("run_m") == ["hi"]
            assert s.console.mode is Mode.WATCH

    async def test_drafts_are_per_run_and_survive_leaving(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.roster()
            await s.show()
            await s.press("m")
            await s.type("for main")
            await s.press("escape")
            assert "1 unsent draft kept" in s.text()
            await s.press("l", "m")
            assert s.console.composer.area.text == ""
            await s.press("ctrl+g", "h", "m")
            assert s.console.composer.area.text == "for main"

    async def test_the_target_can_change_and_the_draft_comes_along(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.roster()
            await s.show()
            await s.press("m")
            await s.type("hello")
            await s.press("ctrl+t")
            await s.type("res2")
            await s.press("enter")
            await s.send("!")
            assert await s.boundary("run_m") == []
            assert await s.boundary("run_2") == ["hello!"]

    async def test_a_bare_label_with_two_live_runs_is_refused_both_are_named_and_the_draft_is_kept(
        self, stage: OpenStage
    ) -> None:
        async with stage() as s:
            s.roster()
            await s.show()
            await s.press("at")
            await s.type("subagent-researcher")
            await s.press("enter")
            await s.send("which of you?")
            assert "subagent-researcher#1, subagent-researcher#2" in toasts(s)
            assert "draft is kept" in toasts(s)
            assert s.console.mode is Mode.WRITE
            assert s.console.composer.area.text == "which of you?"
            await s.press("ctrl+t")
            await s.type("res2")
            await s.press("enter", "enter")
            await s.pilot.pause(0.06)
            assert await s.boundary("run_2") == ["which of you?"]

    async def test_a_label_that_has_not_started_waits_for_its_first_run(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.roster()
            await s.show()
            await s.press("at")
            await s.type("writer")
            await s.press("enter")
            await s.send("keep it short")
            assert "for the next subagent-writer that starts" in s.text()
            s.start("run_w", "subagent-writer", 1, "run_m")
            await s.show()
            assert "subagent-writer#1 reads it at its next round" in s.text()
            assert await s.boundary("run_w") == ["keep it short"]

    async def test_a_run_that_ends_unread_gives_the_message_back_with_its_reason_and_text(
        self, stage: OpenStage
    ) -> None:
        async with stage() as s:
            s.roster()
            await s.show()
            await s.press("l", "m")
            await s.send("too late?")
            s.finish("run_1")
            await s.show()
            assert "↩ returned · subagent-researcher#1: the run ended before it read it" in s.text()
            assert "too late?" in s.text()

    async def test_a_run_that_has_ended_cannot_be_written_to_and_says_what_to_do(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.roster()
            s.finish("run_m")
            await s.show()
            await s.press("m")
            assert isinstance(s.app.screen, Picker)
            assert "main is done and reads nothing more; write to" in s.text()
            await s.type("res2")  # what is typed next acts on nothing
            await s.press("enter")
            assert s.console.composer.target is not None
            assert s.console.composer.target.name == "subagent-researcher#2"

    async def test_a_run_that_ends_while_a_draft_is_written_keeps_the_draft(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.roster()
            await s.show()
            await s.press("l", "m")
            await s.type("hello")
            s.finish("run_1")
            await s.show()
            await s.send("?")
            assert "subagent-researcher#1 has ended" in toasts(s)
            assert s.console.composer.area.text == "hello?"

    async def test_tab_changes_how_it_is_read_and_says_what_that_means(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            await s.show()
            await s.press("m", "tab")
            assert f"follow-up: {Preset.FOLLOWUP.means}" in s.text()
            await s.press("tab")
            assert f"inject: {Preset.INJECT.means}" in s.text()
            await s.press("shift+tab")
            assert f"follow-up: {Preset.FOLLOWUP.means}" in s.text()
            assert s.console.composer.area.has_focus
            await s.press("tab")
            await s.send("by the way")
            assert "main reads it if it makes another request" in s.text()
            final = Boundary(BoundaryKind.FINAL, turn=1, round=2, history_index=1)
            assert await s.host.inbox.open_run("run_m").take(final) == ()  # an inject alone extends nothing

    async def test_nothing_but_white_space_is_not_sent(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            await s.show()
            await s.press("m")
            await s.send("  ")
            assert "nothing to send" in toasts(s)
            assert await s.boundary("run_m") == []

    async def test_a_new_line_is_part_of_the_draft(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            await s.show()
            await s.press("m")
            await s.type("one")
            await s.press("ctrl+j")
            await s.send("two")
            assert await s.boundary("run_m") == ["one\ntwo"]

    async def test_a_bracketed_paste_stays_a_draft(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            await s.show()
            await s.press("m")
            s.app.post_message(events.Paste("a\r\nb\r\nc"))
            await s.pilot.pause(0.06)
            assert s.console.composer.area.text == "a\nb\nc"
            assert "pasted 3 lines, Enter sends" in s.text()
            assert await s.boundary("run_m") == []

    async def test_a_raw_paste_stays_a_draft(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            await s.show()
            await s.press("m")
            await s.type("a\nb\nc")  # as a terminal sends a paste that it does not bracket
            await s.pilot.pause(0.06)
            assert s.console.composer.area.text == "a\nb\nc"
            assert await s.boundary("run_m") == []

    async def test_hi_and_enter_in_one_burst_still_sends(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            await s.show()
            await s.press("m")
            await s.type("hi\n")
            await s.pilot.pause(0.08)
            assert await s.boundary("run_m") == ["hi"]

    async def test_the_whole_story_typed_in_one_burst_is_acted_on_in_order(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.roster()
            await s.show()
            await s.type("@res2\nqQzd: instead\n")
            await s.pilot.pause(0.1)
            assert await s.boundary("run_2") == ["qQzd: instead"]
            assert s.app.is_running
            assert s.console.mode is Mode.WATCH

    async def test_text_and_editing_keys_of_one_burst_keep_their_order(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            await s.show()
            for key in ("m", *"writer", *["backspace"] * 6, *"zzqq", "left", "left", *"ab"):
                s.app.post_message(events.Key(key, key if len(key) == 1 else None))
            await s.pilot.pause()
            assert s.console.composer.area.text == "zzabqq"

    async def test_escape_right_behind_enter_does_not_take_the_message_back(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            await s.show()
            await s.press("m")
            for key in ("h", "i", "enter", "escape"):
                s.app.post_message(events.Key(key, key if len(key) == 1 else None))
            await s.pilot.pause(0.06)
            assert await s.boundary("run_m") == ["hi"]

    async def test_control_characters_of_a_paste_become_marks_in_the_draft(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            await s.show()
            await s.press("m")
            s.app.post_message(events.Paste("a\x1b[2Jb"))
            await s.pilot.pause()
            assert s.console.composer.area.text == "a<1B>[2Jb"
            assert "1 control character made visible" in s.text()

    async def test_keys_that_act_while_watching_are_text_while_writing(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            await s.show()
            await s.press("m")
            await s.send("q@Qz:?")
            assert await s.boundary("run_m") == ["q@Qz:?"]

    async def test_ctrl_c_clears_a_draft_and_undo_brings_it_back(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            await s.show()
            await s.press("m")
            await s.type("precious")
            await s.press("ctrl+c")
            assert s.console.composer.area.text == ""
            assert s.app.is_running
            await s.press("ctrl+z")
            assert s.console.composer.area.text == "precious"

    async def test_an_idle_root_is_there_to_be_written_to(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            s.emit(TurnFinished(run_id="run_m", turn=1, answer="done"))
            await s.show()
            assert "○ main idle" in s.text()
            await s.press("m")
            assert s.console.mode is Mode.WRITE


class TestThePicker:
    async def test_it_offers_live_runs_only_and_says_what_each_does(self, stage: OpenStage) -> None:
        async with stage(size=(160, 46)) as s:
            s.roster()
            s.finish("run_1")
            await s.show()
            await s.press("at")
            picker = s.app.screen
            assert isinstance(picker, Picker)
            assert [choice.target.name for choice in picker._shown] == [
                "main",
                "subagent-researcher#2",
                "subagent-writer",
            ]

    @pytest.mark.parametrize(
        ("query", "first"),
        [("res", "subagent-researcher#1"), ("res2", "subagent-researcher#2"), ("#2", "subagent-researcher#2"),
         ("main", "main"), ("@res2", "subagent-researcher#2"), ("subagent-researcher", "subagent-researcher")],
    )  # fmt: skip
    async def test_a_few_letters_find_a_run(self, stage: OpenStage, query: str, first: str) -> None:
        async with stage() as s:
            s.roster()
            await s.show()
            await s.press("at")
            await s.type(query)
            picker = s.app.screen
            assert isinstance(picker, Picker)
            assert picker._shown[0].target.name == first

    async def test_with_no_match_enter_picks_nothing_and_escape_leaves(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.roster()
            await s.show()
            await s.press("at")
            await s.type("zzz")
            assert "no run fits" in s.text()
            await s.press("enter")
            assert isinstance(s.app.screen, Picker)
            await s.press("escape")
            assert s.console.mode is Mode.WATCH


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
            assert f"main: notice {MARKED}" in toasts(s)
            await s.boundary("run_m")
            await s.show()
            assert f"▌ message {MARKED}" in s.text()
            assert s.app.is_running


class TestTheHost:
    async def test_a_host_that_does_not_answer_is_said_to_not_respond(self, stage: OpenStage) -> None:
        async with stage(size=(160, 40)) as s:
            s.roster()
            await s.show()
            s.clock.tick(6)
            s.console.probe()
            await s.show()
            assert "host not responding for 6.0s" in s.text()

    async def test_a_host_that_died_leaves_lost_runs_and_returned_mail(self, stage: OpenStage) -> None:
        async with stage(size=(160, 46)) as s:
            s.roster()
            await s.show()
            await s.press("l", "m")
            await s.send("are you there?")
            s.host._lock.release()
            s.console.probe()
            await s.show()
            assert s.console._host.state is HostState.LOST
            assert "host lost" in s.text()
            assert "? subagent-researcher#1 lost" in s.text()
            assert "↩ returned · subagent-researcher#1: the host process died" in s.text()
            assert "The host process died" in toasts(s)


class TestLeavingAndStopping:
    async def test_q_detaches_and_changes_nothing_in_the_session(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.roster()
            await s.show()
            before = s.host._tail.store.value("SELECT count(*) FROM event")
            await s.press("q")
            await s.pilot.pause()
            assert not s.app.is_running
            assert s.host._tail.store.value("SELECT count(*) FROM event") == before

    async def test_stop_all_asks_first_with_the_count_and_cancel_has_the_focus(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.roster()
            await s.show()
            await s.type("Q\n")  # too soon to be an answer
            assert "Stop 3 runs and end the session?" in s.text()
            await s.press("enter")
            assert "Stop 3 runs and end the session?" in s.text()
            await s.pilot.pause(0.45)
            await s.press("enter")
            assert not isinstance(s.app.screen, Confirm)
            assert await s.host.controls() == []

    async def test_stop_all_is_asked_of_the_host_once_it_is_confirmed(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.roster()
            await s.show()
            await s.press("Q")
            await s.pilot.pause(0.45)
            await s.press("tab", "enter")
            await s.pilot.pause()
            assert [control.action for control in await s.host.controls()] == ["stop_session"]


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
        async with stage(glyphs=ASCII) as s:
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
            assert [command.id for command in COMMANDS if command.help not in shown] == []

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
