"""What operators ask of a host, and what it answers, in words."""

from __future__ import annotations

from dashboard.core.events import ControlAction, ControlRequested
from dashboard.core.sanitize import sanitize_line

ASKED = {
    ControlAction.STOP_SESSION: "stop every run and end the session",
    ControlAction.CANCEL: "stop it",
    ControlAction.CANCEL_SUBTREE: "stop it and all below it",
    ControlAction.PAUSE: "pause it",
    ControlAction.STEP: "let it make one round",
    ControlAction.RESUME: "let it go on",
    ControlAction.ALLOW: "allow its tool call",
    ControlAction.DENY: "deny its tool call",
}


def asked_words(asked: ControlRequested) -> str:
    """Say who asks for what."""
    return f"{sanitize_line(asked.by, 40) or 'somebody'} asks the host to {ASKED[asked.action]}"


def control_words(asked: ControlRequested | None, refused: str | None) -> str:
    """Say how the host answered.

    Args:
        asked: the request, where it is known.
        refused: why it was not done; ``None`` where it was.
    """
    deed = ASKED[asked.action] if asked else "do what was asked"
    if refused is None:
        return f"the host did as asked: {deed}"
    return f"the host did not {deed}: {sanitize_line(refused)}"
