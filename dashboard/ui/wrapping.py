"""Wrapping text into lines of at most so many cells, wide characters and emoji sequences included."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
        if len(paragraph) <= width and paragraph.isascii() and "\t" not in paragraph:
            lines.append(paragraph.rstrip())  # nearly all of them
        else:
            lines.extend(line for line, _ in placed_lines(paragraph, width))
    return lines


def placed_lines(paragraph: str, width: int) -> Iterator[tuple[str, int]]:
    """Wrap one paragraph; gives each line, and where in the paragraph it begins.

    A paragraph that goes on changes its last line only, and what follows: whatever comes before is final. Of one
    with tabs the places are those in the text with its tabs expanded.

    Args:
        paragraph: sanitised text without newlines.
        width: cells a line, at least 2.
    """
    if "\t" in paragraph:
        paragraph = paragraph.expandtabs(TAB)
    line, used, start, place = "", 0, 0, 0
    for word in _WORDS.findall(paragraph):
        bare = word.rstrip()
        size = cell_len(bare)
        if used + size > width:
            if line.strip():
                yield line.rstrip(), start
            line, used, start = "", 0, place
            if size > width:
                *full, rest = chop_cells(bare, width)
                for piece in full:
                    yield piece, start
                    start += len(piece)
                place += len(bare) - len(rest)
                word = rest + word[len(bare) :]
        line += word
        used += cell_len(word)
        place += len(word)
    yield line.rstrip(), start
