"""The console over a recording: nobody can take it for a live one, and every key moves it or says why not."""

from __future__ import annotations

import msgspec
import pytest
from textual.command import CommandPalette

from dashboard.core import events as e
from dashboard.core.outcomes import Outcome
from dashboard.core.projection import Projection
from dashboard.journal.session import JournalOperatorSession
from dashboard.ui.commands import COMMANDS, Mode
from dashboard.ui.glyphs import ASCII
from dashboard.ui.screens.help import Help
from dashboard.ui.screens.replaying import ReplayConsole
from tests.core.recordings import queued, started
from tests.ui.replays import ReplayStage, mail, replayed, roster, say, whole

REFUSED = sorted(
    {key for command in COMMANDS if Mode.WATCH in command.modes for key in command.keys.split(",")}
    - {key for command in COMMANDS if Mode.REPLAY in command.modes for key in command.keys.split(",")}
)
TOTAL = len(whole()) + 1  # and the end of the session


def status(s: ReplayStage) -> str:
    return s.screen()[0]


def top(s: ReplayStage) -> object:
    return s.app.screen


def looks_at_each_frame(s: ReplayStage) -> bool:
    return s.console._fast._active.is_set()


def place(s: ReplayStage) -> str:
    """What stands where one would write in a live console."""
    composer = s.console.composer.region
    return "\n".join(s.screen()[composer.y : composer.bottom])


class TestItIsNoLiveConsole:
    @pytest.mark.parametrize("size", [(80, 24), (200, 60)])
    async def test_it_says_so_above_and_where_one_would_write(self, size: tuple[int, int]) -> None:
        async with replayed(whole(), size) as s:
            assert f" REPLAY ▶ 1x  · {_time(s)} · event 12 of {TOTAL}" in status(s)
            assert "host" not in status(s)
            assert "replay · read-only: nothing is sent" in place(s)
            assert "space play/pause  . step  n next message  e next error  + faster  - slower" in place(s)
            assert "m writes to" not in s.text()
            keys = ["0", "restart", "z", "zoom", "?", "help", "q", "leave", "d", "tree", ":", "palette"]
            assert s.screen()[-1].split() == keys
            assert s.console.has_class("replay")

    async def test_the_ascii_set_has_its_own_marks(self) -> None:
        async with replayed(whole(), glyphs=ASCII) as s:
            assert " REPLAY > 1x  - " in status(s)
            await s.push("space")
            assert " REPLAY : paused 1x  - " in status(s)

    @pytest.mark.parametrize("key", REFUSED)
    async def test_a_key_that_would_write_or_control_says_why_it_does_not(self, key: str) -> None:
        async with replayed(roster()) as s:
            await s.push(key)
            assert s.toasts() == "This is a replay: nothing is sent."
            assert top(s) is s.console
            assert s.console.composer.target is None
            assert s.app.is_running

    async def test_no_key_leads_to_what_only_a_live_console_can_do(self) -> None:
        acting = {f"screen.{command.action}" for command in COMMANDS if Mode.REPLAY in command.modes}
        async with replayed(roster()) as s:
            bound = {binding.action for _, binding in s.console._bindings}
            assert bound == acting | {"screen.refuse"}

    def test_those_are_the_keys_that_write_and_stop(self) -> None:
        assert {"m", "enter", "at", "t", "Q"} <= set(REFUSED)

    async def test_typing_at_it_types_nowhere(self) -> None:
        async with replayed(roster()) as s:
            await s.type("m\thi there\n")
            await s.show()
            assert not s.console.composer.area.text
            assert not s.console.composer.area.display

    async def test_help_names_the_keys_of_a_replay_and_no_other(self) -> None:
        async with replayed(roster(), (120, 60)) as s:
            await s.push("question_mark")
            assert isinstance(top(s), Help)
            shown = s.text()
            for command in COMMANDS:
                assert (command.help in shown) is (Mode.REPLAY in command.modes)
            assert "+  =" in shown
            await s.push("escape")
            assert top(s) is s.console

    async def test_the_palette_offers_what_a_replay_can_do(self) -> None:
        async with replayed(roster()) as s:
            offered = {command.title for command in s.app.get_system_commands(s.app.screen)}
            assert "Play the recording, or pause it" in offered
            assert "Leave the replay; nothing was changed" in offered
            assert "Write to the selected run" not in offered
            await s.push("colon")
            assert isinstance(top(s), CommandPalette)

    async def test_q_leaves_and_ctrl_c_says_so(self) -> None:
        async with replayed(roster()) as s:
            await s.push("ctrl+c")
            assert s.toasts() == "q leaves the replay."
            await s.press("q")
            await s.pilot.pause()
            assert not s.app.is_running

    async def test_a_terminal_that_is_too_small_says_that_it_plays_on(self) -> None:
        async with replayed(roster(), (30, 10)) as s:
            assert "The recording plays on." in s.text()
            assert "The agents go on." not in s.text()


class TestPlaying:
    async def test_what_is_due_is_drawn_at_the_time_of_then(self) -> None:
        async with replayed(
            [(0, started("run_m")), (1, say("run_m", "first ")), (1, say("run_m", "second"))]
        ) as s:
            start = _time(s)
            assert "first" not in s.text()
            await s.watch(1)
            assert "first" in s.text()
            assert "second" not in s.text()
            await s.watch(1)
            assert "first second" in s.text()
            assert _time(s) != start

    async def test_a_running_tool_is_as_old_as_it_was(self) -> None:
        call = e.ToolCalled(run_id="run_m", round=1, tool_call_id="c", name="grep", arguments="{}")
        async with replayed([(0, started("run_m")), (0, call), (600, say("run_m", "x"))]) as s:
            await s.watch(1.5)
            assert "grep 1.5s" in s.text()
            await s.watch(1)
            assert "grep 10m0" in s.text()

    async def test_space_pauses_and_plays(self) -> None:
        async with replayed(whole()) as s:
            await s.push("space")
            assert "REPLAY ‖ paused 1x" in status(s)
            before = s.session.playback.seq
            await s.watch(5)
            assert s.session.playback.seq == before
            await s.push("space")
            assert "REPLAY ▶ 1x" in status(s)
            await s.watch(1)
            assert s.session.playback.seq > before

    async def test_plus_and_equals_are_faster_and_minus_is_slower(self) -> None:
        async with replayed(whole()) as s:
            await s.push("plus", "equals_sign")
            assert "REPLAY ▶ 4x" in status(s)
            await s.watch(0.25)
            assert s.session.playback.seq == 12 + 10
            await s.push("minus", "minus", "minus", "minus")
            assert "REPLAY ▶ 0.25x" in status(s)

    async def test_a_step_shows_one_event_and_says_which(self) -> None:
        async with replayed([*roster(), (1, say("run_m", "text")), *mail("m", "run_9", "nine")]) as s:
            chosen = s.console.wall.chosen
            await s.push("full_stop")
            assert "‖ paused" in status(s)
            assert "event 14 of " in status(s)
            assert "replay · operator ana wrote to nine" in place(s)
            await s.push("full_stop", "full_stop")
            assert "replay · subagent-researcher#9: history appended" in place(s)
            assert s.console.wall.chosen == chosen

    async def test_idle_time_that_was_left_out_is_told(self) -> None:
        async with replayed([(0, started("run_m")), (840, say("run_m", "x")), (1, say("run_m", "y"))]) as s:
            await s.watch(2.25)
            assert "idle 13m58s skipped" in status(s)

    async def test_it_stays_smooth_while_no_run_is_at_work(self) -> None:
        async with replayed([(1, e.NoticeRaised(level=e.NoticeLevel.NOTE, text="n"))] * 3) as s:
            assert not s.console._feed.projection.at_work
            await s.console.take_slow_frame()
            assert looks_at_each_frame(s)

    async def test_while_it_is_paused_and_at_its_end_it_looks_less_often(self) -> None:
        async with replayed([*roster(), (1, say("run_m", "x"))]) as s:
            await s.push("space")
            assert not looks_at_each_frame(s)
            await s.push("space")
            assert looks_at_each_frame(s)
            await s.watch(2)
            await s.show()
            assert not looks_at_each_frame(s)

    async def test_time_that_passed_while_it_was_paused_is_not_made_up_for(self) -> None:
        async with replayed(whole()) as s:
            await s.push("space")
            s.steady.tick(0.9)
            await s.push("space")
            assert s.session.playback.seq == 12

    async def test_toasts_come_as_they_came_then(self) -> None:
        async with replayed(whole(), speed=64) as s:
            await s.watch(1)
            assert "the disk is nearly full" in s.toasts()
            assert "subagent-researcher#11: it is full" in s.toasts()

    async def test_the_journal_that_cannot_be_read_is_said_and_does_not_end_the_console(self) -> None:
        async with replayed(whole()) as s:
            s.session.close()
            s.steady.tick(1)
            await s.console.take_slow_frame()
            await s.press("n", "e", "space")
            await s.console.take_slow_frame()
            assert "cannot be read" in s.toasts()
            assert s.app.is_running


class TestJumping:
    async def test_n_goes_to_each_move_of_an_operators_mail_and_its_run_is_selected_and_in_sight(self) -> None:
        async with replayed(whole(), (80, 24)) as s:
            assert s.console.wall.chosen == "run_m"
            assert not s.panel("run_9").display
            await s.push("n")
            assert s.console.wall.chosen == "run_9"
            assert s.panel("run_9").display
            assert "replay · operator ana wrote to subagent-researcher#9" in place(s)
            assert "◌ pending steer" in s.text()
            assert "REPLAY ‖ paused" in status(s)
            await s.push("n")
            assert "replay · subagent-researcher#9 read operator ana's message in round 1" in place(s)
            assert "▌ look at worker.log" in s.text()
            await s.push("n", "n")
            assert s.console.wall.chosen == "run_2"
            assert "operator ana's message came back unread" in place(s)
            before = s.session.playback.seq
            await s.push("n")
            assert s.toasts() == "Nothing happens to an operator's message after this."
            assert s.session.playback.seq == before

    async def test_e_goes_to_each_thing_that_failed(self) -> None:
        async with replayed(whole(), (200, 60)) as s:
            reached = []
            for _ in range(3):
                await s.push("e")
                reached.append((s.console.wall.chosen, place(s).splitlines()[0].split(" · ")[1].rstrip(" ━┓")))
            assert reached == [
                ("run_10", "a tool of subagent-researcher#10 failed"),
                ("run_11", "subagent-researcher#11: it is full"),
                ("run_2", "subagent-researcher#2 ended: it failed"),
            ]
            await s.push("e")
            assert s.toasts() == "Nothing fails after this."

    async def test_a_jump_raises_no_toast_of_what_it_passes_over_and_playing_on_does(self) -> None:
        refused = e.ControlRefused(control_id="k", reason="it has ended")
        warned = [(1, e.NoticeRaised(level=e.NoticeLevel.WARNING, text=f"warning {at}")) for at in range(9)]
        async with replayed([*roster(), *warned, (1, refused), *warned[:1]]) as s:
            await s.push("e")
            assert s.toasts() == ""
            await s.push("space")
            await s.watch(2)
            assert s.toasts() == "warning 0"

    async def test_what_is_shown_at_the_start_raises_none_either(self) -> None:
        warned = [(1, e.NoticeRaised(level=e.NoticeLevel.WARNING, text=f"warning {at}")) for at in range(9)]
        async with replayed(warned, start=5) as s:
            assert "event 5 of 10" in status(s)
            assert "REPLAY ▶" in status(s)
            assert s.toasts() == ""
            await s.watch(1)
            assert s.toasts() == "warning 5"

    async def test_who_had_scrolled_up_sees_what_the_jump_came_to(self) -> None:
        text = "".join(f"line {number}\n" for number in range(200))
        async with replayed([(0, started("run_m")), (0, say("run_m", text)), *mail("m", "run_m", "main")]) as s:
            await s.push("g")
            assert "line 190" not in s.text()
            await s.push("n", "n")
            assert "▌ look at worker.log" in s.text()

    async def test_a_message_for_a_run_that_is_not_there_yet_selects_nothing(self) -> None:
        unbound = msgspec.structs.replace(queued("m"), run_id=None)
        async with replayed([*roster(), (1, unbound)]) as s:
            await s.push("l", "n")
            assert s.console.wall.chosen == "run_1"
            assert "operator ana wrote to main" in place(s)

    async def test_looking_around_works_as_in_a_live_console_and_leaves_the_words_of_the_jump(self) -> None:
        async with replayed(whole(), (160, 46)) as s:
            await s.push("n", "h", "z")
            assert (s.console.wall.chosen, s.console.wall.zoomed) == ("run_8", True)
            assert "operator ana wrote to subagent-researcher#9" in place(s)
            await s.push("escape", "d")
            assert (s.console.wall.zoomed, s.console.tree_view.display) == (False, False)

    async def test_hostile_words_show_literally(self) -> None:
        hostile = "\x1b]52;c;aGk=\x07\u202e[/dim][@click=app.quit]x[/]"
        async with replayed([*roster(), (9, e.NoticeRaised(level=e.NoticeLevel.ERROR, text=hostile))]) as s:
            await s.push("e")
            shown = s.text()
            assert not any(character in shown for character in "\x1b\x07\u202e")
            assert "[/dim][@click=app.quit]x[/]" in shown


class TestTheStartAndTheEnd:
    async def test_0_starts_again_with_nothing_drawn(self) -> None:
        async with replayed(whole()) as s:
            await s.push("e", "e", "e", "z", "m")
            first = s.console
            await s.push("0")
            assert s.toasts() == ""
            assert s.console is not first
            assert top(s) is s.console
            assert not first.is_running
            assert f"event 12 of {TOTAL}" in status(s)
            assert "REPLAY ▶ 1x" in status(s)
            assert s.console.wall.chosen == "run_m"
            assert "exit 2" not in s.text()
            assert "read-only: nothing is sent" in place(s)
            await s.push("e")
            assert "a tool of subagent-researcher#10 failed" in place(s)

    async def test_what_is_typed_behind_a_restart_acts_on_what_was_restarted(self) -> None:
        async with replayed(whole()) as s:
            await s.push("e")
            await s.type("0?")
            assert isinstance(top(s), Help)
            await s.push("escape")
            assert top(s) is s.console
            assert isinstance(s.console, ReplayConsole)
            assert "event 12 of" in status(s)

    async def test_at_the_end_it_says_so_and_stays(self) -> None:
        async with replayed(whole(), speed=64) as s:
            await s.watch(2)
            assert "end of the recording" in status(s)
            assert f"event {TOTAL} of {TOTAL}" in status(s)
            await s.push("full_stop")
            assert s.toasts().endswith("Nothing happens after this.")
            assert s.app.is_running

    async def test_where_more_may_come_it_is_the_end_for_now(self) -> None:
        async with replayed([*roster()], over=False) as s:
            assert "end for now" in status(s)
            await s.push("e")
            assert s.toasts() == "Nothing fails after this, so far."

    @pytest.mark.parametrize(
        ("story", "over", "says"),
        [
            ([], True, "nothing is recorded yet"),
            ([(0.0, e.HostStarted(pid=1, version="0", title=""))], True, "end of the recording: no run in it"),
            ([(0.0, e.HostStarted(pid=1, version="0", title=""))], False, "end for now: no run in it"),
        ],
    )
    async def test_a_session_in_which_nothing_ran_says_so(
        self, story: list[tuple[float, e.KnownEvent]], over: bool, says: str
    ) -> None:
        async with replayed(story, over=over) as s:
            assert says in status(s)
            assert "1970" not in s.text()
            await s.push("n", "e", "full_stop", "0", "space", "plus")
            assert s.app.is_running

    @pytest.mark.parametrize(
        "keys", [(), ("n", "e", "space"), ("full_stop", "plus", "space"), ("e", "0", "n", "space")]
    )
    async def test_played_to_the_end_it_shows_what_the_live_console_showed(self, keys: tuple[str, ...]) -> None:
        async with replayed(whole()) as s:
            await s.push(*keys)
            await s.watch(60)
            assert "end of the recording" in status(s)
            live, projection = JournalOperatorSession(s.session._folder, "ana", inline=True), Projection()
            projection.fold(live.read(0, 10_000))
            live.close()
            played = s.console._feed.projection
            for run in (*played.runs.values(), *projection.runs.values()):
                for entry in run.entries:
                    getattr(entry, "text", "")  # joins what streamed in, however it came
            assert [run.entries for run in played.runs.values()] == [
                run.entries for run in projection.runs.values()
            ]
            assert played.runs == projection.runs
            assert played.messages == projection.messages
            assert played.counts() == projection.counts()
            assert any(run.outcome is Outcome.ERROR for run in played.runs.values())


def _time(s: ReplayStage) -> str:
    from dashboard.ui.wording import clock_time

    return clock_time(s.session.now())
