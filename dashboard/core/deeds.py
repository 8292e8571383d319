"""What an operator asks of a host, in words that stand alone in a list and in a sentence alike."""

from __future__ import annotations

from dashboard.core.events import ControlAction

_DEEDS = {
    ControlAction.STOP_SESSION: "stop all",
    ControlAction.CANCEL: "stop {run}",
    ControlAction.CANCEL_SUBTREE: "stop {run} and all below it",
    ControlAction.PAUSE: "pause {run}",
    ControlAction.STEP: "let {run} make one round",
    ControlAction.RESUME: "let {run} go on",
    ControlAction.ALLOW: "allow a tool of {run}",
    ControlAction.DENY: "deny a tool of {run}",
}


def deed(action: ControlAction, run: str) -> str:
    """Name what was asked for: ``pause subagent-researcher#1``.

    Args:
        action: what was asked.
        run: how the run that it is for is called; unused where it is for all.
    """
    return _DEEDS[action].format(run=run)
