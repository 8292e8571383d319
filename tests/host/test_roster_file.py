"""A roster file: what it describes runs, and what is wrong with it is named with file, line, table and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboard.agent import Runtime, run_agent
from dashboard.core.errors import RosterError
from dashboard.core.events import ApprovalRequested, KnownEvent, RunStarted, ToolReturned
from dashboard.core.outcomes import Outcome
from dashboard.host.roster_file import load_roster
from dashboard.journal.routed_inbox import RoutedInbox

WHOLE = """\
title = "nightly triage"

[main]
model = "scripted:lead"
system_message = "You lead."
tools = ["list_dir"]
max_iterations = 4

[agents.researcher]
model = "scripted:looks"
tools = ["grep", "python:my_tools_{n}:look"]
inbox = false

[agents.writer]
model = "python:my_tools_{n}:model"
approval = "all"
spawns = []

[models.lead]
replies = [
  {{ calls = [{{ tool = "subagent", arguments = {{ agent_type = "researcher", task = "look" }} }}] }},
  "All done.",
]

[models.looks]
replies = [
  {{ reasoning = "hm", calls = [{{ tool = "look", arguments = {{ place = "here" }} }}] }},
  "nothing there",
]
"""
TOOLS = '''
from dashboard.models.scripted import ScriptedModel, replies

model = ScriptedModel(replies("written"))
nothing = 3

def look(place: str) -> str:
    """Look.

    Args:
        place: where.
    """
    return f"seen {place}"

def untyped(place):
    return place
'''
_count = iter(range(1_000))


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    number = next(_count)  # a module is imported once a process: each test has one of its own
    (tmp_path / f"my_tools_{number}.py").write_text(TOOLS)
    file = tmp_path / "roster.toml"
    file.write_text(WHOLE.format(n=number))
    return file


def changed(file: Path, old: str, new: str) -> Path:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    return file


async def test_what_it_describes_runs(whole: Path, tmp_path: Path) -> None:
    roster = load_roster(whole, "why?", tmp_path, speed=0)
    assert (roster.title, roster.task, roster.labels) == (
        "nightly triage", "why?", ("subagent-researcher", "subagent-writer"),
    )  # fmt: skip
    inbox = RoutedInbox()
    seen: list[KnownEvent] = []
    runtime = Runtime(emit=inbox.emit, next_ordinal=inbox.next_ordinal)
    runtime.listeners = (seen.append,)
    result = await run_agent(roster.make_root(inbox), roster.task, runtime, label="main")
    assert (result.outcome, result.answer) == (Outcome.ANSWERED, "All done.")
    runs = [event for event in seen if isinstance(event, RunStarted)]
    assert [(run.label, run.max_iterations, run.reading) for run in runs] == [
        ("main", 4, True), ("subagent-researcher", 10, False),
    ]  # fmt: skip
    texts = [event.text for event in seen if isinstance(event, ToolReturned)]
    assert texts == ["seen here", "nothing there"]
    assert not any(isinstance(event, ApprovalRequested) for event in seen)


async def test_a_scripted_model_knows_its_place_in_each_run_by_itself(whole: Path, tmp_path: Path) -> None:
    roster = load_roster(whole, "why?", tmp_path, speed=0)
    inbox = RoutedInbox()
    runtime = Runtime(emit=inbox.emit, next_ordinal=inbox.next_ordinal)
    for _ in range(2):
        result = await run_agent(roster.make_root(inbox), "why?", runtime, label="main")
        assert result.answer == "All done."


def test_without_a_title_it_is_called_like_its_file(whole: Path, tmp_path: Path) -> None:
    changed(whole, 'title = "nightly triage"\n', "")
    assert load_roster(whole, "t", tmp_path).title == "roster"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('title = "nightly triage"', "title = 3", r"roster.toml:1: title: it is no text"),
        ("[main]", "[mian]", r"roster.toml:3: \[mian\]|roster.toml: mian: unknown.*title, main, agents, models"),
        (
            'tools = ["list_dir"]',
            'toolz = ["list_dir"]',
            r"roster.toml:6: \[main\] toolz: unknown.*system_message",
        ),
        (
            "max_iterations = 4",
            "max_iterations = 0",
            r"roster.toml:7: \[main\] max_iterations: Expected `int` >= 1",
        ),
        ("max_iterations = 4", 'max_iterations = "4"', r":7: \[main\] max_iterations: Expected `int`, got `str`"),
        ('tools = ["list_dir"]', 'tools = ["ls"]', r":6: \[main\] tools: no tool 'ls'.*list_dir, grep, read_file"),
        (
            '"scripted:lead"',
            '"scripted:led"',
            r":4: \[main\] model: no scripted model 'led'.*\[models.led\].*lead",
        ),
        ('"scripted:lead"', '"gpt:x"', r":4: \[main\] model: no provider 'gpt'.*scripted:..., python:..."),
        ('model = "scripted:looks"\n', "", r"\[agents.researcher\].*missing required field `model`"),
        ("inbox = false", "max_depth = 2", r":12: \[agents.researcher\] max_depth: only \[main\] has one"),
        ("spawns = []", 'spawns = ["poet"]', r"\[agents.writer\] spawns: it names an unknown type 'poet'"),
        ("[agents.writer]", '[agents."a b"]', r"'a b' cannot be the name of a type"),
        (':look"', ':nothing"', r":11: \[agents.researcher\] tools: my_tools_\d+:nothing cannot be a tool"),
        (':look"', ':untyped"', r":11: \[agents.researcher\] tools: my_tools_\d+:untyped cannot be a tool"),
        (':look"', ':gone"', r"has no gone"),
        ("python:my", "python:no_such_module_my", r"cannot be imported: ModuleNotFoundError"),
        (":model", ":nothing", r":15: \[agents.writer\] model: my_tools_\d+:nothing is no model"),
        ('"All done.",', "3,", r"\[models.lead\] replies: Expected `str \| object`, got `int`"),
        ('approval = "all"', 'approval = "some"', r"approval"),
        ("[main]", "[main", r"is not TOML.*line 3"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(whole: Path, tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(RosterError, match=said):
        load_roster(changed(whole, old, new), "t", tmp_path)


def test_a_file_without_main_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "r.toml"
    file.write_text('[agents.a]\nmodel = "scripted:x"\n')
    with pytest.raises(RosterError, match=r"it has no \[main\]"):
        load_roster(file, "t", tmp_path)


def test_a_file_that_is_no_text_is_refused_with_the_byte(tmp_path: Path) -> None:
    file = tmp_path / "r.toml"
    file.write_bytes(b"title = '\xff'")
    with pytest.raises(RosterError, match="is not UTF-8: byte 9"):
        load_roster(file, "t", tmp_path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RosterError, match=r"no.toml cannot be read: No such file"):
        load_roster(tmp_path / "no.toml", "t", tmp_path)
