"""The demo: a packaged incident, and specialists that reason by rule over what their tools really return."""

from __future__ import annotations

from pathlib import Path

from dashboard.host.demo.desk import script
from dashboard.host.demo.main import Main
from dashboard.host.demo.researcher import Researcher
from dashboard.host.demo.reviewer import Reviewer
from dashboard.host.demo.writer import Writer
from dashboard.models.scripted import Script

__all__ = ["SCRIPTS", "STAGING", "TASK", "script_for"]

STAGING = Path(__file__).parent / "staging"
TASK = "Investigate the files in this folder: what went wrong, when did it begin, and what is the likely cause?"
SCRIPTS: dict[str, Script] = {
    "main": script(Main),
    "researcher": script(Researcher),
    "reviewer": script(Reviewer),
    "writer": script(Writer),
}


def script_for(agent_type: str | None) -> Script:
    """Give the script of a specialist; without a type, the script of the root.

    Raises:
        KeyError: there is no specialist of that type.
    """
    return SCRIPTS["main" if agent_type is None else agent_type]
