"""How many lines each entry of a transcript takes, and which entry a line belongs to: logarithmic, not linear.

A height is exact once somebody has wrapped the entry; until then it is an estimate, so that a transcript of any
length can be shown, and shown at another width, at once.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

BLOCK = 256


class LineStore:
    """Heights per entry, and their sums per block of 256."""

    def __init__(self) -> None:
        self._heights = array("I")
        self._exact = bytearray()
        self._inexact = 0
        self._blocks: list[int] = []
        self._starts: list[int] | None = None

    def __len__(self) -> int:
        return len(self._heights)

    @property
    def total(self) -> int:
        """The lines of all entries."""
        starts = self._block_starts()
        return starts[-1] + self._blocks[-1] if starts else 0

    @property
    def inexact(self) -> int:
        """How many heights are estimates."""
        return self._inexact

    def height(self, index: int) -> int:
        """The lines of one entry."""
        return self._heights[index]

    def is_exact(self, index: int) -> bool:
        """Whether the height of an entry is known, not estimated."""
        return bool(self._exact[index])

    def set(self, index: int, height: int, *, exact: bool = True) -> int:
        """Set the lines of an entry, or append it if it is the next.

        Args:
            index: which entry.
            height: its lines.
            exact: whether that is known.

        Returns:
            By how many lines it grew.

        Raises:
            IndexError: there is a gap before it.
        """
        if index == len(self._heights):
            self._heights.append(0)
            self._exact.append(0)
            self._inexact += 1
            if index % BLOCK == 0:
                self._blocks.append(0)
                self._starts = None
        self._inexact += self._exact[index] - exact
        self._exact[index] = exact
        change = height - self._heights[index]
        if change:
            self._heights[index] = height
            block = index // BLOCK
            self._blocks[block] += change
            if block < len(self._blocks) - 1:  # the last block's sum moves no other block's start
                self._starts = None
        return change

    def last_inexact(self) -> int:
        """Give the last entry whose height is an estimate; -1 if there is none."""
        return self._exact.rfind(0) if self._inexact else -1

    def rescale(self, before: int, after: int) -> None:
        """Estimate every height for another width: what was so many cells wide is now so many.

        Args:
            before: the width that the heights are for, at least 1.
            after: the width that they shall be for, at least 1.
        """
        self._fill([max(1, height * before // after) for height in self._heights])

    def prepend(self, heights: Iterable[int]) -> None:
        """Put entries before the first one; their heights are estimates.

        Args:
            heights: theirs, in order.
        """
        new = list(heights)
        exact = bytes(len(new)) + self._exact
        self._fill([*new, *self._heights])
        self._exact[:] = exact
        self._inexact = exact.count(0)

    def clear(self) -> None:
        """Forget everything, as when what is folded changes."""
        self._fill([])

    def start(self, index: int) -> int:
        """Give the line at which an entry starts; for the index after the last, the total."""
        if index >= len(self._heights):
            return self.total
        block = index // BLOCK
        return self._block_starts()[block] + sum(self._heights[block * BLOCK : index])

    def locate(self, line: int) -> tuple[int, int]:
        """Find the entry that holds a line, and the line within it.

        Raises:
            IndexError: there is no such line.
        """
        if not 0 <= line < self.total:
            raise IndexError(line)
        starts = self._block_starts()
        block = bisect_right(starts, line) - 1
        rest = line - starts[block]
        index = block * BLOCK
        while rest >= self._heights[index]:
            rest -= self._heights[index]
            index += 1
        return index, rest

    def _fill(self, heights: list[int]) -> None:
        self._heights = array("I", heights)
        self._exact = bytearray(len(heights))
        self._inexact = len(heights)
        self._blocks = [sum(self._heights[at : at + BLOCK]) for at in range(0, len(heights), BLOCK)]
        self._starts = None

    def _block_starts(self) -> list[int]:
        if self._starts is None:
            self._starts = list(accumulate(self._blocks, initial=0))[:-1]
        return self._starts
