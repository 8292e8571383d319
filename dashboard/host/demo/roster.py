"""The demo's roster: a root that delegates to researchers, a reviewer and a writer over one folder of files."""

from __future__ import annotations

import asyncio
from pathlib import Path

from dashboard.agent import Agent, Tool, make_subagent_tool
from dashboard.core.inbox import Inbox
from dashboard.core.labels import ROOT_LABEL
from dashboard.core.sanitize import sanitize_line
from dashboard.host.demo import SCRIPTS, STAGING, TASK
from dashboard.host.reports import report_tool
from dashboard.host.roster import Roster
from dashboard.host.toolbox import file_tools
from dashboard.models.scripted import Pace, ScriptedModel, Sleep

_SYSTEM = {
    "main": "You lead an investigation: delegate it, and answer from what comes back.",
    "researcher": "You look for the cause in the files that you are given, and cite file and line.",
    "reviewer": "You check whether a claim's citations really say what is claimed.",
    "writer": "You write the report from the findings, and nothing that they do not say.",
}


def demo_roster(root: Path | None, session_folder: Path, speed: float, sleep: Sleep = asyncio.sleep) -> Roster:
    """Build the demo's roster.

    Args:
        root: the folder to investigate; the packaged staging incident without one.
        session_folder: where reports go.
        speed: how fast text streams: 1 can be read along, 0 never waits.
        sleep: how to wait, in seconds.
    """
    folder = STAGING if root is None else root
    pace = Pace.readable(speed)
    models = {name: ScriptedModel(script, pace, sleep) for name, script in SCRIPTS.items()}
    files = file_tools(folder)

    def make_root(inbox: Inbox) -> Agent:
        spawn: Tool = make_subagent_tool(
            models["researcher"],
            agent_types={
                "researcher": {
                    "system_message": _SYSTEM["researcher"],
                    "model": models["researcher"],
                    "tools": files,
                    "max_iterations": 12,
                    "spawns": ("reviewer",),
                },
                "reviewer": {"system_message": _SYSTEM["reviewer"], "model": models["reviewer"], "tools": files},
                "writer": {
                    "system_message": _SYSTEM["writer"],
                    "model": models["writer"],
                    "tools": (*files, report_tool(session_folder)),
                },
            },
            max_depth=2,
            inbox=inbox,
        )
        return Agent(
            models["main"], _SYSTEM["main"], (*files, spawn), max_iterations=10, name=ROOT_LABEL, inbox=inbox
        )

    title = "staging incident" if root is None else f"files of {sanitize_line(root.name or str(root), 60)}"
    return Roster(title, TASK, ("researcher", "reviewer", "writer"), make_root)
