"""Places where a process can be made to die, so that tests can look at what is left.

``DASHBOARD_FAILPOINT=commit.before:3`` ends the process, as a kill would, the third time it comes to that point.
Without the variable a point costs a comparison.
"""

from __future__ import annotations

import os
from collections.abc import Callable

VARIABLE = "DASHBOARD_FAILPOINT"
STATUS = 87  # what a process that died at a failpoint exits with
POINTS = frozenset(
    {
        "create.before",  # a new journal is whole, and has not its name yet
        "create.after",
        "append.before",  # one event of a transaction, and what it changes in the tables
        "append.after",
        "end.before",  # the end of a run, and the return of its mail
        "end.after",
        "commit.before",
        "commit.after",
    }
)


class Failpoints:
    """The points of a process, and the one of them at which it dies.

    Args:
        wanted: ``name`` or ``name:n``; empty for none.
        die: what happens there.

    Raises:
        ValueError: there is no such point.
    """

    def __init__(self, wanted: str, die: Callable[[int], object] = os._exit) -> None:
        self._point, _, count = wanted.partition(":")
        self._left = int(count) if count.isdigit() else 1
        self._die = die
        if wanted and (
            self._point not in POINTS or not (count.isdigit() or wanted == self._point) or not self._left
        ):
            raise ValueError(f"{VARIABLE}={wanted!r} names no failpoint; there are: {', '.join(sorted(POINTS))}")

    def at(self, point: str) -> None:
        """Come to a point; at the one that is wanted, the process dies once it has come often enough."""
        if point == self._point:
            self._left -= 1
            if self._left == 0:
                self._die(STATUS)


at = Failpoints(os.environ.get(VARIABLE, "")).at
