"""Senders that do not give up: each sends its messages in order, and tries again while the run is full."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from dashboard.core.errors import SendRefusedError
from dashboard.core.messages import Lane, Preset, Refusal
from dashboard.journal.routed_inbox import RoutedInbox
from dashboard.journal.session import JournalOperatorSession

PAUSE_SECONDS = 0.01  # a run that is full has a thousand to read: to ask again at once only keeps it from that


def preset_of(number: int) -> Preset:
    """Give every tenth message another lane, and some no wake."""
    return Preset.FOLLOWUP if number % 10 == 9 else Preset.INJECT if number % 10 == 4 else Preset.STEER


def body_of(sender: int, number: int) -> str:
    """Name a message by its sender, its lane and its number."""
    return f"{sender} {preset_of(number).lane} {number}"


def retried(send: Callable[[], object]) -> None:
    """Send until it is accepted; only ``full`` is a reason to try again."""
    while True:
        try:
            send()
        except SendRefusedError as error:
            if error.refusal is not Refusal.FULL:
                raise
            time.sleep(PAUSE_SECONDS)
        else:
            return


def send_from_a_thread(
    inbox: RoutedInbox, run_id: str, sender: int, count: int, told: Callable[[], object]
) -> None:
    """Send through the inbox of this process."""
    for number in range(count):
        preset = preset_of(number)
        retried(lambda: inbox.send(run_id, body_of(sender, number), preset.lane, preset.wake))  # noqa: B023 - called at once
        told()


def send_from_a_process(folder: Path, run_id: str, sender: int, count: int) -> None:
    """Send as a console does, from a process of its own."""
    session = JournalOperatorSession(folder, f"operator-{sender}")
    with asyncio.Runner() as runner:
        for number in range(count):
            message = session.compose(body_of(sender, number), preset_of(number))
            retried(lambda: runner.run(session.send(run_id, message)))  # noqa: B023 - called at once
    session.close()


def check_order(bodies: list[str], senders: int, count: int) -> None:
    """Each message once, and first in, first out per sender and lane (A2, A4)."""
    assert len(bodies) == senders * count
    assert len(set(bodies)) == len(bodies)
    for sender in range(senders):
        for lane in Lane:
            own = [int(body.split()[2]) for body in bodies if body.startswith(f"{sender} {lane} ")]
            assert own == [number for number in range(count) if preset_of(number).lane is lane]
