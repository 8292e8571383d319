"""Reading a session from its start to where it stands now, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dashboard.core.projection import Projection
from dashboard.core.records import Record

PAGE = 2_000
Read = Callable[[int, int], list[Record]]


def every_record(read: Read, after: int = 0) -> Iterator[Record]:
    """Give every event there is by now, in order.

    Args:
        read: gives the events that follow a seq, at most so many.
        after: the seq to begin behind.
    """
    while page := read(after, PAGE):
        yield from page
        after = page[-1].seq


def fold_all(read: Read) -> Projection:
    """Fold every event there is by now."""
    projection = Projection()
    while page := read(projection.seq, PAGE):
        projection.fold(page)
    return projection
