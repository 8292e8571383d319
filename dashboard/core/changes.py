"""What a fold of events touched, so that a view repaints that and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from dashboard.core.events import ControlRefused, ControlRequested, Event, NoticeRaised, TurnFinished

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True)
class News(Generic[E]):
    """Something that people should be told once, while it is new.

    Args:
        event: what happened.
        seq: its place.
        at: when, in microseconds since the epoch, UTC.
    """

    event: E
    seq: int
    at: int


@dataclass(frozen=True, slots=True)
class Refused:
    """Something that the host was asked for and did not do.

    Args:
        asked: the request, where it is known.
        answer: the host's.
    """

    asked: ControlRequested | None
    answer: News[ControlRefused]


@dataclass(slots=True)
class Changes:
    """What a fold touched.

    Args:
        runs: ids of the runs whose head line changed: state, round, tool, counters.
        entries: per run, the index of the first transcript entry that is new or changed.
        messages: ids of the messages whose fate moved.
        started: ids of the runs that are new, in order.
        notices: what people should be told, in order.
        refused: what the host did not do, in order.
        failed_turns: the ends of turns that failed while their run lives on, in order.
        session: whether the session as a whole changed: its title, its host, its end.
    """

    runs: set[str] = field(default_factory=set)
    entries: dict[str, int] = field(default_factory=dict)
    messages: set[str] = field(default_factory=set)
    started: list[str] = field(default_factory=list)
    notices: list[News[NoticeRaised]] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    failed_turns: list[News[TurnFinished]] = field(default_factory=list)
    session: bool = False
