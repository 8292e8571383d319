"""A plan: what the model says in each request, and what operators and agents do meanwhile."""

from __future__ import annotations

from enum import StrEnum

import msgspec
from hypothesis import strategies as st

from dashboard.core.messages import Preset


class Turn(StrEnum):
    """What one request gives."""

    ANSWER = "A"
    TOOL = "T"
    NOTHING = "-"  # neither text nor a tool call
    FAILS = "E"


class Send(msgspec.Struct, frozen=True):
    """A message, by an operator or (P9, A12) by another agent."""

    preset: Preset
    by_agent: bool = False


class Change(msgspec.Struct, frozen=True):
    """An amendment of the so many-th message of the plan, counted from the last one back."""

    what: str  # withdraw, edit, hold, release, promote
    back: int


class Cancel(msgspec.Struct, frozen=True):
    """The operator cancels the run, or the root's turn."""


class Crash(msgspec.Struct, frozen=True):
    """The host would die here: what its journal holds at this instant is looked at, and the run goes on."""


Action = Send | Change | Cancel | Crash


class Plan(msgspec.Struct, frozen=True):
    """One run's life.

    Args:
        max_iterations: its round budget.
        turns: what its requests give, in order; every later one answers.
        during: what is done during each request (``q1``), and during the tools of each request (``t1``).
        idle: what is done while a root is idle, one batch after the other; ``None`` for a sub-agent.
        one_followup: whether a turn opens with one follow-up.
    """

    max_iterations: int
    turns: tuple[Turn, ...]
    during: dict[str, tuple[Action, ...]]
    idle: tuple[tuple[Action, ...], ...] | None = None
    one_followup: bool = False


SENDS = st.builds(Send, st.sampled_from(Preset), st.sampled_from([False, False, False, True]))
CHANGES = st.builds(Change, st.sampled_from(["withdraw", "edit", "hold", "release", "promote"]), st.integers(0, 3))
ACTIONS = st.lists(st.one_of(SENDS, SENDS, CHANGES), max_size=3).map(tuple)
PLACES = st.builds(lambda kind, number: f"{kind}{number}", st.sampled_from("qt"), st.integers(1, 7))
TURNS = st.lists(
    st.sampled_from([Turn.TOOL, Turn.TOOL, Turn.ANSWER, Turn.ANSWER, Turn.NOTHING, Turn.FAILS]), max_size=8
).map(tuple)


@st.composite
def plans(draw: st.DrawFn, *, root: bool) -> Plan:
    """Draw a plan, with at most one cancel and one crash in it."""
    during: dict[str, tuple[Action, ...]] = draw(st.dictionaries(PLACES, ACTIONS, max_size=6))
    for action in (Cancel(), Crash()):
        if draw(st.integers(0, 2)) == 0:
            place = draw(PLACES)
            during[place] = (*during.get(place, ()), action)
    idle = draw(st.lists(ACTIONS, max_size=3).map(tuple)) if root else None
    return Plan(draw(st.integers(1, 3)), draw(TURNS), during, idle, draw(st.booleans()))
