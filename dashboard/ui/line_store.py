"""How many lines each entry of a transcript takes, and which entry a line belongs to: logarithmic, not linear."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from itertools import accumulate

BLOCK = 256


class LineStore:
    """Heights per entry, and their sums per block of 256."""

    def __init__(self) -> None:
        self._heights = array("I")
        self._blocks: list[int] = []
        self._starts: list[int] | None = None

    def __len__(self) -> int:
        return len(self._heights)

    @property
    def total(self) -> int:
        """The lines of all entries."""
        starts = self._block_starts()
        return starts[-1] + self._blocks[-1] if starts else 0

    def height(self, index: int) -> int:
        """The lines of one entry."""
        return self._heights[index]

    def set(self, index: int, height: int) -> None:
        """Set the lines of an entry, or append it if it is the next.

        Raises:
            IndexError: there is a gap before it.
        """
        if index == len(self._heights):
            self._heights.append(0)
            if index % BLOCK == 0:
                self._blocks.append(0)
                self._starts = None
        change = height - self._heights[index]
        if not change:
            return
        self._heights[index] = height
        block = index // BLOCK
        self._blocks[block] += change
        if block < len(self._blocks) - 1:  # the last block's sum moves no other block's start
            self._starts = None

    def clear(self) -> None:
        """Forget everything, as when the width changes."""
        del self._heights[:]
        self._blocks.clear()
        self._starts = None

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

    def _block_starts(self) -> list[int]:
        if self._starts is None:
            self._starts = list(accumulate(self._blocks, initial=0))[:-1]
        return self._starts
