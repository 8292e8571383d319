"""The time that the journal's records carry."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], int]  # microseconds since the epoch, UTC


def wall_clock() -> int:
    """Give microseconds since the epoch, UTC."""
    return time.time_ns() // 1000
