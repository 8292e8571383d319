"""A roster: the root agent, what it starts on, and which sub-agents it can spawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dashboard.agent import Agent
from dashboard.core.inbox import Inbox
from dashboard.core.labels import subagent_label


@dataclass(frozen=True, slots=True)
class Roster:
    """What a host runs.

    Args:
        title: what the session is about, for people.
        task: the root's first prompt.
        agent_types: the types that can be spawned; their labels are known addresses from the start.
        make_root: builds the root agent around the session's inbox.
    """

    title: str
    task: str
    agent_types: tuple[str, ...]
    make_root: Callable[[Inbox], Agent]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the agent types."""
        return tuple(subagent_label(agent_type) for agent_type in self.agent_types)
