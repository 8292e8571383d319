"""The handle on a run while it lives: cancel, pause, step, resume."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from dashboard.agent.finishing import on_loop
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
    """One run, as those who control it see it; from any thread but that of another running event loop.

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
        self._sealed = False  # its end is being recorded
        self._paused_by: str | None = None
        self._held = False
        self._at: int | None = None  # the round that it is held before
        self._allowed = 0  # the round that a step lets pass
        self._moved = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    @contextmanager
    def cancellable(self) -> Iterator[None]:
        """Mark what ``cancel`` ends: the body of a run, or one turn of a root.

        Raises:
            RunCancelledError: ``cancel`` was called, however the body took it. A cancellation of the task itself
                passes through as it is.
        """
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a run lives in a task")
        if self._ending:
            raise RunCancelledError(self.why, None)
        already = task.cancelling()
        self._task, self._cancelled, self.why = task, None, ""
        try:
            yield
        except BaseException as error:
            asked = self._asked()
            if asked is None:
                raise
            # as asyncio.timeout does: ours is taken back, and whoever else has asked for the end comes first
            if task.uncancel() > already and isinstance(error, asyncio.CancelledError):
                raise
            raise asked from (None if isinstance(error, asyncio.CancelledError) else error)
        else:
            asked = self._asked()
            if asked is not None:
                task.uncancel()
                raise asked
        finally:
            self._task = None

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Mark the time between two turns of a root: it is at a boundary all the while."""
        self.idle = True
        self.rest()
        try:
            yield
        finally:
            self.idle = False

    def rest(self) -> None:
        """Rest, or rest on: what a step has allowed was for the turn before."""
        self._allowed = 0
        self._hold()

    def close(self) -> None:
        """Take no cancel any more: the end is recorded, and only has to be told."""
        self._task = None

    def seal(self) -> None:
        """Take no pause, step or resume any more: the end is on its way, and nothing may be told behind it."""
        self._sealed = True

    @property
    def cancelling(self) -> bool:
        """Whether somebody has cancelled what runs now."""
        return self._cancelled is not None

    def cancel(self, why: str, before: int | None = None) -> None:
        """End the run, or a root's open turn; an idle root only gives its mail back (A11).

        Args:
            why: for people, such as ``stopped by ana``.
            before: the seq of the request, so that what was sent after it is not returned.

        Raises:
            ControlRefusedError: it is ending already.
        """
        on_loop(self._loop, lambda: self._cancel(why, before))

    def _cancel(self, why: str, before: int | None = None) -> None:
        if self._task is None or self._cancelled is not None:
            raise ControlRefusedError(f"{self.name} is ending already", "what it did last is being recorded")
        self.why = why
        self._cancelled = RunCancelledError(why, before)
        self._task.cancel()

    def end(self, why: str) -> None:
        """End the run, a root too: not its turn alone. Nothing is refused; one that is ending goes on with that.

        Args:
            why: for people.
        """
        on_loop(self._loop, lambda: self._end(why))

    def _end(self, why: str) -> None:
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
            ControlRefusedError: it is paused already, or ending.
        """
        on_loop(self._loop, lambda: self._pause(by))

    def _pause(self, by: str) -> None:
        self._check_unsealed()
        if self._paused_by is not None:
            raise ControlRefusedError(f"{self.name} is paused already", f"by {self._paused_by}")
        self._paused_by, self._allowed = by, 0
        if self.idle:
            self._hold()  # it is at a boundary, and no round is open

    def step(self, by: str) -> None:
        """Let a held run make one round, and hold it again.

        Raises:
            ControlRefusedError: it is not paused, not at its boundary yet, idle with nothing to read, or ending.
        """
        on_loop(self._loop, lambda: self._step(by))

    def _step(self, by: str) -> None:
        self._check_unsealed()
        if self._paused_by is None:
            raise ControlRefusedError(f"{self.name} is not paused", fix="Pause it first, then step")
        if self._at is None:
            if self.idle:
                raise ControlRefusedError(
                    f"{self.name} is idle, and has no round to make", fix="Write to it first, then step"
                )
            raise ControlRefusedError(
                f"{self.name} has not come to its next boundary yet", fix="Step once it holds"
            )
        self._allowed = self._at
        self._let_go(by, one_round=True)

    def resume(self, by: str) -> None:
        """Let a paused run go on.

        Raises:
            ControlRefusedError: it is not paused, or ending.
        """
        on_loop(self._loop, lambda: self._resume(by))

    def _resume(self, by: str) -> None:
        self._check_unsealed()
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
        while self._holds(round_number):
            self._at = round_number
            self._moved.clear()
            self._hold()  # whoever is told may let it go on at once
            try:
                if self._holds(round_number):
                    await self._moved.wait()
            finally:
                self._at = None

    def _check_unsealed(self) -> None:
        if self._sealed:
            raise ControlRefusedError(f"{self.name} is ending already", "what it did last is being recorded")

    def _holds(self, round_number: int) -> bool:
        return self._paused_by is not None and round_number > self._allowed

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
