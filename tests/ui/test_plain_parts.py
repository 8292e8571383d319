"""Drafts, receipts, the command table, the grid and the words: everything about the console without a screen."""

from __future__ import annotations

from collections import Counter

import pytest
from textual.binding import Binding

from dashboard.core.events import MessageForwarded
from dashboard.core.messages import Lane, MessageState, Preset, ReturnReason, Sender, SenderKind
from dashboard.core.views import MessageView, RunState, RunView
from dashboard.ui.commands import COMMANDS, Mode, footer, palette, refusals, transport
from dashboard.ui.drafts import Drafts, Target
from dashboard.ui.glyphs import ASCII, UNICODE, choose_glyphs
from dashboard.ui.receipts import SLOW, Sending, fate_words, receipt_line, sending_line
from dashboard.ui.screens.console import Console
from dashboard.ui.screens.replaying import ReplayConsole
from dashboard.ui.widgets.delegation_tree import TONES
from dashboard.ui.widgets.panel import STATE_STYLES
from dashboard.ui.widgets.wall import LOWEST, NARROWEST, fit
from dashboard.ui.wording import amount, done_by, duration, plural, round_words, state_words

ONE, TWO = Target("run_1", "subagent-a#1"), Target("run_2", "subagent-a#2")


class TestDrafts:
    def test_each_target_has_a_draft_of_its_own(self) -> None:
        drafts = Drafts()
        drafts.of(ONE).text = "for one"
        assert drafts.of(TWO).text == ""
        assert drafts.of(ONE).text == "for one"
        assert drafts.unsent() == 1

    def test_a_draft_is_taken_along_to_another_target_with_how_it_is_read(self) -> None:
        drafts = Drafts()
        drafts.of(ONE).text = "moved"
        drafts.of(ONE).preset = Preset.FOLLOWUP
        drafts.move(ONE, TWO)
        assert (drafts.of(TWO).text, drafts.of(TWO).preset) == ("moved", Preset.FOLLOWUP)
        assert drafts.of(ONE).text == ""

    def test_two_drafts_that_meet_are_both_kept(self) -> None:
        drafts = Drafts()
        drafts.of(ONE).text, drafts.of(TWO).text = "moved", "was there"
        drafts.move(ONE, TWO)
        assert drafts.of(TWO).text == "was there\nmoved"

    def test_moving_to_the_same_target_changes_nothing(self) -> None:
        drafts = Drafts()
        drafts.of(ONE).text = "stays"
        drafts.move(ONE, ONE)
        assert drafts.of(ONE).text == "stays"


class TestReceipts:
    def view(self, state: MessageState, reason: ReturnReason | None = None) -> MessageView:
        ana = Sender(SenderKind.OPERATOR, "ana")
        return MessageView(
            "m", "subagent-a#1", "run_1", "two\nlines", Lane.NEXT_STEP, True, ana, 0, 1_000_000, state, reason,
            round=4, ended_at=3_100_000,
        )  # fmt: skip

    @pytest.mark.parametrize(
        ("state", "reason", "tone", "words"),
        [
            (MessageState.QUEUED, None, "pending", "◌ pending · subagent-a#1 reads it at its next round"),
            (MessageState.UNBOUND, None, "pending", "◌ pending · for the next subagent-a#1 that starts"),
            (MessageState.DELIVERED, None, "read", "✓ read in round 4 · subagent-a#1, after 2.1s"),
            (MessageState.EXPIRED, None, "returned", "↩ expired unread · subagent-a#1 · r sends it on"),
            (
                MessageState.UNDELIVERABLE, ReturnReason.HOST_LOST, "returned",
                "↩ returned · subagent-a#1: the host process died · r sends it on",
            ),
        ],
    )  # fmt: skip
    def test_a_receipt_says_its_fate_first_and_shows_the_text(
        self, state: MessageState, reason: ReturnReason | None, tone: str, words: str
    ) -> None:
        line = receipt_line(self.view(state, reason), None, UNICODE)
        assert (line.tone, line.words, line.body) == (tone, words, "two ⏎ lines")

    def test_a_withdrawal_is_no_failure_and_says_who(self) -> None:
        view = self.view(MessageState.WITHDRAWN)
        view.withdrawn_by = "bob"
        line = receipt_line(view, None, UNICODE)
        assert (line.tone, line.words) == ("withdrawn", "↩ withdrawn by bob · subagent-a#1 did not read it")

    @pytest.mark.parametrize("state", list(MessageState))
    def test_what_was_edited_says_so_whatever_became_of_it(self, state: MessageState) -> None:
        view = self.view(state, ReturnReason.RUN_ENDED)
        view.edited, view.edited_by = True, "bob"
        assert fate_words(view, None)[1].endswith(", edited by bob")

    def test_what_was_sent_on_says_to_whom_and_is_not_offered_again(self) -> None:
        view = self.view(MessageState.UNDELIVERABLE, ReturnReason.HOST_LOST)
        view.forwarded.append(
            MessageForwarded(message_id="m", to="subagent-b#1", session_id="s", as_id="m2", by="ana")
        )
        words = receipt_line(view, None, UNICODE).words
        assert words.endswith(" · sent on to subagent-b#1")
        assert "r sends it on" not in words

    def test_a_held_message_says_who_holds_it_and_that_nothing_reads_it(self) -> None:
        view = self.view(MessageState.QUEUED)
        view.held, view.held_by = True, "bob"
        words = receipt_line(view, None, UNICODE).words
        assert words == "◌ held by bob · subagent-a#1 does not read it until it is released"
        view.state = MessageState.UNBOUND
        assert "the next subagent-a#1 that starts does not read it" in receipt_line(view, None, UNICODE).words

    def test_a_message_that_was_taken_waits_for_a_word_from_whoever_took_it(self) -> None:
        view = self.view(MessageState.QUEUED)
        view.taken = True
        assert receipt_line(view, None, UNICODE).words == (
            "◌ taken · subagent-a#1 has it, and has not confirmed yet that it read it"
        )

    @pytest.mark.parametrize("reason", list(ReturnReason))
    def test_every_reason_has_words(self, reason: ReturnReason) -> None:
        assert ": " in receipt_line(self.view(MessageState.UNDELIVERABLE, reason), None, UNICODE).words

    def test_a_follow_up_waits_for_the_end_of_the_turn_and_says_so(self) -> None:
        view = self.view(MessageState.QUEUED)
        view.lane = Lane.NEXT_TURN
        assert "once it has finished" in receipt_line(view, None, UNICODE).words

    def test_an_inject_to_an_idle_run_says_that_it_waits_for_someone_to_wake_it(self) -> None:
        view = self.view(MessageState.QUEUED)
        view.wake = False
        idle = RunView("run_1", "main", 1, "t", None, 0, reading=True, started_at=0, max_iterations=10, idle=True)
        assert "once a steer or a follow-up wakes it" in receipt_line(view, idle, UNICODE).words
        idle.idle = False
        assert "if it makes another request" in receipt_line(view, idle, UNICODE).words

    def test_a_slow_answer_is_unconfirmed_and_never_not_delivered(self) -> None:
        sending = Sending("m", "subagent-a#1", "hello", 0)
        assert "sending" in sending_line(sending, SLOW, UNICODE).words
        slow = sending_line(sending, SLOW + 1, UNICODE).words
        assert "unconfirmed" in slow
        assert "not delivered" not in slow


class TestCommands:
    def test_ids_are_unique_and_no_key_means_two_things_in_one_mode(self) -> None:
        assert max(Counter(command.id for command in COMMANDS).values()) == 1
        for mode in Mode:
            keys = Counter(key for command in COMMANDS if mode in command.modes for key in command.keys.split(","))
            assert [key for key, count in keys.items() if count > 1] == []

    def test_every_command_has_an_action_on_the_screen(self) -> None:
        for command in COMMANDS:
            screen = ReplayConsole if Mode.REPLAY in command.modes else Console
            assert callable(getattr(screen, f"action_{command.action.partition('(')[0]}")), command.id

    def test_the_footer_names_only_what_works_in_its_mode(self) -> None:
        for mode in Mode:
            assert all(mode in command.modes for command in footer(mode))
        assert "send" in {command.id for command in footer(Mode.WRITE)}
        assert "send" not in {command.id for command in footer(Mode.WATCH)}

    def test_in_a_replay_each_key_of_a_live_console_acts_or_says_why_it_does_not(self) -> None:
        live = {key for command in COMMANDS if Mode.WATCH in command.modes for key in command.keys.split(",")}
        acts = {key for command in COMMANDS if Mode.REPLAY in command.modes for key in command.keys.split(",")}
        refused = [key for binding in refusals() if isinstance(binding, Binding) for key in binding.key.split(",")]
        assert sorted(refused) == sorted(live - acts)

    def test_what_moves_a_recording_is_named_once_at_the_foot_and_only_in_a_replay(self) -> None:
        moving = {command.id for command in transport()}
        assert moving == {"play", "step", "next_mail", "next_error", "faster", "slower"}
        assert all(command.modes == (Mode.REPLAY,) and command.label for command in transport())
        for mode in Mode:
            assert not moving & {command.id for command in footer(mode)}
        assert moving <= {command.id for command in palette(Mode.REPLAY)}


class TestGrid:
    @pytest.mark.parametrize("panels", range(1, 13))
    @pytest.mark.parametrize(
        ("width", "height"), [(166, 54), (86, 34), (120, 18), (80, 17), (56, 17), (40, 7), (300, 70)]
    )
    def test_panels_are_never_smaller_than_can_be_read(self, panels: int, width: int, height: int) -> None:
        shape = fit(panels, width, height)
        assert shape.columns == 1 or width // shape.columns >= NARROWEST
        assert shape.rows == 1 or height // shape.rows >= LOWEST
        assert shape.room >= 1

    def test_all_are_shown_where_there_is_room_for_all(self) -> None:
        assert fit(5, 166, 54).room >= 5
        assert fit(12, 300, 70).room >= 12

    def test_a_single_panel_has_the_whole_wall(self) -> None:
        assert (fit(1, 166, 54).columns, fit(1, 166, 54).rows) == (1, 1)


class TestWords:
    @pytest.mark.parametrize(
        ("microseconds", "words"),
        [(0, "0ms"), (80_000, "80ms"), (999_900, "1.0s"), (2_100_000, "2.1s"), (59_990_000, "1m00s"),
         (185_000_000, "3m05s"), (7_800_000_000, "2h10m"), (-5, "0ms")],
    )  # fmt: skip
    def test_a_span(self, microseconds: int, words: str) -> None:
        assert duration(microseconds) == words

    @pytest.mark.parametrize(
        ("count", "words"),
        [(0, "0"), (999, "999"), (41_200, "41.2k"), (999_949, "999.9k"), (999_950, "1.0M"), (3_100_000, "3.1M")],
    )
    def test_an_amount(self, count: int, words: str) -> None:
        assert amount(count) == words

    def test_a_count_and_its_word(self) -> None:
        assert [plural(1, "line"), plural(2, "line"), plural(3, "match")] == ["1 line", "2 lines", "3 matches"]

    def test_a_round_and_its_budget_also_after_a_reset(self) -> None:
        assert round_words(3, 3, 12) == "r3/12"
        assert round_words(5, 2, 12) == "r5 (2/12)"


class TestStates:
    def run_view(self) -> RunView:
        return RunView("r", "main", 1, "t", None, 0, reading=True, started_at=0, max_iterations=10)

    def test_a_state_is_one_word_unless_somebody_or_something_keeps_the_run(self) -> None:
        run = self.run_view()
        assert state_words(run) == "working"
        run.paused, run.paused_by = True, "ana"
        assert state_words(run) == "paused by ana"
        run.blocked_on = "journal"
        assert state_words(run) == "blocked: journal"

    def test_a_deed_of_nobody_knows_whom_is_said_alone(self) -> None:
        assert [done_by("held", "ana"), done_by("held", "")] == ["held by ana", "held"]

    def test_every_state_has_a_colour_in_head_and_tree(self) -> None:
        assert set(STATE_STYLES) == set(TONES) == set(RunState)


class TestGlyphs:
    def test_every_state_has_a_glyph_of_one_cell_in_both_sets_and_no_two_share_one(self) -> None:
        for glyphs in (UNICODE, ASCII):
            assert set(glyphs.states) == set(RunState)
            assert len(set(glyphs.states.values())) == len(RunState)
            assert all(len(glyph) == 1 for glyph in glyphs.states.values())

    def test_the_ascii_set_is_ascii(self) -> None:
        parts = [getattr(ASCII, name) for name in ASCII.__dataclass_fields__ if name != "states"]
        assert all(part.isascii() for part in (*parts, *ASCII.states.values()))

    def test_the_environment_chooses(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DASHBOARD_GLYPHS", "ascii")
        assert choose_glyphs() is ASCII
        monkeypatch.setenv("DASHBOARD_GLYPHS", "unicode")
        assert choose_glyphs() is UNICODE
