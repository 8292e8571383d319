"""What a session's events tell of its mail, put together in the plainest way, by nothing that the journal uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dashboard.core import events as e
from dashboard.core.history import User
from dashboard.core.messages import ReturnReason
from dashboard.core.outcomes import Outcome
from dashboard.core.records import Record


class Story:
    """Every message and every run of a session, by its events alone."""

    def __init__(self) -> None:
        self.seq = 0
        self.gaps: list[int] = []
        self.deltas = 0
        self.closed = False
        self.live: dict[str, str] = {}  # the runs that have not ended, and their labels
        self.outcomes: dict[str, tuple[Outcome, int]] = {}
        self.accepted: dict[str, e.MessageQueued] = {}
        self.bodies: dict[str, str] = {}  # as last edited
        self.edits: set[tuple[str, str]] = set()
        self.moved: dict[str, set[str]] = {}  # what else was done to a message
        self.read: list[e.MessageDelivered] = []
        self.ends: dict[str, list[str]] = {}  # each of them, of which there may be one
        self.returned: list[tuple[str, ReturnReason, int]] = []
        self.histories: dict[str, Counter[str]] = {}  # per run: how often each user text stands in it

    def take(self, records: Iterable[Record]) -> None:
        """Take what comes next."""
        for record in records:
            if record.seq != self.seq + 1:
                self.gaps.append(record.seq)
            self.seq = record.seq
            self._take(record.event, record.seq)

    @property
    def open(self) -> set[str]:
        """The messages that still wait."""
        return self.accepted.keys() - self.ends.keys()

    def _take(self, event: object, seq: int) -> None:
        match event:
            case e.TextDelta() | e.ReasoningDelta():
                self.deltas += 1
            case e.RunStarted():
                self.live[event.run_id] = event.label
            case e.RunFinished():
                self.live.pop(event.run_id, None)
                self.outcomes[event.run_id] = event.outcome, seq
            case e.SessionClosed():
                self.closed = True
            case e.HistoryAppended(entry=User(content, None)):
                self.histories.setdefault(event.run_id, Counter())[content] += 1
            case e.MessageQueued():
                self.accepted[event.message_id] = event
                self.bodies[event.message_id] = event.body
            case e.MessageEdited():
                self.bodies[event.message_id] = event.body
                self.edits.add((event.message_id, event.body))
            case e.MessageHeld():
                self._move(event.message_id, "held" if event.held else "released")
            case e.MessagePromoted():
                self._move(event.message_id, "promoted")
            case e.MessageDelivered() if event.message_id is not None:
                self.read.append(event)
                self._end(event.message_id, "delivered")
            case e.MessageWithdrawn():
                self._end(event.message_id, "withdrawn")
            case e.MessageExpired():
                self._end(event.message_id, "expired")
            case e.MessageReturned():
                self.returned.append((event.message_id, event.reason, seq))
                self._end(event.message_id, "returned")
            case _:
                pass

    def _move(self, message_id: str, how: str) -> None:
        self.moved.setdefault(message_id, set()).add(how)

    def _end(self, message_id: str, how: str) -> None:
        self.ends.setdefault(message_id, []).append(how)
