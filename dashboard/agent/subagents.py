"""The tool with which an agent spawns sub-agents: a roster of typed ones, or one generic shape (P13, P14)."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dashboard.agent.agent import DEFAULT_MAX_ITERATIONS, Agent
from dashboard.agent.approval import MARKED, Approval, approval_of
from dashboard.agent.loop import run_agent
from dashboard.agent.telling import Emit
from dashboard.agent.tools import Tool, ToolContext, tool
from dashboard.core.errors import RosterError, ToolError
from dashboard.core.inbox import Inbox, check_inbox
from dashboard.core.labels import AGENT_TYPE, subagent_label
from dashboard.core.outcomes import Outcome
from dashboard.models.base import ModelClient

TOOL_NAME = "subagent"
SPEC_KEYS = ("system_message", "tools", "model", "max_iterations", "inbox", "approval", "spawns")


def make_subagent_tool(
    model: ModelClient,
    *,
    system_message: str = "",
    tools: Sequence[Tool] = (),
    agent_types: Mapping[str, Mapping[str, Any]] | None = None,
    max_depth: int = 1,
    max_iterations: int = DEFAULT_MAX_ITERATIONS,
    concurrent: bool = True,
    inbox: Inbox | None = None,
    approval: Approval | str | Collection[str] = MARKED,
    events: Emit | None = None,
) -> Tool:
    """Make the ``subagent`` tool. Each call of it is a run of its own, and gives that run's answer.

    Source: "Give a running agent an inbox", "One mailbox for a roster of sub-agents"; P13, P14. A sub-agent that
    fails or is cancelled is a tool error to its parent, whose other calls go on; a capped one's answer says so.

    Args:
        model: what sub-agents run on.
        system_message: what a sub-agent is told that it is.
        tools: what a sub-agent may call, next to spawning.
        agent_types: the roster, by type; ``None`` for the generic shape, which takes a task alone. A spec's
            ``system_message``, ``tools``, ``model``, ``max_iterations``, ``inbox`` and ``approval`` stand instead
            of the arguments of the same name, where the key is there at all: ``"inbox": None`` turns it off.
            ``spawns`` names the types that this type may spawn while ``max_depth`` allows; every type without it.
        max_depth: how many runs may stand below a root, one under the other; from 1.
        max_iterations: a sub-agent's round budget.
        concurrent: whether several spawns of one round overlap.
        inbox: what sub-agents read, nested ones too.
        approval: which of a sub-agent's tool calls wait for an operator's word; as for ``Agent`` (H4).
        events: told every event of every run that is spawned here, in order; must not block.

    Raises:
        RosterError: an empty roster, a type that cannot be a label, an unknown key, a value of the wrong kind.
        NotAnInboxError: an ``inbox`` is no inbox (a ``ValueError``).
        InboxSignatureError: an inbox's reader cannot be called with a label (a ``TypeError``).
    """
    check_inbox(inbox, "make_subagent_tool(inbox=...)")
    approval_of(approval, "make_subagent_tool(approval=...)")
    if not isinstance(tools, list | tuple):
        raise RosterError(
            "make_subagent_tool(tools=...) is no list", f"it got a {type(tools).__name__}", "Give a list of tools"
        )
    if agent_types is not None and not isinstance(agent_types, Mapping):
        raise RosterError(
            "make_subagent_tool(agent_types=...) is not a mapping", f"it got a {type(agent_types).__name__}",
            "Give a dict of specs by type, or None",
        )  # fmt: skip
    if events is not None and (not callable(events) or inspect.iscoroutinefunction(events)):
        raise RosterError(
            "make_subagent_tool(events=...) cannot be called", f"it got a {type(events).__name__}",
            "Give a plain function that takes one event",
        )  # fmt: skip
    if not isinstance(max_depth, int) or max_depth < 1:
        raise RosterError(
            "make_subagent_tool(max_depth=...) is no depth", f"it got {max_depth!r}", "Give an int, 1 or more"
        )
    factory = {
        "system_message": system_message,
        "tools": tools,
        "model": model,
        "max_iterations": max_iterations,
        "inbox": inbox,
        "approval": approval,
    }
    listeners = () if events is None else (events,)
    if agent_types is None:
        generic = _shape(None, factory, ())
        approval_of(approval, "make_subagent_tool(approval=...)", generic.tool_names)
        return _Spawner({None: generic}, max_depth, concurrent, listeners).tool((None,))
    if not agent_types:
        raise RosterError("make_subagent_tool(agent_types=...) is empty", fix="Name a type, or give None")
    shapes: dict[str | None, _Shape] = {
        name: _shape(name, {**factory, **_checked(name, spec, agent_types)}, tuple(agent_types))
        for name, spec in agent_types.items()
    }
    for name, shape in shapes.items():
        if "approval" in agent_types[str(name)]:
            approval_of(shape.approval, f"agent_types[{name!r}]['approval']", shape.tool_names)
    every_tool = set().union(*(shape.tool_names for shape in shapes.values()))
    approval_of(approval, "make_subagent_tool(approval=...)", every_tool)
    return _Spawner(shapes, max_depth, concurrent, listeners).tool(tuple(shapes))


@dataclass(frozen=True, slots=True)
class _Shape:
    """One kind of sub-agent: its agent without the means to spawn, and what it may spawn given those."""

    agent: Agent
    spawns: tuple[str | None, ...]
    approval: Approval

    @property
    def tool_names(self) -> set[str]:
        """What it can call, given the means to spawn too."""
        return {TOOL_NAME, *(tool.name for tool in self.agent.tools)}


@dataclass(frozen=True, slots=True)
class _Spawner:
    """Every kind of sub-agent of one factory, by type; the generic one stands under ``None``."""

    shapes: Mapping[str | None, _Shape]
    max_depth: int
    concurrent: bool
    listeners: tuple[Emit, ...]

    def tool(self, spawns: tuple[str | None, ...]) -> Tool:
        """Make the tool that spawns these types, or the generic one that takes a task alone."""
        if spawns == (None,):
            return tool(self._generic, name=TOOL_NAME, concurrent=self.concurrent)
        known = [name for name in spawns if name is not None]

        async def typed(agent_type: str, task: str, context: ToolContext) -> str:
            """Hand a task to a sub-agent, which works on it alone and gives back its answer.

            Args:
                agent_type: which sub-agent.
                task: all that it needs to know; it sees nothing else of this conversation.
                context: who asks.
            """
            if agent_type not in known:
                raise ToolError(
                    f"there is no sub-agent type {agent_type!r} to spawn", fix=f"Use one of: {', '.join(known)}"
                )
            return await self._spawn(agent_type, task, context)

        made = tool(typed, name=TOOL_NAME, concurrent=self.concurrent)
        # the model is shown the choice, but an unknown type is answered by the tool, in its own words
        properties = made.parameters["properties"]
        choice = {**properties["agent_type"], "enum": known}
        return replace(made, parameters={**made.parameters, "properties": {**properties, "agent_type": choice}})

    async def _generic(self, task: str, context: ToolContext) -> str:
        """Hand a task to a sub-agent, which works on it alone and gives back its answer.

        Args:
            task: all that it needs to know; it sees nothing else of this conversation.
            context: who asks.
        """
        return await self._spawn(None, task, context)

    async def _spawn(self, agent_type: str | None, task: str, context: ToolContext) -> str:
        depth = context.depth + 1
        if depth > self.max_depth:
            raise ToolError(
                f"sub-agents may stand {self.max_depth} deep and no deeper", fix="Do this task yourself"
            )
        shape = self.shapes[agent_type]
        agent = shape.agent
        if depth < self.max_depth and shape.spawns:
            tools = (*agent.tools, self.tool(shape.spawns))
            agent = replace(agent, tools=tools, approval=shape.approval.among(shape.tool_names))
        label = subagent_label(agent_type)
        result = await run_agent(
            agent,
            task,
            context.runtime,
            label=label,
            parent_run_id=context.run_id,
            parent_tool_call_id=context.tool_call_id,
            depth=depth,
            listeners=self.listeners,
        )
        if result.outcome is Outcome.ERROR:
            raise ToolError(f"{label} failed", result.error)
        if result.outcome is Outcome.CANCELLED:
            raise ToolError(f"{result.name} was cancelled", result.error, "Go on without its answer")
        if result.outcome is Outcome.WRAP_UP:
            return f"(stopped at its round limit) {result.answer or 'It gave no answer.'}"
        return result.answer


def _shape(name: str | None, spec: Mapping[str, Any], types: tuple[str, ...]) -> _Shape:
    where = "make_subagent_tool" if name is None else f"agent_types[{name!r}]"
    if any(isinstance(given, Tool) and given.name == TOOL_NAME for given in spec["tools"]):
        raise RosterError(
            f"{where}: tools has one called {TOOL_NAME}", "that name is the spawning tool's",
            "Raise max_depth instead, so that sub-agents get it",
        )  # fmt: skip
    try:
        agent = Agent(
            spec["model"], spec["system_message"], tuple(spec["tools"]), spec["max_iterations"],
            subagent_label(name), spec["inbox"],
        )  # fmt: skip
    except RosterError as error:
        raise RosterError(f"{where}: {error.what}", error.why, error.fix) from error
    approval = approval_of(spec["approval"], f"{where}['approval']")
    approved = replace(agent, approval=approval.among([tool.name for tool in agent.tools]))
    return _Shape(approved, tuple(spec.get("spawns", types or (None,))), approval)


def _checked(name: str, spec: object, agent_types: Mapping[str, object]) -> Mapping[str, Any]:
    where = f"agent_types[{name!r}]"
    if not isinstance(name, str) or not AGENT_TYPE.fullmatch(name):
        raise RosterError(
            f"{where} cannot be a label", "a type is 1 to 63 letters, digits, '_', '.' or '-'",
            "Start it with a letter or a digit",
        )  # fmt: skip
    if not isinstance(spec, Mapping):
        raise RosterError(
            f"{where} is not a mapping", f"it got a {type(spec).__name__}", "Give a dict of its keys"
        )
    for key in spec:
        if key not in SPEC_KEYS:
            raise RosterError(f"{where} has an unknown key {key!r}", fix=f"Use any of: {', '.join(SPEC_KEYS)}")
    if "inbox" in spec:
        check_inbox(spec["inbox"], f"{where}['inbox']")
    if "approval" in spec:
        approval_of(spec["approval"], f"{where}['approval']")
    _check_kind(where, spec, "system_message", str, "a str")
    _check_kind(where, spec, "tools", list | tuple, "a list or tuple of tools")
    _check_kind(where, spec, "max_iterations", int, "an int")
    _check_kind(where, spec, "spawns", list | tuple, "a list or tuple of type names")
    for other in spec.get("spawns", ()):
        if other not in agent_types:
            raise RosterError(
                f"{where}: spawns names an unknown type {other!r}", fix=f"Use any of: {', '.join(agent_types)}"
            )
    return spec


def _check_kind(where: str, spec: Mapping[str, Any], key: str, kind: Any, words: str) -> None:  # noqa: ANN401 - a type or a union
    if key in spec and not isinstance(spec[key], kind):
        raise RosterError(f"{where}: {key} is not {words}", f"it got a {type(spec[key]).__name__}")
