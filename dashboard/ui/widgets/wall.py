"""The wall: a grid of live panels in a stable order, as many as fit, the rest a key away."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from textual.containers import Container

from dashboard.core.changes import Changes
from dashboard.core.projection import Projection
from dashboard.ui.glyphs import Glyphs
from dashboard.ui.widgets.panel import Panel

NARROWEST, LOWEST = 40, 7
MOST = 12
SHAPE = 3.4  # the cells across for each cell down that read best


@dataclass(frozen=True, slots=True)
class GridShape:
    """How many panels stand beside and below each other."""

    columns: int
    rows: int

    @property
    def room(self) -> int:
        """How many panels it holds."""
        return self.columns * self.rows


def fit(panels: int, width: int, height: int) -> GridShape:
    """Choose the grid for so many panels: all of them if they can be read, else as many as can.

    Args:
        panels: how many there are, at least 1.
        width: cells across.
        height: cells down.
    """
    most_columns = max(1, width // NARROWEST)
    most_rows = max(1, height // LOWEST)
    shown = max(1, min(panels, most_columns * most_rows, MOST))
    shapes = [GridShape(columns, math.ceil(shown / columns)) for columns in range(1, most_columns + 1)]
    fitting = [shape for shape in shapes if shape.rows <= most_rows]

    def badness(shape: GridShape) -> tuple[float, int]:
        across, down = width / shape.columns, height / shape.rows
        return abs(math.log(across / down / SHAPE)) + 0.25 * (shape.room - shown), shape.columns

    return min(fitting, key=badness)


class Wall(Container, can_focus=True):
    """All panels; it has the focus while the operator watches.

    Args:
        projection: what the panels show; this only reads it.
        glyphs: the set in use.
    """

    def __init__(self, projection: Projection, glyphs: Glyphs) -> None:
        super().__init__(id="wall")
        self._projection = projection
        self._glyphs = glyphs
        self._panels: dict[str, Panel] = {}
        self._dirty: dict[str, int] = {}  # transcripts behind the projection, and from which entry on
        self._chosen: str | None = None
        self._zoomed = False
        self._shape = GridShape(1, 1)

    @property
    def chosen(self) -> str | None:
        """The id of the selected run."""
        return self._chosen

    @property
    def zoomed(self) -> bool:
        """Whether the selected panel stands alone."""
        return self._zoomed

    @property
    def chosen_panel(self) -> Panel | None:
        """The selected panel."""
        return self._panels.get(self._chosen or "")

    @property
    def hidden(self) -> int:
        """How many panels are not in sight."""
        return sum(not panel.display for panel in self._panels.values())

    @property
    def dirty(self) -> bool:
        """Whether a transcript is behind the projection."""
        return bool(self._dirty)

    async def apply(self, changes: Changes, now: int) -> None:
        """Take in what a fold changed; the transcripts follow with ``flush``."""
        if changes.started:
            await self._add(changes.started)
        for run_id, first in changes.entries.items():
            self._dirty[run_id] = min(first, self._dirty.get(run_id, first))  # it keeps its place in the queue
        for run_id in changes.runs & self._panels.keys():
            self._panels[run_id].show_head(now)
        moved = {self._projection.messages[message_id].run_id or "" for message_id in changes.messages}
        for run_id in (moved | set(changes.started)) & self._panels.keys():
            self._panels[run_id].show_pending(self._projection.pending_for(run_id))

    def flush(self, most: int | None, now: int) -> int:
        """Bring transcripts in sight up to date, those first that wait longest.

        Args:
            most: how many at most; ``None`` for all.
            now: microseconds since the epoch, UTC.

        Returns:
            How many it were.
        """
        drawn = 0
        for run_id in list(self._dirty):
            if most is not None and drawn >= most:
                break
            first = self._dirty.pop(run_id)
            panel = self._panels.get(run_id)
            if panel is not None and panel.display:  # what is out of sight is taken in when it comes into sight
                panel.sync(first, now)
                drawn += 1
        return drawn

    def refine(self, in_time: Callable[[], bool]) -> bool:
        """Wrap what the panels in sight have above and below; gives whether more is left."""
        return any(panel.transcript.refine(in_time) for panel in self._panels.values() if panel.display)

    def tick(self, now: int) -> None:
        """Let the times that pass, pass."""
        for panel in self._panels.values():
            if panel.display and panel.ticking:
                panel.show_head(now)

    def choose(self, run_id: str, now: int) -> None:
        """Select a run, and bring its panel into sight."""
        before = self.chosen_panel
        self._chosen = run_id
        for panel in (before, self.chosen_panel):
            if panel is not None:
                panel.set_chosen(panel.run_id == run_id)
                panel.show_head(now)
        self.lay_out()

    def neighbour(self, direction: str) -> str | None:
        """Give the run that one step in a direction would select, or ``None`` at the edge."""
        order = list(self._panels)
        if self._chosen not in self._panels:
            return order[0] if order else None
        at = order.index(self._chosen)
        down = 1 if self._zoomed else self._shape.columns
        step = {"left": -1, "right": 1, "up": -down, "down": down}[direction]
        to = at + step
        if direction == "down" and to >= len(order) and at // down < (len(order) - 1) // down:
            to = len(order) - 1  # the last row is not full: its last panel is the nearest one below
        return order[to] if 0 <= to < len(order) else None

    def set_zoomed(self, zoomed: bool) -> None:
        """Show the selected panel alone, or all of them."""
        self._zoomed = zoomed
        self.lay_out()

    def lay_out(self) -> None:
        """Lay the panels out for the size that the wall has now."""
        panels = list(self._panels.values())
        if not panels or not self.size.area:
            return
        chosen = self.chosen_panel
        alone = self._zoomed and chosen is not None
        self._shape = GridShape(1, 1) if alone else fit(len(panels), self.size.width, self.size.height)
        shown: Sequence[Panel]
        if alone and chosen is not None:
            shown = [chosen]
        else:
            page = panels.index(chosen) // self._shape.room if chosen else 0
            shown = panels[page * self._shape.room : (page + 1) * self._shape.room]
        self.styles.grid_size_columns, self.styles.grid_size_rows = self._shape.columns, self._shape.rows
        self._show(shown, alone=alone)

    def on_resize(self) -> None:
        """Lay out again."""
        self.lay_out()

    def _show(self, shown: Sequence[Panel], *, alone: bool) -> None:
        short = self._shape.room - len(shown)
        for panel in self._panels.values():
            visible = panel in shown
            newly = visible and not panel.display
            panel.display = visible
            panel.transcript.set_zoomed(alone and visible)
            panel.styles.column_span = 1
            if newly:
                panel.transcript.sync(0)  # it was not drawn while out of sight
        if shown and 0 < short < self._shape.columns:
            shown[-1].styles.column_span = 1 + short  # no hole at the end of the last row

    async def _add(self, run_ids: Iterable[str]) -> None:
        panels = [Panel(self._projection.runs[run_id], self._glyphs) for run_id in run_ids]
        self._panels.update({panel.run_id: panel for panel in panels})
        await self.mount(*panels)
        self.lay_out()
