"""Runs the demo's scripts without a loop: real file tools, sub-agents answered by their own scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from dashboard.core.errors import ToolError
from dashboard.core.history import Assistant, Entry, ToolCall, ToolResult, User
from dashboard.host.demo import SCRIPTS
from dashboard.host.reports import ReportFolder
from dashboard.host.toolbox import RootedFiles
from dashboard.models.base import ModelRequest, ToolSchema

OFFERED = {
    "main": ("list_dir", "grep", "read_file", "subagent"),
    "researcher": ("list_dir", "grep", "read_file", "subagent"),
    "reviewer": ("list_dir", "grep", "read_file"),
    "writer": ("read_file", "grep", "write_report"),
}


@dataclass
class FakeRun:
    """One run of a script, and the runs that it spawned.

    Args:
        kind: the agent type.
        root: what the file tools are rooted in.
        out: the session's folder.
        mail: by agent type and its ordinal, what is delivered after so many rounds.
    """

    kind: str
    root: Path
    out: Path
    mail: Mapping[str, Mapping[int, tuple[str, ...]]] = field(default_factory=dict)
    history: list[Entry] = field(default_factory=list)
    spawned: list[FakeRun] = field(default_factory=list)
    name: str = "main"
    everyone: dict[str, FakeRun] = field(default_factory=dict)

    def go(self, task: str, rounds: int = 40) -> str:
        """Run to the answer."""
        self.everyone[self.name] = self
        self.history.append(User(task))
        return self.go_on(rounds)

    def go_on(self, rounds: int = 40) -> str:
        for _ in range(rounds):
            entry = self.next_turn()
            waiting = self.mail.get(self.name, {}).get(self.rounds, ())
            self.history.extend(User(text) for text in waiting)
            if not entry.tool_calls and not waiting:
                return entry.content
        raise AssertionError(f"{self.name} goes on for ever")

    def next_turn(self) -> Assistant:
        offered = tuple(ToolSchema(name, "", {}) for name in OFFERED[self.kind])
        said = SCRIPTS[self.kind](ModelRequest(self.kind, tuple(self.history), offered))
        calls = tuple(
            ToolCall(f"call_{len(self.history)}_{place}", call.name, call.arguments)
            for place, call in enumerate(said.tool_calls)
        )
        entry = Assistant(said.content, said.reasoning, calls)
        self.history.append(entry)
        self.history.extend(self.result(call) for call in calls)
        return entry

    @property
    def turns(self) -> list[Assistant]:
        return [entry for entry in self.history if isinstance(entry, Assistant)]

    @property
    def rounds(self) -> int:
        return len(self.turns)

    @property
    def words(self) -> int:
        return sum(len(turn.content.split()) + len(turn.reasoning.split()) for turn in self.turns)

    def result(self, call: ToolCall) -> ToolResult:
        files = RootedFiles(self.root)
        functions: dict[str, Callable[..., str]] = {
            "list_dir": files.list_dir,
            "grep": files.grep,
            "read_file": files.read_file,
            "subagent": self.spawn,
            "write_report": ReportFolder(self.out).write_report,
        }
        assert call.name in OFFERED[self.kind], call
        try:
            return ToolResult(call.id, call.name, functions[call.name](**arguments(call)))
        except ToolError as error:
            return ToolResult(call.id, call.name, str(error), is_error=True)

    def spawn(self, agent_type: str, task: str) -> str:
        number = sum(run.kind == agent_type for run in self.everyone.values()) + 1
        child = FakeRun(agent_type, self.root, self.out, self.mail, name=f"{agent_type}#{number}")
        child.everyone = self.everyone
        self.spawned.append(child)
        return child.go(task)


def arguments(call: ToolCall) -> dict[str, Any]:
    """Give the arguments of a call."""
    return msgspec.json.decode(call.arguments, type=dict[str, Any])
