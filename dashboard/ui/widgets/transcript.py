"""A live transcript, line by line: only the rows on the screen are ever drawn.

It scrolls by itself instead of being a ``ScrollView``: there, every appended line changes ``virtual_size`` and so
lays the whole screen out again. Here growth costs the lines that changed.
"""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from dashboard.core.sanitize import sanitize
from dashboard.core.transcript import TextEntry, TextKind
from dashboard.core.views import RunView
from dashboard.ui.entry_lines import WALL, ZOOMED, Line, Sheet, entry_lines, starts_paragraph
from dashboard.ui.glyphs import Glyphs
from dashboard.ui.line_store import LineStore
from dashboard.ui.wrapping import Wrapping

CACHED = 64
WHEEL = 3
_STYLES = (
    "text", "reasoning", "task", "label", "faint", "rail", "tool", "arguments", "result", "error", "notice", "end",
    "asking", "operator", "operator-head", "operator-rail", "operator-faint", "agent", "agent-head", "agent-rail",
    "agent-faint", "thumb", "track",
)  # fmt: skip


class TranscriptView(Widget):
    """The transcript of one run.

    Args:
        run: the run as the projection knows it; this only reads it.
        glyphs: the set in use.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"transcript--{name}" for name in _STYLES}

    def __init__(self, run: RunView, glyphs: Glyphs) -> None:
        super().__init__()
        self._run_view = run
        self._glyphs = glyphs
        self._folding = WALL
        self._store = LineStore()
        self._lines: dict[int, tuple[int, list[Line]]] = {}
        self._growing: tuple[TextEntry, Wrapping] | None = None
        self._span_styles: dict[str, Style] = {}
        self._width = 0
        self._top = 0
        self._follow = True  # kept, not worked out from the place: a resize moves the end away from under it
        self._seen = 0  # the lines that there were when the reader left the end

    @property
    def unseen(self) -> int:
        """How many lines came since the reader scrolled up."""
        return 0 if self._follow else max(0, self._store.total - self._seen)

    def set_zoomed(self, zoomed: bool) -> None:
        """Fold less when the transcript has the whole wall."""
        folding = ZOOMED if zoomed else WALL
        if folding is not self._folding:
            self._folding = folding
            self._rebuild()

    def sync(self, first: int) -> None:
        """Take in that entries from this index on are new or changed."""
        if not self._width:
            return  # not laid out yet: the first resize takes all of them
        first = min(first, len(self._store))
        top = self._top
        for index in range(first, len(self._run_view.entries)):
            self._store.set(index, len(self._entry(index)))
        if self._follow:
            self._top = self._last_top
        changed = self._store.start(first) - self._top  # the first row of the screen that can look different
        if self._top != top or changed <= 0:
            self.refresh()
        elif changed < self.size.height:
            self.refresh(Region(0, changed, self.size.width, self.size.height - changed))

    def scroll_lines(self, lines: int) -> None:
        """Scroll down by so many lines, or up by as many for a negative number."""
        self._go(self._top + lines)

    def scroll_pages(self, pages: int) -> None:
        """Scroll by pages, keeping two lines of the last one in sight."""
        self._go(self._top + pages * max(1, self.size.height - 2))

    def scroll_to_start(self) -> None:
        """Go to the first line."""
        self._go(0)

    def scroll_to_end(self) -> None:
        """Go to the last line, and follow."""
        self._go(self._store.total)

    def render_line(self, y: int) -> Strip:
        """Draw one row of the screen."""
        width = self.size.width
        base = self.rich_style
        if width <= 0:
            return Strip.blank(width, base)
        line = self._top + y
        segments: list[Segment] = []
        ground = base
        if line < self._store.total:
            index, offset = self._store.locate(line)
            spans = self._entry(index)[offset]
            segments = [Segment(text, self._style(name)) for text, name in spans if text]
            if spans and spans[0][1] == "operator-rail":
                ground = self._style("operator")  # a band across the panel: it must be found at a glance
        strip = Strip(segments).adjust_cell_length(width - 1, ground)
        return Strip([*strip, self._scrollbar(y)], width)

    def notify_style_update(self) -> None:
        """Forget the styles of the theme that was."""
        super().notify_style_update()
        self._span_styles.clear()

    def on_resize(self) -> None:
        """Wrap for the new width, and keep the line in sight that was at the top."""
        if self.size.width - 1 != self._width:
            self._rebuild()
        else:
            self._top = self._last_top if self._follow else min(self._top, self._last_top)
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
    def _last_top(self) -> int:
        return max(0, self._store.total - self.size.height)

    def _go(self, top: int) -> None:
        self._top = max(0, min(top, self._last_top))
        follow = self._top == self._last_top
        if self._follow and not follow:
            self._seen = self._store.total
        self._follow = follow
        self.refresh()

    def _rebuild(self) -> None:
        first, offset = self._store.locate(self._top) if self._top < self._store.total else (0, 0)
        part = offset / self._store.height(first) if len(self._store) else 0.0  # how far into its entry the top is
        unseen = self.unseen
        self._width = max(0, self.size.width - 1)
        self._store.clear()
        self._lines.clear()
        self._growing = None
        if self._width:
            for index in range(len(self._run_view.entries)):
                self._store.set(index, len(self._entry(index)))
        if self._follow or first >= len(self._store):
            self._top = self._last_top
        else:
            self._top = min(self._store.start(first) + int(part * self._store.height(first)), self._last_top)
        self._seen = self._store.total - unseen
        self.refresh()

    def _entry(self, index: int) -> list[Line]:
        entry = self._run_view.entries[index]
        cached = self._lines.pop(index, None)
        if cached is None or cached[0] != entry.version:
            cached = (entry.version, self._layout(index))
        self._lines[index] = cached  # the last in is the last to go
        if len(self._lines) > CACHED:
            del self._lines[next(iter(self._lines))]
        return cached[1]

    def _layout(self, index: int) -> list[Line]:
        entries = self._run_view.entries
        entry = entries[index]
        gap: list[Line] = [()] if starts_paragraph(entry, entries[index - 1] if index else None) else []
        if isinstance(entry, TextEntry) and entry.kind is TextKind.ANSWER and index >= len(entries) - 2:
            if self._growing is None or self._growing[0] is not entry:
                self._growing = (entry, Wrapping(self._width))
            wrapping = self._growing[1]
            wrapping.update(sanitize(entry.text).strip("\n"))
            return gap + [((line, "text"),) for line in wrapping.lines]
        return gap + entry_lines(entry, self._run_view, Sheet(self._width, self._folding, self._glyphs))

    def _style(self, name: str) -> Style:
        style = self._span_styles.get(name)
        if style is None:
            style = self._span_styles[name] = self.get_component_rich_style(f"transcript--{name}")
        return style

    def _scrollbar(self, y: int) -> Segment:
        height, total = self.size.height, self._store.total
        if total <= height:
            return Segment(" ", self.rich_style)
        thumb = max(1, height * height // total)
        start = round((height - thumb) * self._top / max(1, total - height))
        on = start <= y < start + thumb
        return Segment(self._glyphs.thumb if on else self._glyphs.track, self._style("thumb" if on else "track"))
