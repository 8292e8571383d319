"""Wrapping text into lines of at most so many cells, wide characters and emoji sequences included.

Text that grows is wrapped again only from its last paragraph on.
"""

from __future__ import annotations

import re

from rich.cells import cell_len, chop_cells

_WORDS = re.compile(r"\S+[^\S\n]*|[^\S\n]+")
TAB = 4
NARROWEST = 2  # one wide character


def wrap(text: str, width: int) -> list[str]:
    """Wrap text at spaces, and inside a word only where the word alone is too wide.

    Args:
        text: sanitised text; newlines end a line, tabs are expanded.
        width: cells a line, at least 2 (less is taken as 2).

    Returns:
        At least one line, without trailing white space.
    """
    width = max(NARROWEST, width)
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines.extend(_wrap_paragraph(paragraph, width))
    return lines


class Wrapping:
    """The lines of one text at one width, kept while the text grows.

    Args:
        width: cells a line.
    """

    def __init__(self, width: int) -> None:
        self.width = max(NARROWEST, width)
        self.lines: list[str] = []
        self._text = ""
        self._paragraph = 0  # where the last paragraph begins in the text
        self._finished = 0  # how many lines come before it

    def update(self, text: str) -> None:
        """Take the text as it is now. Where it only grew, all but its last paragraph keeps its lines."""
        if not (len(text) >= len(self._text) and text.startswith(self._text[: self._paragraph])):
            self._paragraph = self._finished = 0
        del self.lines[self._finished :]
        self.lines.extend(wrap(text[self._paragraph :], self.width))
        start = text.rfind("\n") + 1
        self._text = text
        if start > self._paragraph:
            self._paragraph = start
            self._finished = len(self.lines) - len(_wrap_paragraph(text[start:], self.width))


def _wrap_paragraph(paragraph: str, width: int) -> list[str]:
    if "\t" in paragraph:
        paragraph = paragraph.expandtabs(TAB)
    if len(paragraph) <= width and paragraph.isascii():
        return [paragraph.rstrip()]
    lines: list[str] = []
    line, used = "", 0
    for word in _WORDS.findall(paragraph):
        bare = word.rstrip()
        size = cell_len(bare)
        if used + size > width:
            if line.strip():
                lines.append(line.rstrip())
            line, used = "", 0
            if size > width:
                *full, rest = chop_cells(bare, width)
                lines.extend(full)
                word = rest + word[len(bare) :]
        line += word
        used += cell_len(word)
    lines.append(line.rstrip())
    return lines
