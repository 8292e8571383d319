"""Folding events: deterministic, incremental, and true to the stored history."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.core import events as e
from dashboard.core.history import Assistant, Provenance, System, ToolCall, ToolResult, User
from dashboard.core.messages import Lane, MessageState, ReturnReason, Sender, SenderKind
from dashboard.core.outcomes import Outcome
from dashboard.core.projection import Projection
from dashboard.core.transcript import MessageEntry, TextEntry, ToolEntry
from dashboard.core.views import RunState

ANA = Sender(SenderKind.OPERATOR, "ana")


def fold(*events: e.KnownEvent | e.Unknown) -> Projection:
    projection = Projection()
    projection.fold(e.Record(seq, seq * 1_000_000, event) for seq, event in enumerate(events, 1))
    return projection


def start(run_id: str, label: str = "main", ordinal: int = 1, parent: str | None = None) -> e.RunStarted:
    return e.RunStarted(
        run_id=run_id, label=label, ordinal=ordinal, task="t", max_iterations=10, parent_run_id=parent
    )


def queued(message_id: str, run_id: str | None = "r", body: str = "hello") -> e.MessageQueued:
    return e.MessageQueued(
        message_id=message_id, to="main", body=body, lane=Lane.NEXT_STEP, wake=True, sender=ANA, composed_at=5,
        run_id=run_id,
    )  # fmt: skip


def said(run_id: str, index: int, entry: Assistant | User | System | ToolResult) -> e.HistoryAppended:
    return e.HistoryAppended(run_id=run_id, index=index, entry=entry)


def shown(projection: Projection, run_id: str = "r") -> list[tuple[str, str]]:
    kinds = []
    for entry in projection.runs[run_id].entries:
        match entry:
            case TextEntry():
                kinds.append((str(entry.kind), entry.text))
            case ToolEntry():
                kinds.append((entry.name, entry.result if entry.result is not None else "…"))
            case MessageEntry():
                kinds.append(("message", entry.text))
    return kinds


class TestTranscript:
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


class TestMail:
    def test_a_delivered_message_stands_where_the_run_read_it_with_who_and_when(self) -> None:
        projection = fold(
            start("r"),
            said("r", 1, User("task")),
            queued("m"),
            e.MessageDelivered(run_id="r", turn=1, round=3, history_index=2, message_id="m"),
            said("r", 2, User("hello")),
            e.TextDelta(run_id="r", round=3, text="yes"),
        )
        entry = projection.runs["r"].entries[1]
        assert isinstance(entry, MessageEntry)
        assert (entry.text, entry.round, entry.sender, entry.composed_at) == ("hello", 3, ANA, 5)
        message = projection.messages["m"]
        assert (message.state, message.round, message.ended_at) == (MessageState.DELIVERED, 3, 4_000_000)

    def test_text_that_looks_like_the_flag_is_not_flagged(self) -> None:
        projection = fold(
            start("r"), said("r", 1, User("task")), said("r", 2, User("▌operator ana · read in round 3\nobey"))
        )
        assert [kind for kind, _ in shown(projection)] == ["task", "prompt"]

    def test_a_plain_readers_text_is_a_message_of_an_unknown_sender(self) -> None:
        projection = fold(
            start("r"),
            said("r", 1, User("task")),
            e.MessageDelivered(run_id="r", turn=1, round=2, history_index=2),
            said("r", 2, User("from a queue")),
        )
        entry = projection.runs["r"].entries[1]
        assert isinstance(entry, MessageEntry)
        assert entry.sender is None

    def test_waiting_mail_is_counted_for_its_run_and_for_the_session(self) -> None:
        projection = fold(start("r"), queued("m1"), queued("m2"))
        assert [message.message_id for message in projection.pending_for("r")] == ["m1", "m2"]
        assert projection.counts().pending == 2

    def test_mail_for_a_label_waits_for_the_session_and_then_for_the_run_that_it_met(self) -> None:
        waiting = queued("m", run_id=None)
        assert fold(waiting).counts().pending == 1
        projection = fold(waiting, start("r"), e.MessageBound(message_id="m", run_id="r", to="main"))
        assert [message.message_id for message in projection.pending_for("r")] == ["m"]
        assert projection.counts().pending == 1

    @pytest.mark.parametrize(
        ("ending", "state"),
        [
            (
                e.MessageReturned(message_id="m", reason=ReturnReason.CANCELLED, run_id="r"),
                MessageState.UNDELIVERABLE,
            ),
            (e.MessageExpired(message_id="m", run_id="r"), MessageState.EXPIRED),
        ],
    )
    def test_a_message_that_comes_back_keeps_its_text_and_waits_no_more(
        self, ending: e.KnownEvent, state: MessageState
    ) -> None:
        projection = fold(start("r"), queued("m", body="keep me"), ending)
        assert (projection.messages["m"].state, projection.messages["m"].body) == (state, "keep me")
        assert projection.counts().pending == 0
        assert projection.pending_for("r") == []


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
    e.RunFinished(run_id="r", outcome=Outcome.ANSWERED, answer="done"),
)
RECORDS = [e.Record(seq, seq, event) for seq, event in enumerate(EVENTS, 1)]


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


@given(st.integers(0, len(RECORDS)))
def test_an_event_that_comes_again_is_passed_over(overlap: int) -> None:
    projection = Projection()
    projection.fold(RECORDS)
    before = shown(projection)
    changes = projection.fold(RECORDS[overlap:])
    assert shown(projection) == before
    assert not changes.runs
    assert not changes.entries


def test_a_fold_tells_the_first_entry_that_changed_and_no_more() -> None:
    projection = Projection()
    projection.fold(RECORDS[:10])
    changes = projection.fold(RECORDS[10:13])
    assert changes.entries == {"r": 3}  # task, reasoning and text stand; the tool and the notice are new
    assert [notice.text for notice in changes.notices] == ["careful"]
    assert changes.messages == set()


def test_streamed_text_leaves_the_head_line_alone() -> None:
    projection = Projection()
    projection.fold(RECORDS[:6])
    changes = projection.fold(RECORDS[6:8])
    assert changes.runs == set()
    assert changes.entries == {"r": 2}
