"""The loop, its tools and its sub-agents."""

from dashboard.agent.agent import Agent
from dashboard.agent.approval import Approval
from dashboard.agent.chunks import Chunk, ChunkKind
from dashboard.agent.loop import INHERIT, RunResult, run_agent
from dashboard.agent.rendering import frame, pretty_print
from dashboard.agent.runtime import Runtime
from dashboard.agent.subagents import make_subagent_tool
from dashboard.agent.tools import Tool, ToolContext, tool

__all__ = [
    "INHERIT",
    "Agent",
    "Approval",
    "Chunk",
    "ChunkKind",
    "RunResult",
    "Runtime",
    "Tool",
    "ToolContext",
    "frame",
    "make_subagent_tool",
    "pretty_print",
    "run_agent",
    "tool",
]
