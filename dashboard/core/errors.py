"""One tree of errors: each says what failed, why, and the next thing to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.core.messages import Refusal


class DashboardError(Exception):
    """The root of every error that this package raises on purpose.

    Args:
        what: what failed, naming the thing and the place.
        why: the cause, as far as it is known.
        fix: the next thing to do.
    """

    def __init__(self, what: str, why: str = "", fix: str = "") -> None:
        super().__init__(what, why, fix)
        self.what = what
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        text = self.what
        if self.why:
            text += f": {self.why}"
        if self.fix:
            text += f". {self.fix}"
        return text


class SessionNotFoundError(DashboardError):
    """There is no session of that id, or none at all."""


class SessionUnsafeError(DashboardError):
    """The state folder, or the file system under it, cannot be trusted with a journal."""


class JournalError(DashboardError):
    """The journal could not be opened, read or written."""


class JournalClosedError(JournalError):
    """Nothing is written in this process any more: its session was closed, or its writer has failed."""


class HostError(DashboardError):
    """The host process did not start, or ended early."""


class PlaceError(DashboardError):
    """A folder or file that was asked for is missing, unreadable, or outside its root."""


class ToolError(DashboardError):
    """A tool call that the model can correct: unknown tool, arguments that do not validate, a bad path."""


class ModelError(DashboardError):
    """A model request failed."""


class InboxSignatureError(DashboardError, TypeError):
    """A ``reader`` that the loop cannot call with one positional argument (P3)."""


class NotAnInboxError(DashboardError, ValueError):
    """A value given as an inbox that has no ``reader`` (P3, P13)."""


class RosterError(DashboardError, ValueError):
    """A roster, or one of its agents' specs, is not usable as written (P13)."""


class LoopRunningError(DashboardError, RuntimeError):
    """A synchronous call that needs an event loop of its own, inside a running one (P12)."""


class ControlRefusedError(DashboardError):
    """What was asked of a run cannot be done as it is now; nothing was changed."""


class ReplayError(DashboardError):
    """A session that is only played was to be written to, or its host asked for something."""

    def __init__(self) -> None:
        super().__init__("this is a replay: nothing is sent")


class InvalidMessageError(DashboardError, ValueError):
    """What a program gave for a message cannot be one: a wrong type, or a time in the wrong unit."""


class SendRefusedError(DashboardError):
    """A message was refused at send, or an amendment of one; nothing was changed (A1, A10).

    Args:
        refusal: the reason, one of the fixed set.
        what: the sentence for people.
        candidates: for ``ambiguous``, the display names of the live runs to choose from.
        fix: the next thing to do.
    """

    def __init__(self, refusal: Refusal, what: str, candidates: Sequence[str] = (), fix: str = "") -> None:
        super().__init__(what, fix=fix)
        self.refusal = refusal
        self.candidates = tuple(candidates)
