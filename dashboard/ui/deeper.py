"""The one place that reaches into private parts of Textual, for speed: what is drawn is the same, cell by cell.

Textual's compositor asks every widget for all of its lines, whichever line has changed: it compares the changed
region with a widget's clip, not with the widget. With many panels that is most of the work of a frame. The one
here asks for the changed lines, of the widgets that can be seen there.

It is made for one version of Textual, and is not used with any other, nor where ``DASHBOARD_STOCK=1``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence

import textual
from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region
from textual.screen import Screen, ScreenResultType
from textual.strip import Strip
from textual.widget import Widget

MADE_FOR = "8.2.8"
STOCK_VARIABLE = "DASHBOARD_STOCK"
Span = tuple[int, int, int]  # a row, and from which column of it up to which
Chops = dict[int, Strip | None]  # the pieces of one row, by their column


def usable() -> bool:
    """Whether Textual is the version that this is made for, and nobody has asked for its own ways."""
    return textual.__version__ == MADE_FOR and os.environ.get(STOCK_VARIABLE, "") in ("", "0")


def quicken(screen: Screen[ScreenResultType]) -> None:
    """Let a screen draw only what has changed, where that is known to be right.

    Args:
        screen: one that has not been mounted yet.
    """
    if usable():
        screen._compositor = NarrowCompositor()  # noqa: SLF001 - see above


class MeasuredPaints(Screen[None]):
    """A mixin for a screen that wants to know what it takes to paint it, whichever compositor does."""

    def _compositor_refresh(self) -> None:
        began = time.monotonic()
        super()._compositor_refresh()
        self.painted(time.monotonic() - began)

    def painted(self, seconds: float) -> None:
        """Hear what a paint took: rendering, and handing it to the terminal."""


class NarrowCompositor(Compositor):
    """A compositor whose partial updates cost what changed, not what there is."""

    def render_partial_update(self) -> ChopsUpdate | None:
        """Render the regions that have changed; ``None`` if none has."""
        spans = list(self._regions_to_spans(self._dirty_regions))
        self._dirty_regions.clear()
        spans = [span for span in spans if 0 <= span[0] < self.size.height]
        if not spans:
            return None
        return ChopsUpdate(self._chops(spans), spans, self._ends(spans))

    def _chops(self, spans: Sequence[Span]) -> list[Chops]:
        """Render the pieces that the spans touch; the rest stays empty, and is not written."""
        cuts, nothing = self.cuts, Chops()
        chops = [nothing] * len(cuts)
        wanted: dict[Widget, tuple[Region, Region, list[int]]] = {}
        owned: dict[tuple[Widget, int], list[int]] = {}
        for y, x1, x2 in spans:
            if not chops[y]:
                chops[y] = dict.fromkeys(cuts[y][:-1])
            open_cuts = [x for x, end in zip(cuts[y], cuts[y][1:], strict=False) if x < x2 and end > x1]
            for widget, visible, region in self.layers_visible[y]:  # front to back: the first has it
                left, right = visible.column_span
                mine = [x for x in open_cuts if left <= x < right]
                if mine:
                    wanted.setdefault(widget, (visible, region, []))[2].append(y)
                    owned.setdefault((widget, y), []).extend(mine)
                    open_cuts = [x for x in open_cuts if not left <= x < right]
                    if not open_cuts:
                        break
        for widget, (visible, region, rows) in wanted.items():
            left, right = visible.column_span
            for first, after in _runs(rows):
                asked = Region(left - region.x, first - region.y, visible.width, after - first)
                lines = widget.render_lines(asked)
                for y, line in zip(range(first, after), lines, strict=False):
                    inside = [x for x in cuts[y] if left <= x <= right]
                    pieces = dict(zip(inside, line.divide([x - left for x in inside[1:]]), strict=False))
                    row = chops[y]
                    for x in owned[widget, y]:
                        row[x] = pieces.get(x)
        return chops

    def _ends(self, spans: Sequence[Span]) -> list[list[int]]:
        ends: list[list[int]] = [[]] * len(self.cuts)
        for y, _, _ in spans:
            ends[y] = self.cuts[y][1:]
        return ends


def _runs(rows: Iterable[int]) -> list[tuple[int, int]]:
    """Join rows that follow each other: from which, up to which."""
    runs: list[tuple[int, int]] = []
    for y in sorted(set(rows)):
        if runs and runs[-1][1] == y:
            runs[-1] = (runs[-1][0], y + 1)
        else:
            runs.append((y, y + 1))
    return runs
