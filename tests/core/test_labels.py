"""Names of runs, and how an address finds one (A5). The journal's tests send by these rules."""

from __future__ import annotations

import pytest

from dashboard.core.labels import (
    Bound,
    Refused,
    RunRef,
    Unbound,
    display_name,
    resolve,
    short_name,
    subagent_label,
)
from dashboard.core.messages import Refusal


def run(run_id: str, label: str, ordinal: int = 1, *, live: bool = True, reading: bool = True) -> RunRef:
    return RunRef(run_id, label, ordinal, live, reading)


def test_a_spawned_run_is_labelled_by_its_type_and_numbered() -> None:
    assert subagent_label("researcher") == "subagent-researcher"
    assert subagent_label(None) == "subagent"
    assert display_name("subagent-researcher", 2) == "subagent-researcher#2"
    assert display_name("main", 1) == "main"
    assert short_name("subagent-researcher", 2) == "researcher#2"


def test_a_run_id_is_that_run() -> None:
    one = run("run_1", "subagent-a")
    assert resolve("run_1", [one], ()) == Bound(one)


def test_a_label_with_an_ordinal_is_that_run_even_when_others_live() -> None:
    one, two = run("run_1", "subagent-a", 1), run("run_2", "subagent-a", 2)
    assert resolve("subagent-a#2", [one, two], ()) == Bound(two)


def test_a_bare_label_is_the_only_live_run_of_it() -> None:
    ended, live = run("run_1", "subagent-a", 1, live=False), run("run_2", "subagent-a", 2)
    assert resolve("subagent-a", [ended, live], ()) == Bound(live)


def test_a_bare_label_with_two_live_runs_is_ambiguous_and_names_them() -> None:
    refused = resolve("subagent-a", [run("run_1", "subagent-a", 1), run("run_2", "subagent-a", 2)], ())
    assert isinstance(refused, Refused)
    assert refused.refusal is Refusal.AMBIGUOUS
    assert refused.candidates == ("subagent-a#1", "subagent-a#2")


@pytest.mark.parametrize("runs", [[], [run("run_1", "subagent-a", live=False)]])
def test_a_known_label_without_a_live_run_waits_for_the_next_one(runs: list[RunRef]) -> None:
    assert resolve("subagent-a", runs, ("subagent-a",)) == Unbound("subagent-a")


def test_a_label_that_was_seen_is_known_without_being_declared() -> None:
    assert resolve("subagent-a", [run("run_1", "subagent-a", live=False)], ()) == Unbound("subagent-a")


@pytest.mark.parametrize("address", ["nobody", "subagent-a#7", "subagent-a#0", "#1", "", "a#b", "subagent-a#1#1"])
def test_anything_else_is_unknown(address: str) -> None:
    refused = resolve(address, [run("run_1", "subagent-a")], ("subagent-a",))
    assert isinstance(refused, Refused)
    assert refused.refusal is Refusal.UNKNOWN


def test_an_ended_run_and_a_run_without_an_inbox_say_so() -> None:
    ended, deaf = run("run_1", "subagent-a", live=False), run("run_2", "subagent-b", reading=False)
    refusals = [resolve(address, [ended, deaf], ()) for address in ("run_1", "subagent-a#1", "subagent-b")]
    assert [found.refusal for found in refusals if isinstance(found, Refused)] == [
        Refusal.RUN_ENDED,
        Refusal.RUN_ENDED,
        Refusal.NOT_READING,
    ]


def test_a_root_is_a_label_like_any_other_a_program_may_start_it_again() -> None:
    assert resolve("main", [run("run_1", "main", live=False)], ()) == Unbound("main")
