"""Seeing that a journal's write-ahead log grows: somebody reads, and never comes to the end of it.

What is written goes into ``journal.db-wal`` first, and from there into the journal, once nobody reads an older
state of it any more. A console or a command that hangs in the midst of a read keeps that from happening, and the
log grows until the disk is full.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from dashboard.core.events import NoticeLevel, NoticeRaised

WAL_LIMIT = 64 * 1024 * 1024  # bytes; a log that is written back again and again stays at a few MiB
SEEN_LATELY = 60_000_000  # microseconds: a console seen within these may be the one that reads
_MEBIBYTE = 1024 * 1024


class WalWatch:
    """Looks at the log's size, and warns once it is past a limit, then at each doubling, until it has shrunk.

    Args:
        journal: the journal that the log is beside.
        limit: bytes.
    """

    def __init__(self, journal: Path, limit: int = WAL_LIMIT) -> None:
        self._log = journal.with_name(f"{journal.name}-wal")
        self._limit = limit
        self._next = limit  # what has to be passed for the next warning

    def look(self, operators: Callable[[], Sequence[str]]) -> NoticeRaised | None:
        """Look once; gives what to tell, if anything.

        Args:
            operators: names those of the consoles that were seen lately; asked only if there is something to tell.
        """
        size = self._size()
        if size <= self._limit:
            self._next = self._limit
            return None
        if size <= self._next:
            return None
        while self._next < size:
            self._next *= 2
        seen = ", ".join(dict.fromkeys(operators()))
        who = f"consoles seen in the last minute: {seen}" if seen else "no console was seen in the last minute"
        return NoticeRaised(
            level=NoticeLevel.WARNING,
            text=(
                f"the journal's write-ahead log has grown to {size // _MEBIBYTE} MiB: some console or command"
                f" holds a read open, and until that ends the log takes more and more of the disk; {who}"
            ),
        )

    def _size(self) -> int:
        try:
            return self._log.stat().st_size
        except OSError:
            return 0  # it is not there before the first write, nor once all is written back
