"""Which run a typed name means; what could mean two is never guessed."""

from __future__ import annotations

import pytest

from dashboard.cli.addressing import AddressError, live_run, runs_called, spelled_out
from dashboard.core.labels import RunRef

RUNS = [
    RunRef("run_1", "main", 1, True, True),
    RunRef("run_2", "subagent-researcher", 1, False, True),
    RunRef("run_3", "subagent-researcher", 2, True, True),
    RunRef("run_4", "subagent-researcher", 3, True, True),
    RunRef("run_5", "subagent-writer", 1, True, True),
]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("main", "main"),
        ("@main", "main"),
        ("run_3", "run_3"),
        ("subagent-researcher#2", "subagent-researcher#2"),
        ("researcher#2", "subagent-researcher#2"),
        ("@writer", "subagent-writer"),
        ("reviewer", "subagent-reviewer"),
        ("nobody", "nobody"),
        ("writer#9", "subagent-writer#9"),
    ],
)
def test_a_short_name_is_spelled_out_and_any_other_stays(typed: str, meant: str) -> None:
    assert spelled_out(typed, RUNS, {"subagent-reviewer"}) == meant


def test_a_label_that_is_called_like_a_short_name_is_itself() -> None:
    assert spelled_out("writer", [*RUNS, RunRef("run_6", "writer", 1, True, True)], ()) == "writer"


def test_a_label_means_all_its_runs_where_several_can_be_read() -> None:
    assert [run.run_id for run in runs_called("researcher", RUNS)] == ["run_2", "run_3", "run_4"]


def test_a_name_that_nobody_has_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(AddressError, match="called 'nobody'.*subagent-writer#1"):
        runs_called("nobody", RUNS)


def test_one_run_is_meant_only_where_one_is_live() -> None:
    assert live_run("writer", RUNS).run_id == "run_5"
    with pytest.raises(AddressError, match="'researcher' is 2 live runs.*researcher#2, researcher#3"):
        live_run("researcher", RUNS)
    with pytest.raises(AddressError, match="subagent-researcher#1 has ended"):
        live_run("researcher#1", RUNS)
