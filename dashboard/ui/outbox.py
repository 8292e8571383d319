"""What the operator has sent from here: on its way, accepted, and what became of it."""

from __future__ import annotations

from itertools import islice

from dashboard.core.messages import Message, SenderKind
from dashboard.core.projection import Projection
from dashboard.core.views import MessageView
from dashboard.ui.drafts import Target
from dashboard.ui.glyphs import Glyphs
from dashboard.ui.receipts import ReceiptLine, Sending, receipt_line, sending_line

SHOWN = 2
SEARCHED = 50
NEWS = 60_000_000  # microseconds for which a settled receipt stays in sight


class Outbox:
    """Receipts for the operator's messages, those of an earlier console of the same operator included.

    Args:
        projection: what the journal tells.
        operator: whose messages these are.
        glyphs: the set in use.
    """

    def __init__(self, projection: Projection, operator: str, glyphs: Glyphs) -> None:
        self._projection = projection
        self._operator = operator
        self._glyphs = glyphs
        self._sending: dict[str, Sending] = {}

    def put(self, message: Message, target: Target) -> None:
        """Note that a message is on its way into the journal."""
        self._sending[message.id] = Sending(message.id, target.name, message.body, message.composed_at)

    def settle(self, message_id: str) -> None:
        """Note that the journal has answered, whatever it said."""
        self._sending.pop(message_id, None)

    def receipts(self, now: int) -> list[ReceiptLine]:
        """Give the latest receipts, the newest last.

        Args:
            now: microseconds since the epoch, UTC.
        """
        messages, runs = self._projection.messages, self._projection.runs
        lines = [receipt_line(message, runs.get(message.run_id or ""), self._glyphs) for message in self._own(now)]
        lines.extend(
            sending_line(sending, now, self._glyphs)
            for sending in self._sending.values()
            if sending.message_id not in messages
        )
        return lines[-SHOWN:]

    def _own(self, now: int) -> list[MessageView]:
        """Give the operator's latest messages that wait, or whose fate is news; the newest last."""
        latest = islice(reversed(self._projection.messages.values()), SEARCHED)
        own = [
            message
            for message in latest
            if message.sender.kind is SenderKind.OPERATOR
            and message.sender.name == self._operator
            and (message.state.open or now - message.ended_at < NEWS)
        ]
        return own[::-1]
