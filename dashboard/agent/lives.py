"""The handle on a run while it lives: cancel, pause, step, resume. And the register of all that live."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from dashboard.agent.telling import Emit
from dashboard.core.errors import ControlRefusedError
from dashboard.core.events import RunPaused, RunResumed


class RunCancelledError(Exception):
    """What a cancelled run, or a root's cancelled turn, ends with inside of the loop.

    Args:
        why: for people, such as ``stopped by ana``.
        before: the seq of the request; mail that was accepted after it is not returned (A11).
    """

    def __init__(self, why: str, before: int | None) -> None:
        super().__init__(why)
        self.why = why
        self.before = before


class Life:
    """One run, as those who control it see it. All calls are on the event loop's thread.

    Args:
        run_id: the run.
        name: its display name, for refusals.
        parent_run_id: the run that spawned it.
        emit: where pausing and resuming are told.
    """

    def __init__(self, run_id: str, name: str, parent_run_id: str | None, emit: Emit) -> None:
        self.run_id = run_id
        self.name = name
        self.parent_run_id = parent_run_id
        self.idle = False  # a root between two turns
        self.why = ""  # who ends it, once someone does
        self.over = asyncio.Event()
        self._emit = emit
        self._task: asyncio.Task[object] | None = None
        self._cancelled: RunCancelledError | None = None
        self._ending = False
        self._paused_by: str | None = None
        self._held = False
        self._at = 0  # the round that it is held before
        self._allowed = 0  # the round that a step lets pass
        self._moved = asyncio.Event()

    @contextmanager
    def cancellable(self) -> Iterator[None]:
        """Mark what ``cancel`` ends: the body of a run, or one turn of a root.

        Raises:
            RunCancelledError: ``cancel`` was called. A cancellation of the task itself passes through as it is.
        """
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a run lives in a task")
        if self._ending:
            raise RunCancelledError(self.why, None)
        already = task.cancelling()
        self._task, self._cancelled = task, None
        try:
            yield
        except asyncio.CancelledError:
            # the rule of asyncio.timeout: ours only if nobody else has asked for this task's end as well
            asked = self._asked()
            if asked is not None and task.uncancel() <= already:
                raise asked from None
            raise
        finally:
            self._task = None

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Mark the time between two turns of a root: it is at a boundary all the while."""
        self.idle = True
        self._hold()
        try:
            yield
        finally:
            self.idle = False

    def cancel(self, why: str, before: int | None = None) -> None:
        """End the run, or a root's open turn; an idle root only gives its mail back (A11).

        Args:
            why: for people, such as ``stopped by ana``.
            before: the seq of the request, so that what was sent after it is not returned.

        Raises:
            ControlRefusedError: it is ending already.
        """
        if self._task is None or self._cancelled is not None:
            raise ControlRefusedError(f"{self.name} is ending already")
        self.why = why
        self._cancelled = RunCancelledError(why, before)
        self._task.cancel()

    def end(self, why: str) -> None:
        """End the run, a root too: not its turn alone. Nothing is refused; one that is ending goes on with that.

        Args:
            why: for people.
        """
        self._ending, self.why = True, self.why or why
        if self._task is not None and self._cancelled is None:
            self._cancelled = RunCancelledError(why, None)
            self._task.cancel()

    @property
    def ending(self) -> bool:
        """Whether the run as a whole is being ended."""
        return self._ending

    def pause(self, by: str) -> None:
        """Hold the run at its next boundary; its mail goes on.

        Raises:
            ControlRefusedError: it is paused already.
        """
        if self._paused_by is not None:
            raise ControlRefusedError(f"{self.name} is paused already", f"by {self._paused_by}")
        self._paused_by, self._allowed = by, 0
        if self.idle:
            self._hold()  # it is at a boundary, and no round is open

    def step(self, by: str) -> None:
        """Let a held run make one round, and hold it again.

        Raises:
            ControlRefusedError: it is not held: not paused, not at its boundary yet, or idle.
        """
        if self._paused_by is None:
            raise ControlRefusedError(f"{self.name} is not paused", fix="Pause it first, then step")
        if self.idle:
            raise ControlRefusedError(f"{self.name} is idle, and has no round to make", fix="Resume it, or write")
        if not self._held:
            raise ControlRefusedError(
                f"{self.name} has not come to its next boundary yet", fix="Step once it holds"
            )
        self._allowed = self._at
        self._let_go(by, one_round=True)

    def resume(self, by: str) -> None:
        """Let a paused run go on.

        Raises:
            ControlRefusedError: it is not paused.
        """
        if self._paused_by is None:
            raise ControlRefusedError(f"{self.name} is not paused")
        self._paused_by = None
        if self._held:
            self._let_go(by, one_round=False)

    async def pass_boundary(self, round_number: int) -> None:
        """Return at once, or, for a paused run, once it may make this round.

        Args:
            round_number: the round that the boundary leads to, from 1.
        """
        while self._paused_by is not None and round_number > self._allowed:
            self._at = round_number
            self._hold()
            self._moved.clear()
            await self._moved.wait()

    def _asked(self) -> RunCancelledError | None:
        return self._cancelled

    def _hold(self) -> None:
        if not self._held and self._paused_by is not None:
            self._held = True
            self._emit(RunPaused(run_id=self.run_id, by=self._paused_by))

    def _let_go(self, by: str, *, one_round: bool) -> None:
        self._held = False
        self._emit(RunResumed(run_id=self.run_id, by=by, one_round=one_round))
        self._moved.set()


class Lives:
    """Every run that lives, by its id."""

    def __init__(self) -> None:
        self._lives: dict[str, Life] = {}

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
        """End every run, and return once each has recorded its end.

        Args:
            why: for people.
        """
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
