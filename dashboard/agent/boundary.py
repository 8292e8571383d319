"""How a loop gets its mail from an inbox: any of the protocol, or one that opens mail of its own (P1-P6)."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any

from dashboard.agent.telling import Emit
from dashboard.core.events import RunStarted, TurnFinished
from dashboard.core.inbox import Inbox
from dashboard.core.mail import Boundary, BoundaryKind, Delivered, Mail, opens_runs
from dashboard.core.outcomes import Outcome, RunEnd

logger = logging.getLogger(__name__)

_READ_AT = frozenset({BoundaryKind.AFTER_TOOLS, BoundaryKind.DEGENERATE, BoundaryKind.FINAL, BoundaryKind.WRAP_UP})


def open_mail(inbox: Inbox | None, run: RunStarted) -> tuple[Mail, Emit | None]:
    """Open one run's mail, once, right after its ``RunStarted`` (P2).

    Args:
        inbox: where messages wait, or ``None`` to read nothing. A ``RunInbox`` brings its own
            mail; of any other, ``reader(label)`` is wrapped.
        run: the run that starts.

    Returns:
        The mail, and the bus on which it records by itself what it delivers and how the run ends, if it does.
        An inbox that fails here is logged, and the run goes on without one (P4).
    """
    if inbox is None:
        return NoMail(), None
    name = type(inbox).__qualname__
    try:
        if opens_runs(inbox):
            return inbox.open_run(run.run_id), inbox.emit
        drain: Any = inbox.reader(run.label)
    except Exception:
        logger.exception("%s: %s failed to open; the run goes on without a reader", run.label, name)
        return NoMail(), None
    if not callable(drain):
        logger.error(
            "%s: %s.reader gave a %s, which cannot be called; the run goes on without a reader",
            run.label, name, type(drain).__qualname__,
        )  # fmt: skip
        _close(drain)
        return NoMail(), None
    return ReaderMail(drain, run.label, name), None


class NoMail:
    """The mail of a run that reads nothing."""

    async def take(self, boundary: Boundary) -> tuple[Delivered, ...]:  # noqa: ARG002 - nothing is read anywhere
        """Give nothing."""
        return ()

    async def finish(self, boundary: Boundary, end: RunEnd) -> tuple[Delivered, ...]:  # noqa: ARG002 - nothing extends
        """Let the run end."""
        return ()

    async def cancel_turn(self, finished: TurnFinished | None, before: int | None) -> None:
        """Return nothing: nothing waits here that has a sender to go back to."""

    async def wait(self) -> None:
        """Wait until cancelled: nothing can come, and a plain reader has no way to say that something did."""
        await asyncio.Event().wait()


class ReaderMail(NoMail):
    """The mail of a run with a plain reader.

    It is drained at the boundaries of P5, not at the open of a turn and not before a retry. What one drain gives
    becomes one user message (P6), which wakes and resets the budget. A drain that raises, or gives the wrong
    shape, is logged once and not called again (P4).

    Args:
        drain: what the inbox's ``reader`` gave.
        label: the run's, for the log.
        name: the inbox's class, for the log.
    """

    def __init__(self, drain: Callable[[], Any], label: str, name: str) -> None:
        self._drain: Callable[[], Any] | None = drain
        self._label = label
        self._name = name

    async def take(self, boundary: Boundary) -> tuple[Delivered, ...]:
        """Drain, where a plain reader is read at all."""
        text = self._read() if boundary.kind in _READ_AT else ""
        return (Delivered(text),) if text else ()

    async def finish(self, boundary: Boundary, end: RunEnd) -> tuple[Delivered, ...]:
        """Drain once more before an answered end, and let the run end if that gave nothing."""
        return await self.take(boundary) if end.outcome is Outcome.ANSWERED else ()

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
