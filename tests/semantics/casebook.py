"""The case table: what was sent when, and the one right transcript. Each is played on both stores.

T(ab) is a turn that calls tools a and b, A an answer, E a model error; ``!x`` steers, ``?x`` injects, ``+x``
follows up; ``@q1`` is during request 1, ``@t1`` during the tools of round 1; p is the prompt.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from dashboard.core.errors import SendRefusedError
from dashboard.core.messages import Preset, Refusal
from dashboard.journal.routed_inbox import RoutedInbox
from tests.conftest import FakeClock

Case = Callable[[RoutedInbox, FakeClock], Awaitable[None]]
CASES: dict[str, Case] = {}
FOLLOWUP, INJECT = Preset.FOLLOWUP, Preset.INJECT


def case(row: str) -> Callable[[Case], Case]:
    """Enter a case under its row of the table."""

    def enter(play: Case) -> Case:
        CASES[row] = play
        return play

    return enter


def refused(send: Callable[[], object]) -> Refusal:
    with pytest.raises(SendRefusedError) as caught:
        send()
    return caught.value.refusal
