"""One glyph for each state and mark, beside its word; an ASCII set for terminals that draw the others badly."""

from __future__ import annotations

import locale
import os
from dataclasses import dataclass, field

from dashboard.core.views import RunState

GLYPHS_VARIABLE = "DASHBOARD_GLYPHS"


@dataclass(frozen=True, slots=True)
class Glyphs:
    """A set of glyphs, each one cell wide."""

    states: dict[RunState, str] = field(default_factory=dict)
    selected: str = "▶"
    rail: str = "▌"
    thin_rail: str = "│"
    pending: str = "◌"
    read: str = "✓"
    returned: str = "↩"
    tool: str = "▸"
    spawn: str = "→"
    down: str = "↓"
    dot: str = "·"
    more: str = "…"
    branch: str = "├ "
    last: str = "└ "
    through: str = "│ "
    thumb: str = "┃"
    track: str = " "
    play: str = "▶"
    hold: str = "‖"


UNICODE = Glyphs(
    {
        RunState.WORKING: "●",
        RunState.TOOL: "◆",
        RunState.WAITING: "◐",
        RunState.APPROVAL: "▲",
        RunState.PAUSED: "‖",
        RunState.BLOCKED: "⊘",
        RunState.IDLE: "○",
        RunState.DONE: "✓",
        RunState.CAPPED: "◑",
        RunState.CANCELLED: "■",
        RunState.ERROR: "✗",
        RunState.LOST: "?",
    }
)
ASCII = Glyphs(
    {
        RunState.WORKING: "*",
        RunState.TOOL: "+",
        RunState.WAITING: "~",
        RunState.APPROVAL: "^",
        RunState.PAUSED: ":",
        RunState.BLOCKED: "x",
        RunState.IDLE: "o",
        RunState.DONE: "=",
        RunState.CAPPED: "%",
        RunState.CANCELLED: "#",
        RunState.ERROR: "!",
        RunState.LOST: "?",
    },
    selected=">",
    rail="|",
    thin_rail="|",
    pending="o",
    read="+",
    returned="<",
    tool=">",
    spawn=">",
    down="v",
    dot="-",
    more="~",
    branch="|-",
    last="`-",
    through="| ",
    thumb="#",
    track=" ",
    play=">",
    hold=":",
)


def choose_glyphs() -> Glyphs:
    """Give the set that ``DASHBOARD_GLYPHS`` names (unicode or ascii), else the one the locale can write."""
    named = os.environ.get(GLYPHS_VARIABLE, "")
    if named in ("unicode", "ascii"):
        return UNICODE if named == "unicode" else ASCII
    return UNICODE if "utf" in locale.getpreferredencoding(False).lower() else ASCII
