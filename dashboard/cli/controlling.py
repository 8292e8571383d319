"""Asking a host for something from a shell, and waiting for its answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from dashboard.cli.addressing import runs_called
from dashboard.cli.folding import fold_all
from dashboard.cli.shared import Exit
from dashboard.core.errors import DashboardError
from dashboard.core.events import ApprovalRequested, ControlAction
from dashboard.core.sanitize import sanitize_line
from dashboard.core.views import RunView
from dashboard.journal.session import JournalOperatorSession
from dashboard.journal.store import Store
from dashboard.ui.arguments import argument_text
from dashboard.ui.wording import clock_time

LOOK_SECONDS = 0.05
PATIENCE_SECONDS = 10.0
_DONE = {
    ControlAction.CANCEL: "{run} is stopped",
    ControlAction.CANCEL_SUBTREE: "{run} is stopped, and all below it",
    ControlAction.PAUSE: "{run} is held at its next boundary; its mail waits",
    ControlAction.STEP: "{run} makes one round",
    ControlAction.RESUME: "{run} goes on",
    ControlAction.ALLOW: "the tool call of {run} is allowed",
    ControlAction.DENY: "the tool call of {run} is denied",
}


class NoSuchApprovalError(DashboardError):
    """No tool call, or more than one, waits for an answer there."""


def ask(
    session: JournalOperatorSession,
    action: ControlAction,
    run_id: str,
    name: str,
    approval_id: str | None = None,
    reason: str = "",
) -> tuple[Exit, str]:
    """Ask, and wait for the answer; it may come later, and the request stays.

    Args:
        session: open.
        action: what.
        run_id: the run that it is about.
        name: its display name.
        approval_id: what is allowed or denied.
        reason: why, for the agent to read.

    Returns:
        The exit status, and what became of the request, in words.
    """
    control_id = asyncio.run(session.request(action, run_id, approval_id=approval_id, reason=reason))
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        answer = session.answer(control_id)
        if answer is not None:
            if answer.refused:
                return Exit.FAILED, f"the host did not do it: {answer.refused}"
            return Exit.DONE, _DONE[action].format(run=name)
        if session.probe().state.over:
            continue  # whoever found it dead has refused the request: the next look sees that
        time.sleep(LOOK_SECONDS)
    return Exit.PENDING, (
        f"the host has not answered within {PATIENCE_SECONDS:.0f} s; the request stays, and `dashboard tail` tells"
        " when it is done"
    )


def waiting_approvals(session: JournalOperatorSession) -> list[tuple[RunView, ApprovalRequested]]:
    """Give the tool calls that wait for somebody's word, the oldest first."""
    projection = session.look(lambda store: fold_all(store.records))
    asked = [(run, request) for run in projection.runs.values() for request in run.approvals.values()]
    return sorted(asked, key=lambda pair: pair[1].approval_id)


def find_approval(session: JournalOperatorSession, which: str | None) -> tuple[RunView, ApprovalRequested]:
    """Give the one request that an answer is meant for; nothing is answered by a guess.

    Args:
        session: open.
        which: an approval id, or a run; ``None`` where only one waits.

    Raises:
        NoSuchApprovalError: none waits there, or more than one.
    """
    waiting = waiting_approvals(session)
    fits = waiting
    if which is not None:
        fits = [pair for pair in waiting if pair[1].approval_id == which]
        if not fits:
            runs = {run.run_id for run in runs_called(which, session.look(Store.runs))}
            fits = [pair for pair in waiting if pair[0].run_id in runs]
    if len(fits) == 1:
        return fits[0]
    if not fits:
        there = f" of {which}" if which is not None else ""
        raise NoSuchApprovalError(f"no tool call{there} waits for an answer")
    names = "; ".join(f"{asked.approval_id} ({run.name}: {asked.name})" for run, asked in fits)
    raise NoSuchApprovalError(f"{len(fits)} tool calls wait for an answer", fix=f"Name one by its id: {names}")


def approval_lines(session: JournalOperatorSession) -> Iterator[str]:
    """Give what waits for an answer, with all that a person needs to decide."""
    waiting = waiting_approvals(session)
    if not waiting:
        yield "no tool call waits for an answer"
    for run, asked in waiting:
        until = f", denied at {clock_time(asked.expires_at)} unless somebody answers" if asked.expires_at else ""
        wants = f"wants to call {sanitize_line(asked.name, 60)}"
        yield f"{asked.approval_id} {sanitize_line(run.name, 90)} {wants}{until}"
        yield from (f"    > {line}" for line in argument_text(asked.arguments).split("\n"))
