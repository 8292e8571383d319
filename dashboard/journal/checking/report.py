"""What a check found."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

MOST_FAULTS = 200
Tell = Callable[[str, str], None]  # what is wrong, and where


class Fault(msgspec.Struct, frozen=True):
    """One thing that is not as it has to be.

    Args:
        what: in plain words.
        where: the event, the run, the message or the request, or the file.
    """

    what: str
    where: str


class Report(msgspec.Struct, frozen=True):
    """A journal that was checked.

    Args:
        session_id: the session.
        events: how many it has.
        runs: how many it had.
        messages: how many were accepted.
        delivered: how many of them were read.
        faults: what is wrong, in the order in which it was found; at most ``MOST_FAULTS``.
        more_faults: how many more there are.
        notes: what is unusual and no fault.
    """

    session_id: str
    events: int = 0
    runs: int = 0
    messages: int = 0
    delivered: int = 0
    faults: tuple[Fault, ...] = ()
    more_faults: int = 0
    notes: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


class Findings:
    """Collects what is wrong, and does not grow with how much that is."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.more = 0
        self._unknown: dict[str, tuple[int, int]] = {}  # per type: how many, and the seq of the first

    def tell(self, what: str, where: str) -> None:
        """Take a fault."""
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(Fault(what, where))
        else:
            self.more += 1

    def note_unknown(self, kind: str, seq: int) -> None:
        """Take an event of a type, or a shape, that this version does not know: a newer one's is no fault."""
        count, first = self._unknown.get(kind, (0, seq))
        self._unknown[kind] = count + 1, first

    def notes(self) -> tuple[str, ...]:
        """Give what is unusual and no fault."""
        return tuple(
            f"{count:,} of a type or shape that this version does not know: {kind}, first in {at_seq(first)}"
            for kind, (count, first) in self._unknown.items()
        )


def at_seq(seq: int) -> str:
    """Name an event."""
    return f"event {seq}"
