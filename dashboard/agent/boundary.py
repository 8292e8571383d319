"""How a loop gets its mail from an inbox: any of the protocol, or one that opens mail of its own (P1-P6)."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any

from dashboard.agent.runtime import Emit
from dashboard.core.events import HistoryAppended, MessageDelivered, RunFinished, RunStarted
from dashboard.core.history import User
from dashboard.core.inbox import Inbox
from dashboard.core.mail import Boundary, BoundaryKind, Delivered, Mail, RunInbox
from dashboard.core.outcomes import Outcome, RunEnd

logger = logging.getLogger(__name__)

_READ_AT = frozenset({BoundaryKind.AFTER_TOOLS, BoundaryKind.DEGENERATE, BoundaryKind.FINAL, BoundaryKind.WRAP_UP})


def open_mail(inbox: Inbox | None, run: RunStarted, emit: Emit) -> Mail:
    """Open one run's mail, once, right after its ``RunStarted`` (P2).

    Args:
        inbox: where messages wait, or ``None`` to read nothing. A ``RunInbox`` brings its own
            mail; of any other, ``reader(label)`` is wrapped.
        run: the run that starts.
        emit: where deliveries and the end are told.

    Returns:
        The mail. An inbox that fails here is logged, and the run goes on without one (P4).
    """
    if inbox is None:
        return NoMail(run.run_id, emit)
    name = type(inbox).__qualname__
    try:
        if isinstance(inbox, RunInbox):
            return inbox.open_run(run.run_id)
        drain: Any = inbox.reader(run.label)
    except Exception:
        logger.exception("%s: %s failed to open; the run goes on without a reader", run.label, name)
        return NoMail(run.run_id, emit)
    if not callable(drain):
        logger.error(
            "%s: %s.reader gave a %s, which cannot be called; the run goes on without a reader",
            run.label, name, type(drain).__qualname__,
        )  # fmt: skip
        _close(drain)
        return NoMail(run.run_id, emit)
    return ReaderMail(drain, run, name, emit)


def opens_runs(inbox: Inbox | None) -> bool:
    """Whether an inbox brings its own mail, and so takes part in the session: people can write to its runs."""
    return isinstance(inbox, RunInbox)


class NoMail:
    """The mail of a run that reads nothing: it only ends the run."""

    def __init__(self, run_id: str, emit: Emit) -> None:
        self._run_id = run_id
        self._emit = emit

    async def take(self, boundary: Boundary) -> tuple[Delivered, ...]:  # noqa: ARG002 - nothing is read anywhere
        """Give nothing."""
        return ()

    async def finish(self, boundary: Boundary, end: RunEnd) -> tuple[Delivered, ...]:  # noqa: ARG002 - nothing extends
        """End the run."""
        self._emit(RunFinished(run_id=self._run_id, outcome=end.outcome, answer=end.answer, error=end.error))
        return ()

    async def wait(self) -> None:
        """Wait until cancelled: nothing can come."""
        await asyncio.Event().wait()


class ReaderMail(NoMail):
    """The mail of a run with a plain reader.

    It is drained at the boundaries of P5, not at the open of a turn and not before a retry. What one drain gives
    becomes one user message (P6), which wakes and resets the budget. A drain that raises, or gives the wrong
    shape, is logged once and not called again (P4).

    Args:
        drain: what the inbox's ``reader`` gave.
        run: the run that reads.
        name: the inbox's class, for the log.
        emit: where deliveries and the end are told.
    """

    def __init__(self, drain: Callable[[], Any], run: RunStarted, name: str, emit: Emit) -> None:
        super().__init__(run.run_id, emit)
        self._drain: Callable[[], Any] | None = drain
        self._label = run.label
        self._name = name

    async def take(self, boundary: Boundary) -> tuple[Delivered, ...]:
        """Drain, where a plain reader is read at all."""
        return self._deliver(boundary) if boundary.kind in _READ_AT else ()

    async def finish(self, boundary: Boundary, end: RunEnd) -> tuple[Delivered, ...]:
        """Drain once more before an answered end, and end the run if that gave nothing."""
        delivered = self._deliver(boundary) if end.outcome is Outcome.ANSWERED else ()
        return delivered or await super().finish(boundary, end)

    async def wait(self) -> None:
        """Wait until cancelled: a plain reader has no way to say that something came, so it wakes no idle run."""
        await super().wait()

    def _deliver(self, boundary: Boundary) -> tuple[Delivered, ...]:
        text = self._read()
        if not text:
            return ()
        index = boundary.history_index
        self._emit(
            MessageDelivered(run_id=self._run_id, turn=boundary.turn, round=boundary.round, history_index=index)
        )
        self._emit(HistoryAppended(run_id=self._run_id, index=index, entry=User(text)))
        return (Delivered(text),)

    def _read(self) -> str:
        if self._drain is None:
            return ""
        try:
            texts = self._drain()
        except Exception:
            logger.exception("%s: a drain of %s raised; the run goes on without a reader", self._label, self._name)
            self._drain = None
            return ""
        # a str is iterable: unchecked, "stop" would be delivered as four messages
        if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
            logger.error(
                "%s: a drain of %s gave a %s, not a list of str; the run goes on without a reader",
                self._label, self._name, _shape(texts),
            )  # fmt: skip
            _close(texts)
            self._drain = None
            return ""
        return "\n\n".join(stripped for text in texts if (stripped := text.strip()))


def _shape(value: object) -> str:
    name = type(value).__qualname__
    if isinstance(value, list | tuple):
        return f"{name} of {', '.join(sorted({type(element).__qualname__ for element in value}))}"
    return name


def _close(value: object) -> None:
    """Close a coroutine that an async reader or drain gave, so that it does not warn when it is collected."""
    if inspect.iscoroutine(value):
        value.close()
