"""What waits in a run's lanes, in the order of place: nothing may be read before what stands ahead of it (A4)."""

from __future__ import annotations

from dashboard.core.messages import Lane
from dashboard.journal.ledger import StoredMessage


class LaneCheck:
    """Keeps what waits, and says what a reading has passed over."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, Lane], dict[str, StoredMessage]] = {}  # in the order of place

    def put(self, message: StoredMessage) -> None:
        """Take a message that waits for a run as it stands now."""
        if message.run_id is None:
            return
        lane = self._waiting.setdefault((message.run_id, message.lane), {})
        last = next(reversed(lane.values()), None)
        in_order = message.id in lane or last is None or last.place < message.place
        lane[message.id] = message
        if not in_order:  # what waited for a label is bound in the order of acceptance
            ordered = sorted(lane.values(), key=lambda waiting: waiting.place)
            lane.clear()
            lane.update((waiting.id, waiting) for waiting in ordered)

    def drop(self, message: StoredMessage) -> None:
        """Forget a message that is read, comes back, or goes to another lane."""
        if message.run_id is not None:
            self._waiting.get((message.run_id, message.lane), {}).pop(message.id, None)

    def passed_over(self, message: StoredMessage) -> StoredMessage | None:
        """Give what should have been read instead of a message that is being read.

        What is held may be passed over; what a foreign loop has taken stands in an order of its own.
        """
        for waiting in self._waiting.get((message.run_id or "", message.lane), {}).values():
            if waiting.place >= message.place:
                return None
            if not waiting.held and waiting.taken == message.taken:
                return waiting
        return None
