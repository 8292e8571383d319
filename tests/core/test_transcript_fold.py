"""A run's transcript: true to the stored history, and to what has no history."""

from __future__ import annotations

import pytest

from dashboard.core import events as e
from dashboard.core.history import Assistant, Provenance, System, ToolCall, ToolResult, User
from dashboard.core.outcomes import Outcome
from dashboard.core.transcript import ApprovalEntry, ToolEntry
from dashboard.core.views import RunState
from tests.core.folding import answered, asked, called, fold, said, shown, start


class TestWhatStreamsAndIsStored:
    def test_the_first_user_entry_is_the_task_and_the_system_message_is_not_shown(self) -> None:
        projection = fold(start("r"), said("r", 0, System("you are")), said("r", 1, User("find it")))
        assert shown(projection) == [("task", "find it")]

    def test_deltas_of_a_round_grow_one_entry_and_the_stored_entry_closes_it(self) -> None:
        projection = fold(
            start("r"),
            e.ReasoningDelta(run_id="r", round=1, text="hm"),
            e.TextDelta(run_id="r", round=1, text="Hel"),
            e.TextDelta(run_id="r", round=1, text="lo"),
            said("r", 2, Assistant("Hello", "hm")),
            e.TextDelta(run_id="r", round=2, text="next"),
        )
        assert shown(projection) == [("reasoning", "hm"), ("text", "Hello"), ("text", "next")]

    def test_the_stored_entry_wins_over_what_was_streamed(self) -> None:
        projection = fold(
            start("r"), e.TextDelta(run_id="r", round=1, text="Helo"), said("r", 2, Assistant("Hello"))
        )
        assert shown(projection) == [("text", "Hello")]

    def test_a_reply_that_was_not_streamed_is_shown_from_the_history(self) -> None:
        assert shown(fold(start("r"), said("r", 2, Assistant("Hello")))) == [("text", "Hello")]

    def test_a_tool_is_one_entry_from_call_to_result(self) -> None:
        called = e.ToolCalled(run_id="r", round=1, tool_call_id="c1", name="grep", arguments="{}")
        projection = fold(start("r"), called)
        assert shown(projection) == [("grep", "…")]
        assert projection.runs["r"].state is RunState.TOOL
        returned = e.ToolReturned(run_id="r", round=1, tool_call_id="c1", text="3 matches", elapsed=7)
        projection = fold(start("r"), called, returned, said("r", 3, ToolResult("c1", "grep", "3 matches")))
        assert shown(projection) == [("grep", "3 matches")]
        assert projection.runs["r"].state is RunState.WORKING

    def test_a_call_that_was_never_executed_gets_its_result_from_the_history(self) -> None:
        projection = fold(
            start("r"),
            said("r", 2, Assistant("", tool_calls=(ToolCall("c1", "grep", "{}"),))),
            e.ToolCalled(run_id="r", round=1, tool_call_id="c1", name="grep", arguments="{}"),
            said("r", 3, ToolResult("c1", "grep", "was not executed", is_error=True)),
        )
        assert shown(projection) == [("grep", "was not executed")]

    def test_a_prompt_of_the_loop_is_not_anyones_message(self) -> None:
        projection = fold(
            start("r"), said("r", 1, User("task")), said("r", 2, User("go on", Provenance.CONTINUATION))
        )
        assert shown(projection) == [("task", "task"), ("loop", "go on")]

    def test_an_event_that_is_not_known_is_a_raw_row_of_its_run(self) -> None:
        projection = fold(start("r"), e.Unknown("HologramShown", '{"depth":3}', "r"))
        assert shown(projection) == [("raw", 'HologramShown {"depth":3}')]

    def test_a_reply_that_was_cut_off_stays_as_it_was_and_the_next_round_begins_anew(self) -> None:
        projection = fold(
            start("r"),
            e.TextDelta(run_id="r", round=1, text="half a sent"),
            e.TurnFinished(run_id="r", turn=1, answer="", outcome=Outcome.CANCELLED, error="stopped by ana"),
            e.RoundStarted(run_id="r", turn=2, round=2, step=1, max_iterations=10),
            e.TextDelta(run_id="r", round=2, text="Again"),
            said("r", 2, Assistant("Again.")),
        )
        assert shown(projection) == [
            ("text", "half a sent"), ("turn cancelled", "stopped by ana"), ("text", "Again."),
        ]  # fmt: skip


class TestHowARunGoesOn:
    @pytest.mark.parametrize(
        ("event", "line"),
        [
            (e.RunPaused(run_id="r", by="ana"), ("paused", "ana")),
            (e.RunResumed(run_id="r", by="ana"), ("resumed", "ana")),
            (e.RunResumed(run_id="r", by="ana", one_round=True), ("stepped", "ana")),
            (e.RunBlocked(run_id="r", on="journal"), ("blocked", "journal")),
        ],
    )
    def test_each_change_is_one_line_that_names_who_or_what(
        self, event: e.KnownEvent, line: tuple[str, str]
    ) -> None:
        assert shown(fold(start("r"), event)) == [line]

    def test_a_budget_that_a_message_renewed_shows_in_the_next_round_alone(self) -> None:
        projection = fold(start("r"), e.BudgetExtended(run_id="r", round=4, extensions=1))
        assert shown(projection) == []

    @pytest.mark.parametrize(
        ("outcome", "lines"),
        [
            (Outcome.ANSWERED, []),
            (Outcome.WRAP_UP, []),
            (Outcome.CANCELLED, [("turn cancelled", "why")]),
            (Outcome.ERROR, [("turn failed", "why")]),
        ],
    )
    def test_a_turn_that_came_to_no_answer_says_why(self, outcome: Outcome, lines: list[tuple[str, str]]) -> None:
        ended = e.TurnFinished(run_id="r", turn=1, answer="", outcome=outcome, error="why")
        assert shown(fold(start("r"), ended)) == lines

    def test_a_cancelled_run_says_who_stopped_it(self) -> None:
        ended = e.RunFinished(run_id="r", outcome=Outcome.CANCELLED, error="stopped by ana")
        assert shown(fold(start("r"), ended)) == [("end", "stopped by ana")]


class TestApprovals:
    def test_a_request_is_one_entry_that_takes_its_answer(self) -> None:
        denied = answered(e.ApprovalAnswer.DENIED, by="ana", reason="not here")
        projection = fold(start("r"), called(), asked(), denied)
        (entry,) = (entry for entry in projection.runs["r"].entries if isinstance(entry, ApprovalEntry))
        assert (entry.name, entry.arguments, entry.at) == ("shell", '{"command":"ls"}', 3_000_000)
        assert (entry.answer, entry.by, entry.reason) == (e.ApprovalAnswer.DENIED, "ana", "not here")
        assert entry.answered_at == 4_000_000

    def test_its_tool_has_not_begun_until_the_answer(self) -> None:
        asking = fold(start("r"), called(), asked()).runs["r"].entries[0]
        allowed = fold(start("r"), called(), asked(), answered(e.ApprovalAnswer.ALLOWED)).runs["r"].entries[0]
        assert isinstance(asking, ToolEntry)
        assert isinstance(allowed, ToolEntry)
        assert (asking.asking, allowed.asking) == (True, False)

    def test_an_answer_changes_its_own_request_alone(self) -> None:
        projection = fold(
            start("r"), called(), asked("a1"), called(call_id="c2"), asked("a2", "c2"),
            answered(e.ApprovalAnswer.ALLOWED, "a2"),
        )  # fmt: skip
        assert [line for line in shown(projection) if line[0] == "approval"] == [
            ("approval", "…"), ("approval", "allowed"),
        ]  # fmt: skip

    @pytest.mark.parametrize(
        "ending",
        [
            e.RunFinished(run_id="r", outcome=Outcome.LOST),
            e.TurnFinished(run_id="r", turn=1, answer="", outcome=Outcome.CANCELLED),
        ],
    )
    def test_what_nobody_can_answer_any_more_is_abandoned(self, ending: e.KnownEvent) -> None:
        projection = fold(start("r"), called(), asked(), ending)
        assert ("approval", "abandoned") in shown(projection)
        tool = projection.runs["r"].entries[0]
        assert isinstance(tool, ToolEntry)
        assert tool.abandoned

    def test_an_answer_to_what_was_never_asked_changes_nothing(self) -> None:
        assert shown(fold(start("r"), answered(e.ApprovalAnswer.ALLOWED, "elsewhere"))) == []
