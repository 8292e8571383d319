"""Every run that lives: found by its id, cancelled with or without what lives below it, ended all at once."""

from __future__ import annotations

from collections.abc import Iterator

from dashboard.agent.life import Life
from dashboard.core.errors import ControlRefusedError, HostError


class Lives:
    """Every run that lives, by its id."""

    def __init__(self) -> None:
        self._lives: dict[str, Life] = {}
        self._over = ""

    def check_open(self) -> None:
        """Let a run start.

        Raises:
            HostError: every run is being ended, or has been.
        """
        if self._over:
            raise HostError("no run can start here any more", self._over, "Open another session")

    def add(self, life: Life) -> None:
        """Enter a run that starts."""
        self._lives[life.run_id] = life

    def remove(self, life: Life) -> None:
        """Take out a run that has ended."""
        del self._lives[life.run_id]
        life.over.set()

    def __getitem__(self, run_id: str) -> Life:
        """Give a run's life.

        Raises:
            ControlRefusedError: no such run lives here.
        """
        life = self._lives.get(run_id)
        if life is None:
            raise ControlRefusedError(f"no run {run_id} lives in this host", "it has ended, or never was")
        return life

    def __iter__(self) -> Iterator[Life]:
        return iter(list(self._lives.values()))

    async def end_all(self, why: str) -> None:
        """End every run, and return once each has recorded its end; from this call on none can start.

        Args:
            why: for people.
        """
        self._over = self._over or why or "every run was ended"
        lives = list(self)
        for life in lives:
            life.why = life.why or why
            if life.parent_run_id is None:
                life.end(why)  # what it has spawned lives inside of its tool calls, and ends with it
        for life in lives:
            await life.over.wait()

    def children(self, run_id: str) -> list[Life]:
        """Give the live runs that a run has spawned."""
        return [life for life in self if life.parent_run_id == run_id]

    def cancel(self, run_id: str, why: str, before: int | None = None) -> None:
        """End one run, or a root's turn, that no other lives under.

        Raises:
            ControlRefusedError: it is not there, ends already, or has live sub-agents, which would end with it.
        """
        life = self[run_id]
        below = self.children(run_id)
        if below:
            names = ", ".join(child.name for child in below)
            raise ControlRefusedError(
                f"{life.name} waits for {names}, which would end with it", fix="Stop the subtree to end them all"
            )
        life.cancel(why, before)

    def cancel_subtree(self, run_id: str, why: str, before: int | None = None) -> None:
        """End a run, or a root's turn, and every run below it: they live inside of its tool calls.

        Raises:
            ControlRefusedError: it is not there, or ends already.
        """
        life = self[run_id]
        life.cancel(why, before)
        below = self.children(run_id)
        while below:
            child = below.pop()
            child.why = f"{why}, with {life.name}"
            below += self.children(child.run_id)
