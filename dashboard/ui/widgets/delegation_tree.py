"""The delegation tree: who spawned whom, and what each is doing."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from dashboard.core.projection import Projection
from dashboard.core.sanitize import sanitize_line
from dashboard.core.views import RunState, RunView
from dashboard.ui.glyphs import Glyphs
from dashboard.ui.wording import SHORT_WORDS

TONES = {
    RunState.WORKING: "live",
    RunState.TOOL: "live",
    RunState.WAITING: "quiet",
    RunState.APPROVAL: "asking",
    RunState.PAUSED: "warned",
    RunState.BLOCKED: "warned",
    RunState.IDLE: "quiet",
    RunState.DONE: "done",
    RunState.CAPPED: "warned",
    RunState.CANCELLED: "warned",
    RunState.ERROR: "failed",
    RunState.LOST: "failed",
}
_STYLES = ("name", "guide", "chosen", "pending", *dict.fromkeys(TONES.values()))


class DelegationTree(Widget):
    """The tree, one row a run; the selected row is always in sight.

    Args:
        projection: what it shows; this only reads it.
        glyphs: the set in use.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"tree--{name}" for name in _STYLES}

    class Chosen(Message):
        """The operator clicked on a row."""

        def __init__(self, run_id: str) -> None:
            super().__init__()
            self.run_id = run_id

    def __init__(self, projection: Projection, glyphs: Glyphs) -> None:
        super().__init__(id="tree")
        self.border_title = "delegation"
        self._projection = projection
        self._glyphs = glyphs
        self._rows: list[tuple[str, RunView]] = []
        self._chosen: str | None = None
        self._top = 0

    def sync(self, chosen: str | None) -> None:
        """Draw the tree as it is now, with this run selected."""
        self._chosen = chosen
        self._rows = list(self._guided())
        at = next((row for row, (_, run) in enumerate(self._rows) if run.run_id == chosen), 0)
        height = max(1, self.size.height)
        self._top = min(max(self._top, at - height + 1), at, max(0, len(self._rows) - height))
        below = len(self._rows) - self._top - height
        self.border_subtitle = f"{self._glyphs.down} {below} more" if below > 0 else None
        self.refresh()

    def on_resize(self) -> None:
        """Keep the selected row in sight."""
        self.sync(self._chosen)

    def on_click(self, event: events.Click) -> None:
        """Tell who was clicked; the screen decides what follows."""
        row = event.get_content_offset(self)
        at = self._top + row.y if row is not None else -1
        if 0 <= at < len(self._rows):
            event.stop()
            self.post_message(self.Chosen(self._rows[at][1].run_id))

    def render_line(self, y: int) -> Strip:
        """Draw one row."""
        width, base = self.size.width, self.rich_style
        at = self._top + y
        if at >= len(self._rows) or width <= 0:
            return Strip.blank(width, base)
        guide, run = self._rows[at]
        chosen = run.run_id == self._chosen
        name_style = self._style("chosen" if chosen else "name")
        tone = self._style(TONES[run.state])
        mark = self._glyphs.selected if chosen else " "
        tail = f"r{run.round}" if run.live and run.round else ""
        state = str(run.state)
        pending = f" {self._glyphs.pending}{len(run.waiting)}" if run.waiting else ""
        name = sanitize_line(run.short, 40)
        room = width - len(guide) - len(name) - len(pending) - 5
        fitting = (f"{state} {tail}".strip(), state, SHORT_WORDS.get(run.state, state))
        words = next((text for text in fitting if len(text) <= room), "")
        segments = [
            Segment(f"{mark}{guide}", self._style("guide")),
            Segment(f"{self._glyphs.states[run.state]} ", tone),
            Segment(name, name_style),
            Segment(pending, self._style("pending")),
            Segment(f" {words}", tone),
        ]
        return Strip(segments).adjust_cell_length(width, base).crop(0, width)

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"tree--{name}")

    def _guided(self) -> list[tuple[str, RunView]]:
        """Give every row with the lines that lead to it."""
        rows: list[tuple[str, RunView]] = []
        runs = self._projection.runs
        guides: dict[str, str] = {}
        for run in self._projection.tree():
            parent = runs.get(run.parent_run_id or "")
            if parent is None:
                guides[run.run_id] = ""
                rows.append(("", run))
                continue
            last = parent.children[-1] == run.run_id
            above = guides[parent.run_id]
            guides[run.run_id] = above + ("  " if last else self._glyphs.through)
            rows.append((above + (self._glyphs.last if last else self._glyphs.branch), run))
        return rows
