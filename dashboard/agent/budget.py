"""The round budget: how far a run may go on its own, and what a message from a person adds (P9, P10)."""

from __future__ import annotations

import msgspec


class Budget(msgspec.Struct, frozen=True):
    """What is left of one turn's rounds, as a value: extending it gives another.

    Args:
        max_iterations: rounds without a person in the loop, and how often a message may reset the count; from 1.
        start: the round that counts as step 1.
        extensions: how often the count was reset in this turn.
        refused: whether a reset was refused in this turn.
    """

    max_iterations: int
    start: int
    extensions: int = 0
    refused: bool = False

    def step(self, round_number: int) -> int:
        """Give what a round counts as; more than ``max_iterations`` for a round that the budget does not cover."""
        return round_number - self.start + 1

    def capped(self, round_number: int) -> bool:
        """Whether the budget does not cover this round: it can only be the forced wrap-up."""
        return self.step(round_number) > self.max_iterations

    def extend(self, round_number: int) -> Budget:
        """Count from the round that reads a message, at most ``max_iterations`` times; then only note the refusal.

        Args:
            round_number: the round that the message landed in.
        """
        if self.extensions >= self.max_iterations:
            return msgspec.structs.replace(self, refused=True)
        return msgspec.structs.replace(self, start=round_number, extensions=self.extensions + 1)

    @property
    def warning(self) -> str:
        """The line to log at the first refusal of a turn."""
        return (
            f"messages have reset this turn's round budget {self.extensions} times and will not reset it again: "
            "they are still delivered. If nobody wrote that often, the inbox gives messages that it gave before, "
            "not the unread ones"
        )
