"""The inbox protocol that any host can satisfy, its simplest implementation, and the check of a reader.

Source: "Give a running agent an inbox" (AIMU), kept exactly: P1 to P3.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from dashboard.core.errors import InboxSignatureError, NotAnInboxError

Drain = Callable[[], list[str]]


@runtime_checkable
class Inbox(Protocol):
    """Where messages wait for a run. There is no base class to inherit (P1)."""

    def reader(self, agent: str | None = None) -> Drain:
        """Open one run's own drain; called once per run, at its start (P2).

        Args:
            agent: the label of the run that opens it, passed positionally.

        Returns:
            A drain that gives every message since its last call, oldest first, and must not block.
        """
        ...


class QueueInbox:
    """A mailbox that a host writes to and a run reads from; safe to feed from any thread.

    What one drain gives becomes one user message, whichever run drains first (P6). To reach one run of several,
    and to know what became of a message, use ``RoutedInbox``. Source: "Give a running agent an inbox"; P1.
    """

    def __init__(self) -> None:
        # deque.append and popleft are atomic: no lock, so the core needs no threads to be safe with them
        self._pending: deque[str] = deque()

    def send(self, text: str) -> None:
        """Add a message for whichever run drains next.

        Args:
            text: the message. One that is no str is refused here: it would cost the run its reader (P4).

        Raises:
            TypeError: it is no str.
        """
        if not isinstance(text, str):
            raise TypeError(f"QueueInbox.send(text): it got a {type(text).__name__}; give a str")
        self._pending.append(text)

    def reader(self, agent: str | None = None) -> Drain:  # noqa: ARG002 - the protocol passes it; one queue has no use for it
        """Open a drain over the one queue; the label makes no difference."""

        def drain() -> list[str]:
            taken: list[str] = []
            while True:
                try:
                    taken.append(self._pending.popleft())
                except IndexError:
                    return taken

        return drain


def check_inbox(inbox: object, where: str) -> None:
    """Rehearse the call that a loop will make, before any run starts (P3).

    Args:
        inbox: what the user gave; ``None`` is fine, and means that nothing is read.
        where: the place that it was given at, for the error, such as ``Agent(inbox=...)``.

    Raises:
        NotAnInboxError: it has no callable ``reader`` (a ``ValueError``).
        InboxSignatureError: its reader refuses one positional argument (a ``TypeError``).
    """
    if inbox is None:
        return
    name = type(inbox).__qualname__
    reader = getattr(inbox, "reader", None)
    if isinstance(inbox, type) or not callable(reader):
        given = f"the class {inbox.__qualname__}" if isinstance(inbox, type) else f"a {name}"
        raise NotAnInboxError(
            f"{where} is not an inbox",
            f"it got {given}, which has no reader(agent) to call",
            "Give an instance with a method reader(self, agent=None), or None to read nothing",
        )
    try:
        signature = inspect.signature(reader)
    except (TypeError, ValueError):
        return  # an unreadable signature is no evidence of a wrong one: fail open
    try:
        signature.bind("label")
    except TypeError as error:
        raise InboxSignatureError(
            f"{where}: {name}.reader{signature} cannot be called the way a loop calls it",
            "a run passes its label as one positional argument, reader(agent)",
            "Widen the signature in the class body: def reader(self, agent=None)",
        ) from error
