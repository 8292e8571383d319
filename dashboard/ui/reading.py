"""One reader's place in one transcript: which lines there are, which are in sight, and what a change moves.

Only what is in sight is wrapped. Everything else has an estimated height, which is made exact while there is time,
and the line at the top of the screen stays where it is meanwhile.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable

from dashboard.core.transcript import TextEntry, TextKind, TranscriptEntry
from dashboard.core.views import RunView
from dashboard.ui.entry_lines import WALL, Folding, Line, Sheet, entry_lines, starts_paragraph
from dashboard.ui.glyphs import Glyphs
from dashboard.ui.growing import GrowingText
from dashboard.ui.line_store import LineStore

CACHED = 64  # entries whose lines are kept
AT_ONCE = 64  # so many new entries are wrapped as they come; of more, those in sight
LONGEST_GUESS = 40  # lines


class Reading:
    """The place, and the lines around it.

    Args:
        run: whose transcript; this only reads it.
        glyphs: the set in use.
    """

    def __init__(self, run: RunView, glyphs: Glyphs) -> None:
        self.top = 0
        self.follow = True  # kept, not worked out from the place: a resize moves the end away from under it
        self.width = 0
        self.height = 0
        self._run = run
        self._glyphs = glyphs
        self._folding = WALL
        self._store = LineStore()
        self._versions = array("L")
        self._lines: dict[int, tuple[int, list[Line]]] = {}
        self._growing: _Growing | None = None
        self._seen = 0  # the lines that there were when the reader left the end

    @property
    def total(self) -> int:
        """The lines that there are."""
        return self._store.total

    @property
    def inexact(self) -> int:
        """How many entries have an estimated height."""
        return self._store.inexact

    @property
    def unseen(self) -> int:
        """How many lines came since the reader scrolled up."""
        return 0 if self.follow else max(0, self.total - self._seen)

    @property
    def thumb(self) -> tuple[int, int]:
        """The rows of the scrollbar's thumb: from which, up to which; none where everything is in sight."""
        height, total = self.height, self.total
        if total <= height:
            return 0, 0
        size = max(1, height * height // total)
        start = round((height - size) * self.top / max(1, total - height))
        return start, start + size

    def row(self, y: int) -> tuple[int, int, Line] | None:
        """Give the line in a row of the screen, with its entry and its place in that; ``None`` below the last."""
        line = self.top + y
        if line >= self.total:
            return None
        index, offset = self._store.locate(line)
        lines = self._entry(index)
        return index, offset, lines[offset] if offset < len(lines) else ()  # it changed, and was not taken in yet

    def take(self, first: int) -> int:
        """Take in that entries from this index on are new or changed.

        Returns:
            The first line that may be another than it was.
        """
        entries, store = self._run.entries, self._store
        known = len(store)
        first = min(first, known)
        changed = store.start(first)
        exact = len(entries) - known <= AT_ONCE
        for index in range(first, len(entries)):
            version = entries[index].version
            if index >= known:
                self._versions.append(version)
            elif self._versions[index] == version:
                if index == first:
                    first, changed = first + 1, changed + store.height(first)
                continue
            self._versions[index] = version
            if exact or index < known:
                store.set(index, len(self._entry(index)))
                if index == first and self._growing is not None and self._growing.entry is entries[index]:
                    changed += self._growing.stable
            else:
                store.set(index, self._guess(entries[index]), exact=False)
        self._settle()
        return changed

    def resize(self, width: int, height: int) -> None:
        """Wrap for another size, and keep the line in sight that was at the top."""
        self.height = height
        if width != self.width:
            before, self.width = self.width, width
            self._rewrap(max(1, before), max(1, width))
        else:
            self._settle()

    def fold(self, folding: Folding) -> bool:
        """Cut other things short; gives whether that is a change."""
        if folding is self._folding:
            return False
        self._folding = folding
        self._rewrap(1, 1)
        return True

    def scroll(self, lines: int) -> None:
        """Go down by so many lines, or up by as many for a negative number."""
        if lines < 0 and self.total:
            self._measure_above(-lines)
        self._go(self.top + lines)

    def to_start(self) -> None:
        """Go to the first line."""
        self._go(0)

    def to_end(self) -> None:
        """Go to the last line, and follow."""
        self.follow = True
        self._settle()

    def refine(self, in_time: Callable[[], bool]) -> bool:
        """Make heights exact while there is time, from the end backwards.

        Args:
            in_time: asked before each entry.

        Returns:
            Whether there are estimates left.
        """
        while self.width and (index := self._store.last_inexact()) >= 0:
            if not in_time():
                return True
            self._measure(index)
        return False

    @property
    def _last_top(self) -> int:
        return max(0, self.total - self.height)

    def _go(self, top: int) -> None:
        follow = self.follow
        self.follow = False
        self.top = max(0, min(top, self._last_top))
        self._settle()
        self.follow = self.top == self._last_top
        if follow and not self.follow:
            self._seen = self.total

    def _settle(self) -> None:
        """Wrap what is in sight, and keep the place in what there is."""
        if not self.width or not len(self._store):
            self.top = 0
        elif self.follow:
            index, room = len(self._store) - 1, self.height
            while index >= 0 and room > 0:
                self._measure(index)
                room -= self._store.height(index)
                index -= 1
            self.top = self._last_top
        else:
            self.top = min(self.top, self._last_top)
            index, offset = self._store.locate(self.top)
            self._measure(index, keep=False)
            offset = min(offset, self._store.height(index) - 1)
            self.top = self._store.start(index) + offset
            room = self.height - (self._store.height(index) - offset)
            while room > 0 and index + 1 < len(self._store):
                index += 1
                self._measure(index, keep=False)
                room -= self._store.height(index)
            self.top = min(self.top, self._last_top)

    def _measure_above(self, lines: int) -> None:
        """Wrap what comes into sight when the reader goes up by so many lines."""
        index, offset = self._store.locate(self.top)
        lines -= offset
        while lines > 0 and index > 0:
            index -= 1
            self._measure(index)
            lines -= self._store.height(index)

    def _measure(self, index: int, *, keep: bool = True) -> None:
        """Make the height of an entry exact; ``keep`` moves the place along, if the entry is above it."""
        if self._store.is_exact(index):
            return
        above = keep and self._store.start(index) < self.top
        grown = self._store.set(index, len(self._entry(index)))
        if above:
            self.top += grown
        self._seen += grown

    def _rewrap(self, before: int, after: int) -> None:
        store = self._store
        at = store.locate(self.top) if not self.follow and self.top < store.total else None
        part = at[1] / store.height(at[0]) if at else 0.0  # how far into its entry the top is
        unseen = self.unseen
        self._lines.clear()
        self._growing = None
        if not len(store):
            self._take_all()
        store.rescale(before, after)
        if at:
            self._measure(at[0], keep=False)
            self.top = store.start(at[0]) + int(part * store.height(at[0]))
        self._settle()
        self._seen = self.total - unseen

    def _take_all(self) -> None:
        if self.width:
            for index, entry in enumerate(self._run.entries):
                self._versions.append(entry.version)
                self._store.set(index, self._guess(entry), exact=False)

    def _guess(self, entry: TranscriptEntry) -> int:
        size = entry.size if isinstance(entry, TextEntry) else 80
        return min(LONGEST_GUESS, 1 + size // max(1, self.width))

    def _entry(self, index: int) -> list[Line]:
        entry = self._run.entries[index]
        cached = self._lines.pop(index, None)
        if cached is None or cached[0] != entry.version:
            cached = (entry.version, self._lay_out(index))
        self._lines[index] = cached  # the last in is the last to go
        if len(self._lines) > CACHED:
            del self._lines[next(iter(self._lines))]
        return cached[1]

    def _lay_out(self, index: int) -> list[Line]:
        entries = self._run.entries
        entry = entries[index]
        gap = starts_paragraph(entry, entries[index - 1] if index else None)
        if isinstance(entry, TextEntry) and entry.kind is TextKind.ANSWER and index >= len(entries) - 2:
            if self._growing is None or not self._growing.goes_on(entry):
                self._growing = _Growing(entry, self.width, gap=gap)
            return self._growing.lines()
        lines = entry_lines(entry, self._run, Sheet(self.width, self._folding, self._glyphs))
        return [(), *lines] if gap else lines


class _Growing:
    """The lines of the answer that streams in: those that a piece does not change stay the same objects."""

    def __init__(self, entry: TextEntry, width: int, *, gap: bool) -> None:
        self.entry = entry
        self.stable = 0
        self._rewritten = entry.rewritten
        self._taken = 0
        self._gap = int(gap)
        self._text = GrowingText(width)
        self._lines: list[Line] = [()] * self._gap

    def goes_on(self, entry: TextEntry) -> bool:
        """Whether these are the lines of that entry, which has only grown since."""
        return self.entry is entry and self._rewritten == entry.rewritten

    def lines(self) -> list[Line]:
        """Give the lines as they are now."""
        self._text.feed(self.entry.since(self._taken))
        self._taken = self.entry.size
        self.stable = min(len(self._lines), self._gap + self._text.stable)
        new: list[Line] = [((line, "text"),) for line in self._text.lines[self.stable - self._gap :]]
        self._lines[self.stable :] = new
        return self._lines
