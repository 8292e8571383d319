from __future__ import annotations

from dashboard.agent.history import History, is_paired, not_executed, unanswered
from dashboard.core.history import Assistant, Entry, ToolCall, ToolResult, User
from dashboard.core.mail import Delivered
from tests.agent.fakes import Recorder, asks, shorthand

A, B = ToolCall("call_a", "a", "{}"), ToolCall("call_b", "b", "{}")


def result(call: ToolCall) -> ToolResult:
    return ToolResult(call.id, call.name, "done")


def test_an_appended_entry_is_told_with_its_index() -> None:
    told = Recorder()
    history = History("run_1", told)
    history.append(User("p"))
    history.append(Assistant("A"))
    assert told.history("run_1") == [User("p"), Assistant("A")]
    assert history.entries == (User("p"), Assistant("A"))


def test_a_delivered_message_is_adopted_without_being_told_again() -> None:
    told = Recorder()
    history = History("run_1", told)
    history.adopt([Delivered("x"), Delivered("y")])
    assert history.entries == (User("x"), User("y"))
    assert told.events == []


def test_calls_without_a_result_get_one_that_says_so() -> None:
    told = Recorder()
    history = History("run_1", told)
    for entry in (User("p"), asks("a", "b"), result(A)):
        history.append(entry)
    history.close_calls()
    assert history.entries[-1] == not_executed(B)
    assert "was not executed" in not_executed(B).content
    assert is_paired(history.entries)
    assert shorthand(history.entries) == "p T a b"


def test_a_history_that_is_answered_is_left_alone() -> None:
    history = History("run_1", Recorder())
    for entry in (User("p"), asks("a"), result(A), User("x")):
        history.append(entry)
    history.close_calls()
    assert len(history) == 4


def test_unanswered_calls_pair_by_position_even_when_a_model_repeats_an_id() -> None:
    twin = ToolCall("same", "a", "{}")
    entries: list[Entry] = [Assistant("", tool_calls=(twin, twin)), ToolResult("same", "a", "done")]
    assert unanswered(entries) == (twin,)


def test_pairing_wants_every_result_once_in_order_and_before_anything_else() -> None:
    asked = asks("a", "b")
    assert is_paired([User("p"), asked, result(A), result(B), User("x")])
    assert not is_paired([asked, result(A)])
    assert not is_paired([asked, result(B), result(A)])
    assert not is_paired([asked, result(A), User("x"), result(B)])
    assert not is_paired([asked, result(A), result(B), result(B)])
