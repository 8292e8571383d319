"""An operator console for a roster of running sub-agents; and the inbox, the loop and the session under it.

The names below are loaded when they are first used: a console does not load the loop, nor a loop the console.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dashboard.agent import Agent, Approval, make_subagent_tool, pretty_print, tool
    from dashboard.core.errors import SendRefusedError
    from dashboard.core.inbox import Inbox, QueueInbox
    from dashboard.core.messages import Lane, Preset
    from dashboard.host.session import Session
    from dashboard.journal.routed_inbox import RoutedInbox

__version__ = "0.1.0"
__all__ = [
    "Agent",
    "Approval",
    "Inbox",
    "Lane",
    "Preset",
    "QueueInbox",
    "RoutedInbox",
    "SendRefusedError",
    "Session",
    "make_subagent_tool",
    "pretty_print",
    "tool",
]
_HOMES = {
    "Agent": "dashboard.agent",
    "Approval": "dashboard.agent",
    "Inbox": "dashboard.core.inbox",
    "Lane": "dashboard.core.messages",
    "Preset": "dashboard.core.messages",
    "QueueInbox": "dashboard.core.inbox",
    "RoutedInbox": "dashboard.journal.routed_inbox",
    "SendRefusedError": "dashboard.core.errors",
    "Session": "dashboard.host.session",
    "make_subagent_tool": "dashboard.agent",
    "pretty_print": "dashboard.agent",
    "tool": "dashboard.agent",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted((*globals(), *__all__))
