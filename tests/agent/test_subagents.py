from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, cast

import pytest

from dashboard.agent.agent import Agent
from dashboard.agent.loop import RunResult, run_agent
from dashboard.agent.subagents import make_subagent_tool
from dashboard.agent.tools import Tool
from dashboard.core.errors import InboxSignatureError, ModelError, NotAnInboxError, RosterError
from dashboard.core.events import RunFinished, RunStarted, ToolCalled
from dashboard.core.history import Assistant, ToolCall, ToolResult
from dashboard.core.inbox import Drain, Inbox
from dashboard.core.outcomes import Outcome
from dashboard.models.base import ModelClient, ModelEvent, ModelRequest, TextPart
from dashboard.models.scripted import ScriptedModel, call, replies
from tests.agent.fakes import FakeModel, Recorder, asks, fake_runtime, quick


class FakeLabelInbox:
    """Remembers the labels that it was opened under."""

    def __init__(self) -> None:
        self.labels: list[str | None] = []

    def reader(self, agent: str | None = None) -> Drain:
        self.labels.append(agent)
        return list


class FakeNarrowInbox:
    def reader(self) -> Drain:
        return list


def spawn(**arguments: object) -> Assistant:
    return Assistant("", tool_calls=(call("subagent", **arguments),))


def parent(made: Tool, *turns: str | Assistant) -> Agent:
    return Agent(ScriptedModel(replies(*turns)), tools=[made], name="main")


async def run(agent: Agent, told: Recorder | None = None) -> RunResult:
    return await run_agent(agent, "p", fake_runtime(told or Recorder()))


def results(told: Recorder) -> list[ToolResult]:
    root = told.of(RunStarted)[0].run_id
    return [entry for entry in told.history(root) if isinstance(entry, ToolResult)]


async def test_a_typed_spawn_is_a_run_of_its_own_under_the_callers_and_gives_its_answer() -> None:
    told = Recorder()
    child = FakeModel(["found it"])
    made = make_subagent_tool(child, agent_types={"researcher": {"system_message": "You research."}})
    answer = await run(parent(made, spawn(agent_type="researcher", task="look"), "A"), told)
    assert answer.answer == "A"
    assert child.sent == ["S look"]
    root, spawned = told.of(RunStarted)
    (called,) = told.of(ToolCalled)
    assert (spawned.label, spawned.ordinal, spawned.task) == ("subagent-researcher", 1, "look")
    assert (spawned.parent_run_id, spawned.parent_tool_call_id) == (root.run_id, called.tool_call_id)
    assert [result.content for result in results(told)] == ["found it"]


async def test_the_generic_shape_takes_a_task_alone() -> None:
    told = Recorder()
    made = make_subagent_tool(FakeModel(["found it"]))
    assert list(made.parameters["properties"]) == ["task"]
    await run(parent(made, spawn(task="look"), "A"), told)
    assert told.of(RunStarted)[1].label == "subagent"


def test_the_model_is_shown_the_types_to_choose_from() -> None:
    made = make_subagent_tool(FakeModel([]), agent_types={"researcher": {}, "writer": {}})
    assert made.parameters["properties"]["agent_type"]["enum"] == ["researcher", "writer"]
    assert made.parameters["required"] == ["agent_type", "task"]
    assert made.description.startswith("Hand a task")


async def test_an_unknown_type_comes_back_with_the_known_ones() -> None:
    told = Recorder()
    made = make_subagent_tool(FakeModel([]), agent_types={"researcher": {}, "writer": {}})
    await run(parent(made, spawn(agent_type="poet", task="rhyme"), "A"), told)
    (result,) = results(told)
    assert result.is_error
    assert "'poet'" in result.content
    assert "researcher, writer" in result.content
    assert len(told.of(RunStarted)) == 1


async def test_a_spec_stands_instead_of_the_factorys_arguments() -> None:
    own, common = FakeModel(["a"]), FakeModel(["b"])
    made = make_subagent_tool(
        common,
        system_message="Common.",
        tools=[quick("look")],
        agent_types={
            "own": {"model": own, "system_message": "", "tools": [quick("write")], "max_iterations": 3},
            "plain": {},
        },
    )
    told = Recorder()
    await run(parent(made, spawn(agent_type="own", task="t"), spawn(agent_type="plain", task="t"), "A"), told)
    assert (own.sent, common.sent) == (["t"], ["S t"])
    assert [tool.name for tool in own.requests[0].tools] == ["write"]
    assert [tool.name for tool in common.requests[0].tools] == ["look"]
    assert [event.max_iterations for event in told.of(RunStarted)] == [10, 3, 10]


async def test_an_inbox_is_inherited_unless_the_spec_has_the_key() -> None:
    shared, own = FakeLabelInbox(), FakeLabelInbox()
    made = make_subagent_tool(
        FakeModel(["A"], forever=True),
        inbox=shared,
        agent_types={"researcher": {}, "writer": {"inbox": None}, "editor": {"inbox": own}},
    )
    spawns = [spawn(agent_type=name, task="t") for name in ("researcher", "writer", "editor")]
    await run(parent(made, *spawns, "A"))
    assert shared.labels == ["subagent-researcher"]
    assert own.labels == ["subagent-editor"]


@pytest.mark.parametrize(
    ("types", "says"),
    [
        ({}, "empty"),
        ({"a b": {}}, "label"),
        ({"": {}}, "label"),
        ({"writer": {"prompt": "x"}}, r"unknown key 'prompt'.*system_message"),
        ({"writer": "You write."}, "mapping"),
        ({"writer": {"system_message": 3}}, "system_message"),
        ({"writer": {"tools": "web"}}, "tools"),
        ({"writer": {"tools": [3]}}, r"agent_types\['writer'\]"),
        ({"writer": {"tools": [quick("subagent")]}}, "spawning"),
        ({"writer": {"max_iterations": 0}}, r"agent_types\['writer'\]"),
        ({"writer": {"spawns": "writer"}}, "spawns"),
        ({"writer": {"spawns": ("poet",)}}, "unknown type 'poet'"),
    ],
)
def test_a_roster_that_cannot_work_is_refused_when_the_factory_is_built(
    types: Mapping[str, Mapping[str, Any]], says: str
) -> None:
    with pytest.raises(RosterError, match=says):
        make_subagent_tool(FakeModel([]), agent_types=types)


def test_a_depth_of_nothing_is_refused() -> None:
    with pytest.raises(RosterError, match="max_depth"):
        make_subagent_tool(FakeModel([]), max_depth=0)


@pytest.mark.parametrize("tier", ["factory", "spec"])
def test_an_inbox_that_cannot_be_read_is_refused_at_both_tiers(tier: str) -> None:
    def build(inbox: object) -> Tool:
        given = cast("Inbox", inbox)
        if tier == "factory":
            return make_subagent_tool(FakeModel([]), inbox=given)
        return make_subagent_tool(FakeModel([]), agent_types={"writer": {"inbox": given}})

    with pytest.raises(NotAnInboxError):
        build("mailbox")
    with pytest.raises(InboxSignatureError):
        build(FakeNarrowInbox())


def nesting(
    *, depth: int, spawns: tuple[str, ...] | None = None, inbox: Inbox | None = None
) -> tuple[Tool, ModelClient]:
    """A roster whose researcher spawns a writer wherever it is offered to."""

    def script(request: ModelRequest) -> Assistant:
        offered = any(tool.name == "subagent" for tool in request.tools)
        if offered and not isinstance(request.history[-1], ToolResult):
            return spawn(agent_type="writer", task="deeper")
        return Assistant(f"{request.label} done")

    model = ScriptedModel(script)
    researcher: dict[str, Any] = {} if spawns is None else {"spawns": spawns}
    types = {"researcher": researcher, "writer": {"spawns": ()}}
    return make_subagent_tool(model, agent_types=types, max_depth=depth, inbox=inbox), model


async def test_a_child_may_spawn_only_where_depth_remains() -> None:
    for depth, labels in (
        (1, ["main", "subagent-researcher"]),
        (2, ["main", "subagent-researcher", "subagent-writer"]),
    ):
        told = Recorder()
        made, _ = nesting(depth=depth)
        await run(parent(made, spawn(agent_type="researcher", task="t"), "A"), told)
        started = told.of(RunStarted)
        assert [event.label for event in started] == labels
        assert [event.parent_run_id for event in started[1:]] == [event.run_id for event in started[:-1]]


async def test_a_roster_says_which_types_may_spawn_which() -> None:
    told = Recorder()
    made, _ = nesting(depth=3, spawns=("researcher",))
    await run(parent(made, spawn(agent_type="researcher", task="t"), "A"), told)
    assert [event.label for event in told.of(RunStarted)] == ["main", "subagent-researcher"]


async def test_a_nested_spawn_carries_the_factorys_inbox() -> None:
    inbox = FakeLabelInbox()
    made, _ = nesting(depth=2, inbox=inbox)
    await run(parent(made, spawn(agent_type="researcher", task="t"), "A"))
    assert inbox.labels == ["subagent-researcher", "subagent-writer"]


async def test_the_generic_shape_nests_as_deep_as_it_may() -> None:
    told = Recorder()

    def script(request: ModelRequest) -> Assistant:
        deeper = request.tools and not isinstance(request.history[-1], ToolResult)
        return spawn(task="deeper") if deeper else Assistant("A")

    made = make_subagent_tool(ScriptedModel(script), max_depth=3)
    await run(parent(made, spawn(task="t"), "A"), told)
    assert [event.label for event in told.of(RunStarted)] == ["main", *["subagent"] * 3]


async def test_spawns_of_one_turn_overlap() -> None:
    told = Recorder()
    meeting = asyncio.Barrier(2)

    class FakeMeetingModel(FakeModel):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
            await meeting.wait()  # nobody passes alone
            async for event in super().stream(request):
                yield event

    made = make_subagent_tool(FakeMeetingModel(["A"], forever=True))
    both = Assistant("", tool_calls=(call("subagent", task="a"), call("subagent", task="b")))
    assert (await run(parent(made, both, "A"), told)).answer == "A"
    assert [event.ordinal for event in told.of(RunStarted)] == [1, 1, 2]


async def test_spawns_that_are_not_concurrent_follow_each_other() -> None:
    told = Recorder()
    made = make_subagent_tool(FakeModel(["A"], forever=True), concurrent=False)
    both = Assistant("", tool_calls=(call("subagent", task="a"), call("subagent", task="b")))
    await run(parent(made, both, "A"), told)
    names = [name for name in told.names() if name in ("RunStarted", "RunFinished")]
    assert names == ["RunStarted", "RunStarted", "RunFinished", "RunStarted", "RunFinished", "RunFinished"]


async def test_a_child_that_fails_is_a_tool_error_and_its_siblings_go_on() -> None:
    told = Recorder()
    made = make_subagent_tool(
        FakeModel(["found it"]),
        agent_types={"good": {}, "bad": {"model": FakeModel([ModelError("no such model")], forever=True)}},
    )
    both = Assistant(
        "",
        tool_calls=(call("subagent", agent_type="bad", task="a"), call("subagent", agent_type="good", task="b")),
    )
    assert (await run(parent(made, both, "A"), told)).answer == "A"
    bad, good = results(told)
    assert bad.is_error
    assert bad.content == "subagent-bad failed: no such model"
    assert good.content == "found it"


@pytest.mark.parametrize(("last", "says"), [("half of it", "half of it"), (asks("look"), "no answer")])
async def test_a_capped_childs_answer_says_so(last: str | Assistant, says: str) -> None:
    told = Recorder()
    made = make_subagent_tool(FakeModel([asks("look"), last]), tools=[quick("look")], max_iterations=1)
    await run(parent(made, spawn(task="t"), "A"), told)
    (result,) = results(told)
    assert result.content.startswith("(stopped at its round limit) ")
    assert says in result.content


async def test_cancelling_the_parent_cancels_its_children_first() -> None:
    told = Recorder()
    waiting = asyncio.Event()

    class FakeStuckModel(FakeModel):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
            waiting.set()
            await asyncio.Event().wait()
            yield TextPart("never")

    made = make_subagent_tool(FakeStuckModel([]))
    task = asyncio.ensure_future(run(parent(made, spawn(task="t")), told))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    root, child = told.of(RunStarted)
    assert [(event.run_id, event.outcome) for event in told.of(RunFinished)] == [
        (child.run_id, Outcome.CANCELLED),
        (root.run_id, Outcome.CANCELLED),
    ]


async def test_a_message_to_the_root_during_a_childs_work_never_reaches_the_child() -> None:
    told = Recorder()
    sent: list[str] = []

    class FakeRootInbox:
        def reader(self, agent: str | None = None) -> Drain:
            def drain() -> list[str]:
                taken = list(sent)
                sent.clear()
                return taken

            return drain

    child = FakeModel(["found it"], {1: lambda: sent.append("x")})
    root = FakeModel([Assistant("", tool_calls=(ToolCall("call_1", "subagent", '{"task": "t"}'),)), "A"])
    agent = Agent(root, tools=[make_subagent_tool(child)], inbox=FakeRootInbox())
    await run(agent, told)
    assert child.sent == ["t"]
    assert root.sent == ["p", "p T subagent x"]


async def test_whoever_asked_for_the_events_is_told_those_of_every_spawned_run_and_of_no_other() -> None:
    told, heard = Recorder(), Recorder()
    child = ScriptedModel(replies(spawn(agent_type="deep", task="dig"), "dug", "found it"))
    made = make_subagent_tool(child, agent_types={"wide": {}, "deep": {}}, max_depth=2, events=heard)
    await run(parent(made, spawn(agent_type="wide", task="look"), "A"), told)
    root = told.of(RunStarted)[0].run_id
    assert [event.label for event in heard.of(RunStarted)] == ["subagent-wide", "subagent-deep"]
    assert heard.events == [event for event in told.events if getattr(event, "run_id", None) != root]


def test_events_that_cannot_be_told_to_are_refused_when_the_factory_is_built() -> None:
    with pytest.raises(RosterError, match=r"make_subagent_tool\(events=\.\.\.\) cannot be called: it got a list"):
        make_subagent_tool(FakeModel([]), events=cast("Any", []))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"agent_types": ["researcher"]},
            r"make_subagent_tool\(agent_types=\.\.\.\) is not a mapping: it got a list",
        ),
        ({"max_depth": "2"}, r"make_subagent_tool\(max_depth=\.\.\.\) is no depth: it got '2'"),
        ({"agent_types": {"a": {"model": None}}}, r"agent_types\['a'\]: Agent\(model=\.\.\.\) is no model"),
    ],
)
def test_a_mistake_in_a_factory_names_the_thing_the_place_and_the_fix(given: dict[str, Any], says: str) -> None:
    with pytest.raises(RosterError, match=says):
        make_subagent_tool(FakeModel([]), **given)
