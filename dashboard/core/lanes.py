"""The two-lane inbox as a plain value (T5): sending and claiming give a new one.

Source: the two-queue session inbox of Nous, whose ``next_turn`` and ``next_step`` are the lanes here: one
primitive and three presets, each lane first in first out, the two never merged.
"""

from __future__ import annotations

import msgspec

from dashboard.core.messages import Lane, Message, Preset, Sender, SenderKind

_NOBODY = Sender(SenderKind.OPERATOR, "")


class Lanes(msgspec.Struct, frozen=True):
    """Messages that wait to enter a run, in the order in which they were sent, per lane.

    It is data alone: it can be stored as JSON and comes back equal, and nothing in it is a handle to anything.

    Args:
        next_step: what the next model request reads.
        next_turn: what the next turn opens with.
        sent: how many messages were ever sent through this value; numbers those that are given as a text.
    """

    next_step: tuple[Message, ...] = ()
    next_turn: tuple[Message, ...] = ()
    sent: int = 0

    def send(self, message: Message | str, target: Lane | None = None, wake: bool | None = None) -> Lanes:
        """Give the value with a message at the tail of a lane: the primitive, which allows all four combinations.

        Args:
            message: a message, or a text, which is made one: numbered, and without a sender or a time.
            target: the lane; by default the message's own, or ``next_step`` for a text.
            wake: whether it starts an idle agent; by default the message's own, or yes for a text.
        """
        if isinstance(message, str):
            message = Message(f"msg_{self.sent + 1}", message, Lane.NEXT_STEP, True, _NOBODY, 0)
        lane = message.lane if target is None else target
        message = msgspec.structs.replace(message, lane=lane, wake=message.wake if wake is None else wake)
        if lane is Lane.NEXT_TURN:
            return Lanes(self.next_step, (*self.next_turn, message), self.sent + 1)
        return Lanes((*self.next_step, message), self.next_turn, self.sent + 1)

    def steer(self, message: Message | str) -> Lanes:
        """Send what is to be read before the next model request, and starts an idle agent."""
        return self._preset(message, Preset.STEER)

    def followup(self, message: Message | str) -> Lanes:
        """Send what opens the next turn, and starts an idle agent."""
        return self._preset(message, Preset.FOLLOWUP)

    def inject(self, message: Message | str) -> Lanes:
        """Send what the next model request reads, if there is one for another reason; it starts nothing."""
        return self._preset(message, Preset.INJECT)

    def claim(self, lane: Lane) -> tuple[tuple[Message, ...], Lanes]:
        """Give all messages of a lane, in order, and the value without them."""
        if lane is Lane.NEXT_TURN:
            return self.next_turn, msgspec.structs.replace(self, next_turn=())
        return self.next_step, msgspec.structs.replace(self, next_step=())

    @property
    def pending(self) -> bool:
        """Whether anything waits in either lane."""
        return bool(self.next_step or self.next_turn)

    @property
    def wake(self) -> bool:
        """Whether any waiting message starts an idle agent (T3)."""
        return any(message.wake for message in (*self.next_step, *self.next_turn))

    @property
    def extends(self) -> bool:
        """Whether a would-be-final turn goes on: a pending ``next_step`` message wakes (T2)."""
        return any(message.wake for message in self.next_step)

    @property
    def count(self) -> int:
        """How many messages wait in both lanes."""
        return len(self.next_step) + len(self.next_turn)

    def _preset(self, message: Message | str, preset: Preset) -> Lanes:
        return self.send(message, preset.lane, preset.wake)
