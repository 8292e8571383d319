"""Runs under way, and the handles on them: what the tests of control start from."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dashboard.agent.agent import Agent
from dashboard.agent.life import Life
from dashboard.agent.loop import RunResult, run_agent
from dashboard.agent.subagents import make_subagent_tool
from dashboard.agent.tools import Tool
from dashboard.core.events import (
    RunStarted,
)
from dashboard.core.history import Assistant, ToolResult
from dashboard.models.base import ModelRequest
from dashboard.models.scripted import ScriptedModel, call
from tests.agent.fakes import Gate, Stage, asks


def begun(stage: Stage, agent: Agent, *, keep_open: bool = False) -> asyncio.Task[RunResult]:
    return asyncio.ensure_future(run_agent(agent, "p", stage.runtime, keep_open=keep_open))


def life_of(stage: Stage, label: str) -> Life:
    (started,) = [event for event in stage.told.of(RunStarted) if event.label == label][-1:]
    return stage.runtime.lives[started.run_id]


def spawning(*types: str) -> Assistant:
    return Assistant("", tool_calls=tuple(call("subagent", agent_type=name, task="look") for name in types))


def family(gate: Gate) -> Agent:
    """``main`` spawns ``slow``, which waits in its tool, and ``quick``; each answers once results are there."""
    model = ScriptedModel(play)
    spawn = make_subagent_tool(model, agent_types={"slow": {"tools": [gate.tool]}, "quick": {}})
    return Agent(model, tools=(spawn,), name="main")


def play(request: ModelRequest) -> Assistant:
    label = request.label
    if isinstance(request.history[-1], ToolResult):
        return Assistant(f"{label} answers")
    if label == "main":
        return spawning("slow", "quick")
    if label == "subagent-slow":
        return asks("wait")
    return Assistant("quick answers")


async def cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def opened(stage: Stage, task: str = "p", *tools: Tool, max_iterations: int = 10) -> asyncio.Task[Any]:
    agent = stage.agent(*tools, max_iterations=max_iterations)
    return asyncio.ensure_future(run_agent(agent, task, stage.runtime, keep_open=True))
