"""The two-lane inbox as a plain value (T5): sending and claiming give a new one.

Source: the two-queue session inbox of Nous; its ``next_turn`` and ``next_step`` are the lanes here.
"""

from __future__ import annotations

import msgspec

from dashboard.core.messages import Lane, Message


class Lanes(msgspec.Struct, frozen=True):
    """Messages that wait to enter a run, first in first out per lane. The lanes are never merged."""

    next_step: tuple[Message, ...] = ()
    next_turn: tuple[Message, ...] = ()

    def send(self, message: Message) -> Lanes:
        """Give the value with the message at the tail of its own lane."""
        if message.lane is Lane.NEXT_TURN:
            return Lanes(self.next_step, (*self.next_turn, message))
        return Lanes((*self.next_step, message), self.next_turn)

    def claim(self, lane: Lane) -> tuple[tuple[Message, ...], Lanes]:
        """Give all messages of a lane, in order, and the value without them."""
        if lane is Lane.NEXT_TURN:
            return self.next_turn, Lanes(self.next_step, ())
        return self.next_step, Lanes((), self.next_turn)

    @property
    def wake(self) -> bool:
        """Whether any waiting message starts an idle agent."""
        return any(message.wake for message in (*self.next_step, *self.next_turn))

    @property
    def extends(self) -> bool:
        """Whether a would-be-final turn goes on: a pending ``next_step`` message wakes (T2)."""
        return any(message.wake for message in self.next_step)

    @property
    def count(self) -> int:
        """How many messages wait in both lanes."""
        return len(self.next_step) + len(self.next_turn)
