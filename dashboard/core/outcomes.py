"""How a run ends."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Outcome(StrEnum):
    """The five ends of a run."""

    ANSWERED = "answered"
    WRAP_UP = "wrap_up"  # the round budget ran out; the answer was forced with tools off
    CANCELLED = "cancelled"
    ERROR = "error"
    LOST = "lost"  # its host died


class RunEnd(msgspec.Struct, frozen=True):
    """An end, with the answer so far and, for an error, what went wrong."""

    outcome: Outcome
    answer: str = ""
    error: str = ""
