"""When a frame may be taken, and how much of it: keys come first, then what has waited longest.

Plain numbers from an injected clock: no timer and no widget. It goes by what a frame costs on this machine, in
this terminal, now; so it needs no setting.
"""

from __future__ import annotations

import time
from collections.abc import Callable

SLOW_SECONDS = 0.008  # a frame that takes longer than this is felt in the keys
QUIET_SECONDS = 0.020  # after a key its echo is drawn before anything else
LONGEST_HOLD_SECONDS = 0.1  # but whoever types without a pause still sees that the agents go on
COVERED_SECONDS = 0.25  # between frames under something that lies over the console
SLICE_SECONDS = 0.0025  # a frame, for what is out of sight


class Pacing:
    """Says when a frame is due and how many panels it may draw.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._key_at = self._began = self._spent = 0.0
        self._frame_at = float("-inf")
        self._most: int | None = None
        self._panels = 0

    @property
    def most(self) -> int | None:
        """How many panels a frame may draw; ``None`` while it can afford all."""
        return self._most

    def key(self) -> None:
        """Note that a key came."""
        self._key_at = self._clock()

    def due(self, *, covered: bool = False) -> bool:
        """Whether a frame may be taken now.

        Args:
            covered: whether something lies over the console, such as a picker.
        """
        now = self._clock()
        since = now - self._frame_at
        if covered and since < COVERED_SECONDS:
            return False
        return now - self._key_at >= QUIET_SECONDS or since >= LONGEST_HOLD_SECONDS

    def begin(self) -> None:
        """Begin a frame; the one before is judged by what it has cost until now."""
        if self._panels:
            if self._spent > SLOW_SECONDS:
                self._most = max(1, int(self._panels * SLOW_SECONDS / self._spent))
            elif self._most is not None and self._panels >= self._most:
                self._most += 1 + self._most // 4
            elif self._most is not None:
                self._most = None  # all that there was to draw was drawn in time
        self._frame_at = self._began = self._clock()
        self._spent = 0.0
        self._panels = 0

    def drew(self, panels: int) -> None:
        """Note how many panels were brought up to date since ``begin``."""
        self._panels = panels
        self._spent += self._clock() - self._began

    def painted(self, seconds: float) -> None:
        """Note what it took to paint."""
        self._spent += seconds

    def in_slice(self) -> Callable[[], bool]:
        """Give what says whether there is time for more work that nobody waits for."""
        until = self._clock() + SLICE_SECONDS
        return lambda: self._clock() < until
