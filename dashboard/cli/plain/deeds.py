"""What operators ask of a host, and what it answers, in words."""

from __future__ import annotations

from dashboard.core.deeds import deed
from dashboard.core.events import ControlRequested
from dashboard.core.sanitize import sanitize_line


def asked_words(asked: ControlRequested) -> str:
    """Say who asks for what."""
    return f"{sanitize_line(asked.by, 40) or 'somebody'} asks the host to {deed(asked.action, 'it')}"


def control_words(asked: ControlRequested | None, refused: str | None) -> str:
    """Say how the host answered.

    Args:
        asked: the request, where it is known.
        refused: why it was not done; ``None`` where it was.
    """
    done = deed(asked.action, "it") if asked else "do what was asked"
    if refused is None:
        return f"the host did as asked: {done}"
    return f"the host did not {done}: {sanitize_line(refused)}"
