"""Asking a host to stop, and waiting until it has."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from dashboard.core.errors import HostError
from dashboard.core.events import ControlAction
from dashboard.journal.session import JournalOperatorSession

PATIENCE_SECONDS = 10.0


def stop_session(folder: Path, operator: str) -> str:
    """Ask a session's host to stop every run and end the session.

    Args:
        folder: the session's folder.
        operator: who asks.

    Returns:
        What became of it, for people.

    Raises:
        HostError: the host did not answer in time; the request stays, and is done when it goes on.
    """
    session = JournalOperatorSession(folder, operator)
    try:
        state = session.probe().state
        if state.over:
            return f"{session.session_id} is {state} already"
        asyncio.run(session.request(ControlAction.STOP_SESSION))
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            if session.probe().state.over:
                return f"{session.session_id} is stopped. Read it again: dashboard attach {session.session_id}"
            time.sleep(0.05)
    finally:
        session.close()
    raise HostError(
        f"the host of {folder.name} has not stopped within {PATIENCE_SECONDS:.0f} s",
        "it does not respond",
        "The request stays in the journal; `dashboard sessions` shows when it is done",
    )
