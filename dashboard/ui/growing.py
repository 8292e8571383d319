"""Text that streams in, as wrapped lines: only what may still change is sanitised and wrapped again."""

from __future__ import annotations

from dashboard.core.sanitize import sanitize, settled
from dashboard.ui.wrapping import NARROWEST, TAB, placed_lines


class GrowingText:
    """The lines of one text at one width, kept while the text grows.

    They are those of ``wrap`` for the sanitised text without the newlines around it, at the cost of the last line.
    A piece may end in the middle of what ``sanitize`` looks at as one, such as an emoji sequence.

    Args:
        width: cells a line.
    """

    def __init__(self, width: int) -> None:
        self.width = max(NARROWEST, width)
        self.lines: list[str] = [""]
        self.stable = 0  # how many of the lines the last piece left as they were
        self._final = 0  # how many of the lines no piece can change any more
        self._begun = False
        self._breaks = 0  # newlines that count only once something follows them
        self._column = 0  # at which of its paragraph's columns that begins, which tabs go by
        self._safe = ""  # what the lines that are not final are made of: sanitised, as far as it is settled
        self._raw = ""  # and what comes behind it, as it came

    def feed(self, piece: str) -> None:
        """Take in what came next."""
        final, before = self._final, self.lines[self._final :]
        first, *more = piece.split("\n")
        self._extend(first)
        for part in more:
            self._breaks += 1
            self._extend(part)
        self._lay_out()
        self.stable = final
        for old, new in zip(before, self.lines[final:], strict=False):
            if old != new:
                break
            self.stable += 1

    def _extend(self, part: str) -> None:
        """Go on with the paragraph, or with the next one."""
        if not part:
            return
        if self._begun and self._breaks:
            self._lay_out()
            self.lines.extend([""] * (self._breaks - 1))
            self._final = len(self.lines)
            self._safe = self._raw = ""
            self._column = 0
        self._begun, self._breaks = True, 0
        raw = self._raw + part
        cut = settled(raw)
        self._safe += sanitize(raw[:cut])
        self._raw = raw[cut:]

    def _lay_out(self) -> None:
        text = self._safe + sanitize(self._raw)
        tabs = "\t" in text
        if tabs:
            text = (" " * self._column + text).expandtabs(TAB)[self._column :]
        placed = list(placed_lines(text, self.width))
        self.lines[self._final :] = [line for line, _ in placed]
        start = placed[-1][1]
        if 0 < start <= len(self._safe) and not tabs:
            self._final += len(placed) - 1
            self._column = (self._column + start) % TAB
            self._safe = self._safe[start:]
