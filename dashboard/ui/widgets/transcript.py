"""A live transcript, line by line: only the rows on the screen are ever drawn, and only those that have changed.

It scrolls by itself instead of being a ``ScrollView``: there, every appended line changes ``virtual_size`` and so
lays the whole screen out again. Here growth costs the lines that changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.color import Color
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from dashboard.core.views import RunView
from dashboard.ui.entry_lines import WALL, ZOOMED, Line
from dashboard.ui.glyphs import Glyphs
from dashboard.ui.reading import Reading

WHEEL = 3
KEPT = 512  # rows that are kept as they were drawn
_STYLES = (
    "text", "reasoning", "task", "label", "faint", "rail", "tool", "arguments", "result", "error", "notice", "end",
    "asking", "operator", "operator-head", "operator-rail", "operator-faint", "agent", "agent-head", "agent-rail",
    "agent-faint", "thumb", "track",
)  # fmt: skip


class TranscriptView(Widget):
    """The transcript of one run. It has no border and no padding: its rows are drawn without the way around them.

    Args:
        run: the run as the projection knows it; this only reads it.
        glyphs: the set in use.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"transcript--{name}" for name in _STYLES}

    def __init__(self, run: RunView, glyphs: Glyphs) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._reading = Reading(run, glyphs)
        self._span_styles: dict[str, Style] = {}
        self._ground: tuple[Style, Color] | None = None
        self._drawn: dict[tuple[int, int, str], tuple[Line, Strip]] = {}

    @property
    def unseen(self) -> int:
        """How many lines came since the reader scrolled up."""
        return self._reading.unseen

    def set_zoomed(self, zoomed: bool) -> None:
        """Fold less when the transcript has the whole wall."""
        if self._reading.fold(ZOOMED if zoomed else WALL):
            self._drawn.clear()
            self.refresh()

    def sync(self, first: int) -> None:
        """Take in that entries from this index on are new or changed."""
        reading = self._reading
        if not reading.width:
            return  # not laid out yet: the first resize takes all of them
        before, total = (reading.top, reading.thumb), reading.total
        row = reading.take(first) - reading.top  # the first row of the screen that can look different
        below = min(max(total, reading.total) - reading.top, reading.height)  # and the first that is empty as ever
        if (reading.top, reading.thumb) != before or row <= 0:
            self.refresh()
        elif row < below:
            self.refresh(Region(0, row, reading.width + 1, below - row))

    def refine(self, in_time: Callable[[], bool]) -> bool:
        """Wrap what is out of sight while there is time; gives whether more is left."""
        before = self._reading.thumb
        left = self._reading.refine(in_time)
        if self._reading.thumb != before:
            self.refresh()
        return left

    def scroll_lines(self, lines: int) -> None:
        """Scroll down by so many lines, or up by as many for a negative number."""
        self._reading.scroll(lines)
        self.refresh()

    def scroll_pages(self, pages: int) -> None:
        """Scroll by pages, keeping two lines of the last one in sight."""
        self.scroll_lines(pages * max(1, self.size.height - 2))

    def scroll_to_start(self) -> None:
        """Go to the first line."""
        self._reading.to_start()
        self.refresh()

    def scroll_to_end(self) -> None:
        """Go to the last line, and follow."""
        self._reading.to_end()
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw some rows. There is nothing around them, so the rows are all that there is to draw."""
        width = self.size.width  # looked up once: it takes longer than a row that is drawn already
        strips = [self.render_line(y) for y in crop.line_range]
        if width != self._reading.width + 1:  # the resize is still on its way here
            strips = [strip.adjust_cell_length(width, self._base[0]) for strip in strips]
        for line_filter in self.get_line_filters():
            strips = [strip.apply_filter(line_filter, self._base[1]) for strip in strips]
        if crop.column_span != (0, width):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        """Draw one row of the screen, or give it as it was drawn."""
        index, offset, line = self._reading.row(y) or (-1, 0, ())
        bar = self._bar(y)
        drawn = self._drawn.get((index, offset, bar))
        if drawn is None or drawn[0] is not line:
            if len(self._drawn) >= KEPT:
                self._drawn.clear()
            drawn = self._drawn[index, offset, bar] = line, self._draw(line, bar)
        return drawn[1]

    def notify_style_update(self) -> None:
        """Forget the styles of the theme that was."""
        super().notify_style_update()
        self._span_styles.clear()
        self._drawn.clear()
        self._ground = None

    def on_resize(self) -> None:
        """Wrap for the new size, and keep the line in sight that was at the top."""
        self._drawn.clear()
        self._reading.resize(max(0, self.size.width - 1), self.size.height)
        self.refresh()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll down."""
        event.stop()
        self.scroll_lines(WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll up."""
        event.stop()
        self.scroll_lines(-WHEEL)

    @property
    def _base(self) -> tuple[Style, Color]:
        if self._ground is None:
            self._ground = self.rich_style, self.background_colors[1]
        return self._ground

    def _draw(self, line: Line, bar: str) -> Strip:
        base = self._base[0]
        segments = [Segment(text, self._style(name)) for text, name in line if text]
        # a band across the panel: it must be found at a glance
        ground = self._style("operator") if line and line[0][1] == "operator-rail" else base
        width = self._reading.width
        strip = Strip(segments).adjust_cell_length(width, ground)
        glyph = {"thumb": self._glyphs.thumb, "track": self._glyphs.track}.get(bar, " ")
        return Strip([*strip, Segment(glyph, self._style(bar) if bar else base)], width + 1)

    def _style(self, name: str) -> Style:
        style = self._span_styles.get(name)
        if style is None:
            style = self._span_styles[name] = self.get_component_rich_style(f"transcript--{name}")
        return style

    def _bar(self, y: int) -> str:
        """Say which part of the scrollbar stands in a row; nothing where everything is in sight."""
        start, end = self._reading.thumb
        if not end:
            return ""
        return "thumb" if start <= y < end else "track"
