"""Writing to a run by keyboard: from the key to the receipt."""

from __future__ import annotations

import pytest
from textual import events

from dashboard.core.events import (
    TurnFinished,
)
from dashboard.core.mail import Boundary, BoundaryKind
from dashboard.core.messages import Preset
from dashboard.ui.commands import Mode
from dashboard.ui.screens.picker import Picker
from tests.ui.conftest import OpenStage


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
            assert "subagent-researcher#1, subagent-researcher#2" in s.toasts()
            assert "draft is kept" in s.toasts()
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
            await s.press("l", "m", "tab")
            await s.type("hello")
            s.finish("run_1")
            await s.show()
            await s.send("?")
            assert s.console.composer.draft.preset is Preset.FOLLOWUP
            assert "subagent-researcher#1 has ended" in s.toasts()
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
            assert "nothing to send" in s.toasts()
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

    @pytest.mark.parametrize("key", ["escape", "backspace", "tab", "ctrl+c", "ctrl+t", "ctrl+g", "up"])
    async def test_a_key_right_behind_enter_finds_the_message_sent(self, stage: OpenStage, key: str) -> None:
        async with stage() as s:
            s.start("run_m")
            await s.show()
            await s.press("m")
            for pressed in ("h", "i", "enter", key):
                s.app.post_message(events.Key(pressed, pressed if len(pressed) == 1 else None))
            await s.pilot.pause(0.06)
            await s.show()
            (message,) = s.console._feed.projection.messages.values()
            assert (message.body, message.preset) == ("hi", Preset.STEER)

    async def test_each_message_says_anew_how_it_is_read(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            await s.show()
            await s.press("m", "tab")
            await s.send("later")
            await s.press("m")
            assert "steer: " in s.text()

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
            assert [choice.name for choice in picker._shown] == [
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
            assert picker._shown[0].name == first

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
