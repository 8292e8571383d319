"""The loop, its tools and its sub-agents."""

from dashboard.agent.loop import INHERIT, Agent, RunResult, run_agent
from dashboard.agent.runtime import Runtime
from dashboard.agent.subagents import make_subagent_tool
from dashboard.agent.tools import Tool, ToolContext, tool

__all__ = [
    "INHERIT",
    "Agent",
    "RunResult",
    "Runtime",
    "Tool",
    "ToolContext",
    "make_subagent_tool",
    "run_agent",
    "tool",
]
