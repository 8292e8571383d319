"""Doubles for what a ledger is written through."""

from __future__ import annotations

from typing import Any

from dashboard.core.events import KnownEvent
from dashboard.journal.jobs import Job, T


class FakeWriter:
    """Takes events and jobs and does nothing with them; a test decides what becomes of a job."""

    def __init__(self) -> None:
        self.events: list[KnownEvent] = []
        self.jobs: list[Job[Any, Any]] = []

    def emit(self, event: KnownEvent) -> None:
        self.events.append(event)

    def submit(self, job: Job[Any, T]) -> Job[Any, T]:
        self.jobs.append(job)
        return job

    def close(self) -> None:
        raise NotImplementedError
