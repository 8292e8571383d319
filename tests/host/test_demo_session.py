"""The whole demo over a real journal, in virtual time: the story that the console shows, event by event."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.cli.screenshots import ADDRESSED, WRITTEN, record_demo
from dashboard.core import events as e
from dashboard.core.history import Entry, User
from dashboard.core.outcomes import Outcome
from dashboard.core.projection import Projection
from dashboard.core.records import Record
from dashboard.core.transcript import MessageEntry, ToolEntry
from dashboard.core.views import RunView


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Record]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DASHBOARD_HOME", str(tmp_path_factory.mktemp("home")))
        yield record_demo()


@pytest.fixture(scope="module")
def projection(records: list[Record]) -> Projection:
    projection = Projection()
    projection.fold(records)
    return projection


def named(projection: Projection, name: str) -> RunView:
    return next(run for run in projection.runs.values() if run.name == name)


def test_main_spawns_two_researchers_in_one_turn_one_has_a_reviewer_and_a_writer_comes_last(
    projection: Projection,
) -> None:
    tree = [(run.name, run.depth) for run in projection.tree()]
    assert tree == [
        ("main", 0),
        ("subagent-researcher#1", 1),
        ("subagent-reviewer#1", 2),
        ("subagent-researcher#2", 1),
        ("subagent-writer#1", 1),
    ]
    one, two = named(projection, "subagent-researcher#1"), named(projection, "subagent-researcher#2")
    assert two.started_at < one.ended_at  # they overlap


def test_seqs_are_gap_free(records: list[Record]) -> None:
    assert [record.seq for record in records] == list(range(1, len(records) + 1))


def test_the_deltas_of_each_round_add_up_to_the_stored_reply(records: list[Record]) -> None:
    streamed: dict[tuple[str, type], str] = {}
    stored: list[tuple[str, str]] = []
    for record in records:
        match record.event:
            case e.TextDelta() as delta:
                streamed[delta.run_id, e.TextDelta] = streamed.get((delta.run_id, e.TextDelta), "") + delta.text
            case e.HistoryAppended(entry=entry) as appended if type(entry).__name__ == "Assistant":
                stored.append((streamed.pop((appended.run_id, e.TextDelta), ""), entry.content))
            case _:
                pass
    assert len(stored) > 15
    assert all(shown == kept for shown, kept in stored)


def test_every_history_is_gap_free_and_every_tool_call_has_its_result(records: list[Record]) -> None:
    histories: dict[str, list[Entry]] = {}
    for record in records:
        if isinstance(record.event, e.HistoryAppended):
            history = histories.setdefault(record.event.run_id, [])
            assert record.event.index == len(history)
            history.append(record.event.entry)
    for history in histories.values():
        asked = [call.id for entry in history if hasattr(entry, "tool_calls") for call in entry.tool_calls]
        answered = [entry.call_id for entry in history if hasattr(entry, "call_id")]
        assert asked[: len(answered)] == answered


def test_the_message_is_read_by_the_second_researcher_alone_and_changes_its_next_call(
    projection: Projection,
) -> None:
    (message,) = projection.messages.values()
    assert (message.to, message.body, message.round) == (ADDRESSED, WRITTEN, 3)
    for run in projection.runs.values():
        flagged = [entry for entry in run.entries if isinstance(entry, MessageEntry)]
        assert [entry.text for entry in flagged] == ([WRITTEN] if run.name == ADDRESSED else [])
    entries = named(projection, ADDRESSED).entries
    at = next(index for index, entry in enumerate(entries) if isinstance(entry, MessageEntry))
    before = [json.loads(entry.arguments)["path"] for entry in entries[:at] if isinstance(entry, ToolEntry)]
    after = [json.loads(entry.arguments)["path"] for entry in entries[at:] if isinstance(entry, ToolEntry)]
    assert "worker.log" not in before
    assert after[0] == "worker.log"


def test_the_answer_and_the_report_say_what_the_operators_lead_showed(projection: Projection) -> None:
    assert "worker.log" in named(projection, ADDRESSED).answer
    (report,) = [
        json.loads(entry.arguments)
        for entry in named(projection, "subagent-writer#1").entries
        if isinstance(entry, ToolEntry) and entry.name == "write_report"
    ]
    assert "Operator leads" in report["text"]
    assert "deploy.log:5" in report["text"]


def test_a_delivery_stands_once_in_the_stored_history_and_nothing_marks_it_there(records: list[Record]) -> None:
    entries = [record.event.entry for record in records if isinstance(record.event, e.HistoryAppended)]
    assert entries.count(User(WRITTEN)) == 1


def test_the_root_answers_and_then_waits(projection: Projection, records: list[Record]) -> None:
    root = named(projection, "main")
    assert "report" in root.answer
    turns = [record.event for record in records if isinstance(record.event, e.TurnFinished)]
    assert [turn.run_id for turn in turns] == [root.run_id]
    assert root.outcome is Outcome.CANCELLED  # the recording stopped it while it was idle


def test_two_recordings_are_the_same_event_by_event(
    records: list[Record], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASHBOARD_HOME", str(tmp_path / "again"))

    def told(recording: list[Record]) -> list[tuple[int, e.KnownEvent | e.Unknown]]:
        return [
            (record.at, record.event)
            for record in recording
            if not isinstance(record.event, (e.HostStarted, e.MessageQueued, e.MessageDelivered))
        ]

    assert told(record_demo()) == told(records)
