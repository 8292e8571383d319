"""What operators and the API do to a run and to its mail, as every console shows it."""

from __future__ import annotations

from dashboard.core import events as e
from dashboard.core.messages import Preset, Sender, SenderKind
from dashboard.core.outcomes import Outcome
from dashboard.ui.glyphs import ASCII
from tests.ui.conftest import OpenStage, Stage

HOSTILE = "\x1b]52;c;aGk=\x07\u009b\u202e[/dim][@click=app.quit]x[/]"
MARKED = "<1B>]52;c;aGk=<07><9B><202E>[/dim][@click=app.quit]x[/]"


def ask(s: Stage, run_id: str, arguments: str = '{"command":"make clean"}', expires_at: int | None = None) -> None:
    s.emit(
        e.ToolCalled(run_id=run_id, round=1, tool_call_id="c", name="shell", arguments=arguments),
        e.ApprovalRequested(
            run_id=run_id, approval_id="a", tool_call_id="c", name="shell", arguments=arguments,
            expires_at=expires_at,
        ),
    )  # fmt: skip


def answer(s: Stage, run_id: str, answer: e.ApprovalAnswer, by: str = "", reason: str = "") -> None:
    s.emit(e.ApprovalAnswered(run_id=run_id, approval_id="a", answer=answer, by=by, reason=reason))


def queue(s: Stage, message_id: str, body: str, preset: Preset = Preset.STEER) -> None:
    s.emit(
        e.MessageQueued(
            message_id=message_id, to="main", body=body, lane=preset.lane, wake=preset.wake,
            sender=Sender(SenderKind.OPERATOR, "ana"), composed_at=s.clock(), run_id="run_m",
        )
    )  # fmt: skip


class TestPaused:
    async def test_head_tree_and_transcript_say_so_and_the_head_says_by_whom(self, stage: OpenStage) -> None:
        async with stage(size=(160, 40)) as s:
            s.roster()
            s.emit(e.RunPaused(run_id="run_1", by="bob"))
            await s.show()
            assert "‖ subagent-researcher#1 paused by bob r1/10" in s.text()
            assert "├ ‖ researcher#1 paused r1" in s.text()
            assert "│ ‖ paused by bob" in s.text()
            assert "3 live" in s.text()

    async def test_it_goes_on_for_a_round_or_for_good(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            s.emit(
                e.RunPaused(run_id="run_m", by="bob"),
                e.RunResumed(run_id="run_m", by="ana", one_round=True),
                e.RunPaused(run_id="run_m", by="bob"),
                e.RunResumed(run_id="run_m", by="ana"),
            )
            await s.show()
            assert "● one round · let through by ana" in s.text()
            assert "● goes on · resumed by ana" in s.text()
            assert "● main working r1/10" in s.text()

    async def test_where_there_is_no_room_the_name_of_who_did_it_goes_and_the_word_stays(
        self, stage: OpenStage
    ) -> None:
        async with stage(size=(40, 20)) as s:
            s.start("run_1", "subagent-researcher")
            s.emit(e.RunPaused(run_id="run_1", by="somebody-with-a-long-name"))
            await s.show()
            assert "‖ researcher#1 paused r1/10" in s.text()

    async def test_a_message_to_it_says_that_it_waits_for_that(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            s.emit(e.RunPaused(run_id="run_m", by="bob"))
            await s.show()
            await s.press("m")
            await s.send("then do this")
            assert "◌ pending · main is paused, and reads it at its next round" in s.text()

    async def test_what_blocks_a_run_stands_behind_the_word(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            s.emit(e.RunBlocked(run_id="run_m", on="journal"))
            await s.show()
            assert "⊘ main blocked: journal r1/10" in s.text()


class TestApproval:
    async def test_the_header_says_that_somebody_is_needed_and_the_run_what_for(self, stage: OpenStage) -> None:
        async with stage(size=(160, 40)) as s:
            s.roster()
            ask(s, "run_1")
            await s.show()
            assert "host running · 1 needs you · 0 pending · 3 live" in s.text()
            assert "▲ subagent-researcher#1 needs approval r1/10" in s.text()
            assert "├ ▲ researcher#1 approval" in s.text()
            assert "▸ shell command=make clean · not run yet" in s.text()
            assert "▲ needs approval: shell command=make clean" in s.text()

    async def test_where_the_whole_word_has_no_room_half_of_it_stands_with_all_the_numbers(
        self, stage: OpenStage
    ) -> None:
        async with stage(size=(42, 20)) as s:
            s.start("run_1", "subagent-researcher")
            ask(s, "run_1")
            await s.show()
            assert "▶ ▲ researcher#1 approval r1/10 ━" in s.text()

    async def test_two_runs_need_you(self, stage: OpenStage) -> None:
        async with stage(size=(160, 40)) as s:
            s.roster()
            ask(s, "run_1")
            ask(s, "run_2")
            await s.show()
            assert "2 need you" in s.text()

    async def test_how_long_it_has_waited_passes_in_the_head(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            ask(s, "run_m")
            await s.show()
            s.clock.tick(4)
            await s.console.take_slow_frame()
            await s.pilot.pause()
            assert "shell waits 4.0s" in s.text()

    async def test_the_answer_stands_below_the_request_and_nobody_is_needed_any_more(
        self, stage: OpenStage
    ) -> None:
        async with stage() as s:
            s.start("run_m")
            ask(s, "run_m")
            s.clock.tick(4)
            answer(s, "run_m", e.ApprovalAnswer.DENIED, "bob", "not while we deploy")
            await s.show()
            assert "▲ asked for approval: shell command=make clean" in s.text()
            assert "│ denied by bob: not while we deploy · after 4.0s" in s.text()
            assert "needs you" not in s.text()

    async def test_a_message_to_it_waits_for_the_answer(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            ask(s, "run_m")
            await s.show()
            await s.press("m")
            await s.send("or use ls")
            assert "◌ pending · main waits for an approval, and reads it at its next round" in s.text()


class TestStopped:
    async def test_a_cancelled_turn_leaves_an_idle_root_and_says_who(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            s.say("run_m", "half a sent")
            s.emit(
                e.TurnFinished(
                    run_id="run_m", turn=1, answer="", outcome=Outcome.CANCELLED, error="stopped by bob"
                )
            )
            await s.show()
            assert "○ main idle" in s.text()
            assert "half a sent" in s.text()
            assert "■ turn cancelled · stopped by bob" in s.text()

    async def test_a_failed_turn_says_what_went_wrong(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            s.emit(e.TurnFinished(run_id="run_m", turn=1, answer="", outcome=Outcome.ERROR, error="no answer"))
            await s.show()
            assert "✗ turn failed: no answer" in s.text()

    async def test_a_cancelled_run_says_who_in_its_end(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.roster()
            s.emit(e.RunFinished(run_id="run_1", outcome=Outcome.CANCELLED, error="stopped by bob"))
            await s.show()
            assert "■ cancelled · 1 round" in s.text()
            assert "│ stopped by bob" in s.text()

    async def test_what_the_host_refused_is_told(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            await s.show()
            s.emit(
                e.ControlRequested(control_id="k", action=e.ControlAction.STEP, by="ana", run_id="run_m"),
                e.ControlRefused(control_id="k", reason="main is not paused", run_id="run_m"),
            )
            await s.show()
            assert "The host did not let main make one round: main is not paused" in s.toasts()


class TestMail:
    async def test_an_edited_message_shows_what_will_be_read_and_who_edited_it(self, stage: OpenStage) -> None:
        async with stage(size=(160, 40)) as s:
            s.start("run_m")
            queue(s, "m", "look at api.log")
            s.emit(e.MessageEdited(message_id="m", body="look at worker.log", by="bob", run_id="run_m"))
            await s.show()
            assert "◌ pending steer · operator ana, edited by bob: look at worker.log" in s.text()
            assert "main reads it at its next round · edited by bob  look at worker.log" in s.text()
            assert "api.log" not in s.text()

    async def test_a_held_message_says_so_until_it_is_released(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            queue(s, "m", "wait with this")
            s.emit(e.MessageHeld(message_id="m", held=True, by="bob", run_id="run_m"))
            await s.show()
            assert "◌ steer held by bob · operator ana: wait with this" in s.text()
            assert "◌ held by bob · main does not read it until it is released" in s.text()
            s.emit(e.MessageHeld(message_id="m", held=False, by="bob", run_id="run_m"))
            await s.show()
            assert "◌ pending steer · operator ana: wait with this" in s.text()

    async def test_a_withdrawn_message_leaves_the_pending_and_comes_back_with_its_text(
        self, stage: OpenStage
    ) -> None:
        async with stage() as s:
            s.start("run_m")
            queue(s, "m", "forget it")
            await s.show()
            s.emit(e.MessageWithdrawn(message_id="m", by="bob", run_id="run_m"))
            await s.show()
            assert "↩ withdrawn by bob · main did not read it  forget it" in s.text()
            assert "▌ operator ana · returned unread, withdrawn by bob" in s.text()
            assert "▌ forget it" in s.text()
            assert "0 pending" in s.text()
            assert "pending steer" not in s.text()

    async def test_a_promoted_follow_up_is_a_steer_below_the_others(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            queue(s, "m1", "was for later", Preset.FOLLOWUP)
            queue(s, "m2", "was first")
            s.emit(e.MessagePromoted(message_id="m1", by="bob", run_id="run_m"))
            await s.show()
            rows = [row for row in s.screen() if "pending steer" in row]
            assert ["was first" in rows[0], "was for later" in rows[1]] == [True, True]

    async def test_a_message_that_was_taken_is_not_called_read(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.start("run_m")
            queue(s, "m", "are you there?")
            s.emit(e.MessageTaken(message_id="m", run_id="run_m"))
            await s.show()
            assert "◌ steer taken, not confirmed yet · operator ana: are you there?" in s.text()
            assert "◌ taken · main has it, and has not confirmed yet that it read it" in s.text()


class TestPlainAndHostile:
    async def test_the_ascii_set_has_a_glyph_for_each(self, stage: OpenStage) -> None:
        async with stage(size=(160, 40), glyphs=ASCII) as s:
            s.roster()
            s.emit(e.RunPaused(run_id="run_m", by="bob"), e.RunBlocked(run_id="run_2", on="journal"))
            ask(s, "run_1")
            await s.show()
            assert ": main paused by bob" in s.text()
            assert "^ subagent-researcher#1 needs approval" in s.text()
            assert "x subagent-researcher#2 blocked: journal" in s.text()

    async def test_names_reasons_and_arguments_show_literally(self, stage: OpenStage) -> None:
        async with stage(size=(200, 60)) as s:
            s.start("run_m")
            queue(s, "m1", "one")
            queue(s, "m2", "two")
            ask(s, "run_m", arguments=f"args {HOSTILE}")
            answer(s, "run_m", e.ApprovalAnswer.DENIED, by=HOSTILE, reason=f"reason {HOSTILE}")
            s.emit(
                e.MessageEdited(message_id="m1", body=f"body {HOSTILE}", by=HOSTILE, run_id="run_m"),
                e.MessageWithdrawn(message_id="m2", by=HOSTILE, run_id="run_m"),
                e.ControlRefused(control_id="k", reason=f"refused {HOSTILE}", run_id="run_m"),
                e.RunBlocked(run_id="run_m", on=HOSTILE),
                e.RunPaused(run_id="run_m", by=HOSTILE),
            )
            await s.show()
            shown = s.text()
            for place in ("args ", "denied by ", "reason ", "body ", "edited by ", "withdrawn by ", "blocked: "):
                assert f"{place}{MARKED}" in shown
            assert "main paused by <1B>]52;c;aGk=" in shown
            assert f"refused {MARKED}" in s.toasts()
            assert not any(character in shown for character in "\x1b\x07\x9b\u202e")
            assert s.app.is_running
