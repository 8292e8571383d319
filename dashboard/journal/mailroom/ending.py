"""What the start and the end of a run mean for mail: it is bound, confirmed or returned with the event.

Both stores call ``precede`` and ``follow`` for every event that they append, in the transaction that appends it.
"""

from __future__ import annotations

from dashboard.core.errors import JournalError
from dashboard.core.events import (
    ControlRefused,
    ControlRequested,
    KnownEvent,
    MessageBound,
    NoticeLevel,
    NoticeRaised,
    RunFinished,
    RunStarted,
    SessionClosed,
    TurnFinished,
    Unknown,
)
from dashboard.core.labels import display_name
from dashboard.core.messages import ReturnReason
from dashboard.core.outcomes import Outcome
from dashboard.journal.ledger import Ledger, is_live
from dashboard.journal.mailroom.foreign import confirm
from dashboard.journal.mailroom.returning import return_open

_RETURNS = {Outcome.CANCELLED: ReturnReason.CANCELLED, Outcome.LOST: ReturnReason.HOST_LOST}


def redundant(ledger: Ledger, event: KnownEvent | Unknown) -> bool:
    """Whether an event tells the end of a run that does not live here: it has ended already, or never started."""
    return isinstance(event, RunFinished) and not is_live(ledger, event.run_id)


def precede(ledger: Ledger, event: KnownEvent | Unknown, at: int) -> None:
    """Do what has to stand before an event; called by a ledger that is about to append it.

    Raises:
        JournalError: a run starts that has started already, or under the name of another.
    """
    match event:
        case RunStarted():
            for run in ledger.runs():
                if run.run_id == event.run_id or (run.label, run.ordinal) == (event.label, event.ordinal):
                    raise JournalError(f"{run.name} ({run.run_id}) has started already in this session")
        case RunFinished(outcome=Outcome.ANSWERED | Outcome.WRAP_UP):
            confirm(ledger, event.run_id, at)
        case _:
            pass


def follow(ledger: Ledger, event: KnownEvent | Unknown, at: int) -> None:
    """Do what follows from an event; called by a ledger that has appended it."""
    match event:
        case RunStarted(reading=True):
            name = display_name(event.label, event.ordinal)
            for message in ledger.unbound(event.label):
                ledger.append(MessageBound(message_id=message.id, run_id=event.run_id, to=name), at)
        case RunFinished():
            reason = _RETURNS.get(event.outcome, ReturnReason.RUN_ENDED)
            return_open(ledger, ledger.open_of(event.run_id), reason, at)
        case SessionClosed():
            refuse_open_controls(ledger, "the session was closed", at)
            return_open(ledger, ledger.unbound(), ReturnReason.RUN_ENDED, at)
            for run in ledger.runs():
                if run.live:  # it was not ended properly, and still nobody will read its mail (A1)
                    return_open(ledger, ledger.open_of(run.run_id), ReturnReason.RUN_ENDED, at)
        case ControlRequested() if ledger.over is not None:
            refuse_open_controls(ledger, "the session is over, and no host is there to do it", at)
        case _:
            pass


def cancel_turn(ledger: Ledger, run_id: str, finished: TurnFinished | None, before: int | None, at: int) -> None:
    """Record that a root's turn was cancelled, and return the mail that waited for it, held or not (A11).

    Args:
        ledger: inside a transaction.
        run_id: the root.
        finished: the end of the turn; ``None`` where no turn was open.
        before: the seq of the request to cancel, so that what was accepted after it stays; ``None`` returns all.
        at: now, in microseconds since the epoch, UTC.
    """
    if finished is not None:
        ledger.append(finished, at)
    waiting = ledger.open_of(run_id)
    returned = [message for message in waiting if before is None or message.accepted < before]
    return_open(ledger, returned, ReturnReason.CANCELLED, at)


def refuse_open_controls(ledger: Ledger, why: str, at: int) -> None:
    """Refuse what operators have asked for and nobody will do any more."""
    for control_id, run_id in ledger.open_controls():
        ledger.append(ControlRefused(control_id=control_id, reason=why, run_id=run_id), at)


def reap(ledger: Ledger, at: int) -> int:
    """End every live run as lost, once the host is known to be dead; its open mail comes back with that reason.

    Args:
        ledger: inside a transaction.
        at: now, in microseconds since the epoch, UTC.

    Returns:
        How many runs were lost.
    """
    if ledger.over is not None:
        return 0  # someone was faster
    lost = [run for run in ledger.runs() if run.live]
    ledger.end("its host was lost")
    refuse_open_controls(ledger, "the host process died", at)
    return_open(ledger, ledger.unbound(), ReturnReason.HOST_LOST, at)
    for run in lost:
        ledger.append(RunFinished(run_id=run.run_id, outcome=Outcome.LOST, error="the host process died"), at)
    if lost:
        names = ", ".join(run.name for run in lost)
        text = f"the host process died; {len(lost)} of its runs are lost: {names}"
        ledger.append(NoticeRaised(level=NoticeLevel.NOTE, text=text), at)  # each console says it once, by itself
    return len(lost)
