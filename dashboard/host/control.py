"""Doing what operators ask of the runs: each request is applied, or refused with its reason, once."""

from __future__ import annotations

from collections.abc import Callable

from dashboard.agent import Runtime
from dashboard.core.errors import ControlRefusedError
from dashboard.core.events import ControlAction, ControlApplied, ControlRefused, ControlRequested
from dashboard.core.sessions import Control, HostSession


class ControlDesk:
    """Applies controls to the runs of one runtime.

    Args:
        session: where controls come from, and where their fate is told.
        runtime: whose runs they are about.
        stop: ends the session; given the reason.
    """

    def __init__(self, session: HostSession, runtime: Runtime, stop: Callable[[str], None]) -> None:
        self._session = session
        self._runtime = runtime
        self._stop = stop
        self._seen: set[str] = set()  # a row stays open until the writer has come to its answer
        self._stopping: list[ControlApplied] = []

    def ask(self, control: Control) -> None:
        """Do what this program itself asks, on the record as an operator's request is.

        Raises:
            ControlRefusedError: it cannot be done; that is recorded too.
        """
        self._seen.add(control.id)
        self._session.emit(
            ControlRequested(
                control_id=control.id,
                action=ControlAction(control.action),
                by=control.by,
                run_id=control.run_id,
                approval_id=control.approval_id,
                reason=control.reason,
            )
        )
        refused = self._answer(control)
        if refused is not None:
            raise refused

    async def look(self) -> None:
        """Do what was asked since the last look, in order."""
        for control in await self._session.controls():
            if control.id not in self._seen:
                self._seen.add(control.id)
                self._answer(control)

    def tell_stopped(self) -> None:
        """Tell that a stop was applied, once nothing runs any more."""
        for event in self._stopping:
            self._session.emit(event)
        self._stopping.clear()

    def _answer(self, control: Control) -> ControlRefusedError | None:
        try:
            action = self._apply(control)
        except ControlRefusedError as error:
            self._session.emit(ControlRefused(control_id=control.id, reason=str(error), run_id=control.run_id))
            return error
        applied = ControlApplied(control_id=control.id, action=action, run_id=control.run_id)
        if action is ControlAction.STOP_SESSION:
            self._stopping.append(applied)
        else:
            self._session.emit(applied)
        return None

    def _apply(self, control: Control) -> ControlAction:
        lives, by = self._runtime.lives, control.by or "an operator"
        try:
            action = ControlAction(control.action)
        except ValueError:  # of a newer console
            raise ControlRefusedError(f"this host does not know how to {control.action}") from None
        match action:
            case ControlAction.STOP_SESSION:
                self._stop(f"stopped by {by}")
            case ControlAction.CANCEL:
                lives.cancel(_run(control), f"stopped by {by}", control.seq)
            case ControlAction.CANCEL_SUBTREE:
                lives.cancel_subtree(_run(control), f"stopped by {by}", control.seq)
            case ControlAction.PAUSE:
                lives[_run(control)].pause(by)
            case ControlAction.STEP:
                lives[_run(control)].step(by)
            case ControlAction.RESUME:
                lives[_run(control)].resume(by)
            case ControlAction.ALLOW | ControlAction.DENY:
                self._runtime.approvals.answer(
                    control.approval_id or "", allow=action is ControlAction.ALLOW, by=by, reason=control.reason
                )
        return action


def _run(control: Control) -> str:
    if control.run_id is None:
        raise ControlRefusedError(f"the request to {control.action} names no run", fix="Name one")
    return control.run_id
