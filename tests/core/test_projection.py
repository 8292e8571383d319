"""Folding events: deterministic, incremental, and true to what each run does."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.core import events as e
from dashboard.core.changes import Changes, News, Refused
from dashboard.core.history import Assistant, ToolCall, ToolResult, User
from dashboard.core.outcomes import Outcome
from dashboard.core.projection import Projection
from dashboard.core.records import Record
from dashboard.core.views import RunState
from tests.core.folding import answered, asked, called, fold, queued, said, shown, start


class TestRuns:
    def test_the_tree_lists_children_below_their_parent_in_the_order_they_started(self) -> None:
        projection = fold(
            start("m"), start("a", "subagent-a", 1, "m"), start("b", "subagent-b", 1, "m"),
            start("c", "subagent-c", 1, "a"),
        )  # fmt: skip
        assert [(run.run_id, run.depth) for run in projection.tree()] == [("m", 0), ("a", 1), ("c", 2), ("b", 1)]

    def test_a_run_whose_parent_is_not_known_still_stands_in_the_tree(self) -> None:
        assert [run.run_id for run in fold(start("a", "subagent-a", 1, "elsewhere")).tree()] == ["a"]

    def test_a_parent_in_a_tool_waits_while_a_child_lives(self) -> None:
        call = e.ToolCalled(run_id="m", round=1, tool_call_id="c", name="subagent", arguments="{}")
        events = (start("m"), call, start("a", "subagent-a", 1, "m"))
        assert fold(*events).runs["m"].state is RunState.WAITING
        ended = e.RunFinished(run_id="a", outcome=Outcome.ANSWERED)
        assert fold(*events, ended).runs["m"].state is RunState.TOOL

    def test_a_root_is_idle_between_two_turns(self) -> None:
        turn = e.TurnFinished(run_id="m", turn=1, answer="done")
        events = (start("m"), e.TurnStarted(run_id="m", turn=1), turn)
        assert fold(*events).runs["m"].state is RunState.IDLE
        assert fold(*events, e.TurnStarted(run_id="m", turn=2)).runs["m"].state is RunState.WORKING

    @pytest.mark.parametrize("outcome", list(Outcome))
    def test_every_outcome_has_a_state_and_is_counted_once(self, outcome: Outcome) -> None:
        counts = fold(start("m"), e.RunFinished(run_id="m", outcome=outcome, error="why")).counts()
        assert counts.live + counts.idle + counts.done + counts.stopped + counts.failed + counts.lost == 1
        assert counts.live == 0

    def test_a_root_whose_turn_was_cancelled_is_idle_and_nothing_of_the_turn_runs_on(self) -> None:
        cancelled = e.TurnFinished(
            run_id="r", turn=1, answer="", outcome=Outcome.CANCELLED, error="stopped by ana"
        )
        run = fold(start("r"), e.TurnStarted(run_id="r", turn=1), called(), asked(), cancelled).runs["r"]
        assert run.state is RunState.IDLE
        assert (run.tools, run.approvals) == ({}, {})

    def test_a_held_run_is_paused_and_says_by_whom_until_it_goes_on(self) -> None:
        paused = e.RunPaused(run_id="r", by="ana")
        run = fold(start("r"), paused).runs["r"]
        assert (run.state, run.paused_by) == (RunState.PAUSED, "ana")
        assert fold(start("r"), paused, e.RunResumed(run_id="r")).runs["r"].state is RunState.WORKING

    def test_a_step_lets_a_held_run_work_until_it_is_held_again(self) -> None:
        step = e.RunResumed(run_id="r", one_round=True)
        events = (start("r"), e.RunPaused(run_id="r"), step)
        assert fold(*events).runs["r"].state is RunState.WORKING
        assert fold(*events, e.RunPaused(run_id="r")).runs["r"].state is RunState.PAUSED

    def test_a_root_stays_paused_when_its_turn_is_cancelled(self) -> None:
        cancelled = e.TurnFinished(run_id="r", turn=1, answer="", outcome=Outcome.CANCELLED)
        assert fold(start("r"), e.RunPaused(run_id="r"), cancelled).runs["r"].state is RunState.PAUSED

    def test_a_tool_that_waits_for_a_word_needs_approval_until_the_answer(self) -> None:
        events = (start("r"), called(), asked())
        run = fold(*events).runs["r"]
        assert run.state is RunState.APPROVAL
        assert list(run.approvals) == ["a1"]
        assert fold(*events, answered(e.ApprovalAnswer.ALLOWED)).runs["r"].state is RunState.TOOL

    def test_requests_wait_in_the_order_in_which_they_were_made(self) -> None:
        events = (start("r"), called(), asked("a1"), called(call_id="c2"), asked("a2", "c2"))
        assert list(fold(*events).runs["r"].approvals) == ["a1", "a2"]
        assert list(fold(*events, answered(e.ApprovalAnswer.DENIED, "a1")).runs["r"].approvals) == ["a2"]

    def test_a_run_is_blocked_until_its_next_event(self) -> None:
        blocked = e.RunBlocked(run_id="r", on="journal")
        run = fold(start("r"), blocked).runs["r"]
        assert (run.state, run.blocked_on) == (RunState.BLOCKED, "journal")
        assert fold(start("r"), blocked, called()).runs["r"].state is RunState.TOOL

    def test_streamed_text_unblocks_a_run_and_is_told_as_a_change_of_its_head(self) -> None:
        projection = fold(start("r"), e.RunBlocked(run_id="r", on="journal"))
        changes = projection.fold([Record(3, 3, e.TextDelta(run_id="r", round=1, text="on"))])
        assert projection.runs["r"].state is RunState.WORKING
        assert changes.runs == {"r"}

    @pytest.mark.parametrize(
        "event",
        [
            queued("m"),
            e.ControlRequested(control_id="k", action=e.ControlAction.PAUSE, by="ana", run_id="r"),
            e.NoticeRaised(level=e.NoticeLevel.NOTE, text="n", run_id="r"),
        ],
    )
    def test_what_others_do_does_not_unblock_a_run(self, event: e.KnownEvent) -> None:
        blocked = e.RunBlocked(run_id="r", on="journal")
        assert fold(start("r"), blocked, event).runs["r"].state is RunState.BLOCKED

    @pytest.mark.parametrize("event", [e.RunPaused(run_id="r"), e.RunBlocked(run_id="r", on="journal"), asked()])
    def test_a_run_that_is_kept_from_going_on_is_live_and_counted_once(self, event: e.KnownEvent) -> None:
        counts = fold(start("r"), event).counts()
        assert (counts.live, counts.idle, counts.done) == (1, 0, 0)

    def test_runs_that_need_somebody_are_counted_not_their_requests(self) -> None:
        events = (start("r"), start("s", ordinal=2), asked("a1"), asked("a2", "c2"), asked("a3", "c3", "s"))
        assert fold(*events).counts().asking == 2
        assert fold(*events, e.RunFinished(run_id="s", outcome=Outcome.CANCELLED)).counts().asking == 1


class TestControls:
    PAUSE = e.ControlRequested(control_id="k", action=e.ControlAction.PAUSE, by="ana", run_id="r")

    def test_a_refusal_is_told_with_what_was_asked(self) -> None:
        projection = fold(start("r"), self.PAUSE)
        refusal = e.ControlRefused(control_id="k", reason="it is paused already", run_id="r")
        changes = projection.fold([Record(3, 7, refusal)])
        assert changes.refused == [Refused(self.PAUSE, News(refusal, 3, 7))]

    def test_what_was_applied_says_nothing_by_itself(self) -> None:
        projection = fold(start("r"), self.PAUSE)
        applied = e.ControlApplied(control_id="k", action=e.ControlAction.PAUSE, run_id="r")
        assert projection.fold([Record(3, 3, applied)]) == Changes()


EVENTS: Sequence[e.KnownEvent] = (
    start("r"),
    said("r", 0, User("task")),
    e.TurnStarted(run_id="r", turn=1),
    e.RoundStarted(run_id="r", turn=1, round=1, step=1, max_iterations=10),
    queued("m"),
    e.ReasoningDelta(run_id="r", round=1, text="a"),
    e.TextDelta(run_id="r", round=1, text="b"),
    e.TextDelta(run_id="r", round=1, text="c"),
    said("r", 1, Assistant("bc", "a", (ToolCall("t", "grep", "{}"),))),
    e.RoundFinished(run_id="r", round=1, input_tokens=3, output_tokens=4),
    e.ToolCalled(run_id="r", round=1, tool_call_id="t", name="grep", arguments="{}"),
    e.NoticeRaised(level=e.NoticeLevel.WARNING, text="careful", run_id="r"),
    e.ToolReturned(run_id="r", round=1, tool_call_id="t", text="x"),
    said("r", 2, ToolResult("t", "grep", "x")),
    e.MessageDelivered(run_id="r", turn=1, round=2, history_index=3, message_id="m"),
    said("r", 3, User("hello")),
    e.TextDelta(run_id="r", round=2, text="done"),
    said("r", 4, Assistant("done")),
    called(call_id="c2"),
    asked("a1", "c2"),
    queued("m2"),
    e.MessageHeld(message_id="m2", held=True, by="ana", run_id="r"),
    queued("m3"),
    e.MessageEdited(message_id="m3", body="better", by="ana", run_id="r"),
    e.MessagePromoted(message_id="m2", by="ana", run_id="r"),
    e.MessageTaken(message_id="m2", run_id="r"),
    e.MessageWithdrawn(message_id="m3", by="ana", run_id="r"),
    answered(e.ApprovalAnswer.DENIED, by="ana", reason="no"),
    e.ToolReturned(run_id="r", round=2, tool_call_id="c2", text="denied", is_error=True),
    e.BudgetExtended(run_id="r", round=3, extensions=1),
    e.RunPaused(run_id="r", by="ana"),
    e.ControlRequested(control_id="k", action=e.ControlAction.PAUSE, by="bob", run_id="r"),
    e.ControlRefused(control_id="k", reason="it is paused already", run_id="r"),
    e.RunResumed(run_id="r", by="ana", one_round=True),
    e.RunBlocked(run_id="r", on="journal"),
    e.RoundStarted(run_id="r", turn=1, round=3, step=1, max_iterations=10),
    asked("a2", "c3"),
    e.TurnFinished(run_id="r", turn=1, answer="", outcome=Outcome.CANCELLED, error="stopped by ana"),
    e.RunFinished(run_id="r", outcome=Outcome.ANSWERED, answer="done"),
)
RECORDS = [Record(seq, seq, event) for seq, event in enumerate(EVENTS, 1)]


@given(st.lists(st.integers(0, len(RECORDS)), max_size=6))
def test_how_the_events_are_cut_into_batches_makes_no_difference(cuts: list[int]) -> None:
    whole, pieces = Projection(), Projection()
    whole.fold(RECORDS)
    bounds = [0, *sorted(cuts), len(RECORDS)]
    for begin, end in pairwise(bounds):
        pieces.fold(RECORDS[begin:end])
    assert shown(pieces) == shown(whole)
    assert pieces.counts() == whole.counts()
    assert pieces.messages == whole.messages
    assert pieces.runs == whole.runs


@given(st.integers(0, len(RECORDS)))
def test_an_event_that_comes_again_is_passed_over(overlap: int) -> None:
    projection = Projection()
    projection.fold(RECORDS)
    before = shown(projection), deepcopy(projection.runs), deepcopy(projection.messages)
    changes = projection.fold(RECORDS[overlap:])
    assert (shown(projection), projection.runs, projection.messages) == before
    assert changes == Changes()


def test_a_fold_tells_the_first_entry_that_changed_and_no_more() -> None:
    projection = Projection()
    projection.fold(RECORDS[:10])
    changes = projection.fold(RECORDS[10:13])
    assert changes.entries == {"r": 3}  # task, reasoning and text stand; the tool and the notice are new
    assert [told.event.text for told in changes.notices] == ["careful"]
    assert changes.messages == set()


def test_streamed_text_leaves_the_head_line_alone() -> None:
    projection = Projection()
    projection.fold(RECORDS[:6])
    changes = projection.fold(RECORDS[6:8])
    assert changes.runs == set()
    assert changes.entries == {"r": 2}
