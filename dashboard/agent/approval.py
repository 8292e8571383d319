"""Which tool calls wait for an operator's word, and the calls that do."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from dashboard.agent.finishing import on_loop
from dashboard.core.errors import ControlRefusedError, RosterError
from dashboard.core.events import ApprovalAnswer, ApprovalRequested

MARKED, ALL, NONE = "marked", "all", "none"
WORDS = (MARKED, ALL, NONE)
TIMEOUT_SECONDS = 3600.0


class Approval(msgspec.Struct, frozen=True):
    """When an agent's tools ask before they run (H4).

    Args:
        asks: ``marked`` for the tools made with ``needs_approval``, ``all``, ``none``, or tool names.
        timeout: seconds after which a call that nobody answered counts as denied; ``None`` waits for good.
    """

    asks: str | frozenset[str] = MARKED
    timeout: float | None = TIMEOUT_SECONDS

    def wanted(self, name: str, marked: bool) -> bool:
        """Whether a call of a tool asks first.

        Args:
            name: the tool's.
            marked: whether it was made with ``needs_approval``.
        """
        if isinstance(self.asks, str):
            return self.asks == ALL or (self.asks == MARKED and marked)
        return name in self.asks

    def among(self, names: Collection[str]) -> Approval:
        """Give the same for an agent that has these tools and no others."""
        return self if isinstance(self.asks, str) else Approval(self.asks.intersection(names), self.timeout)


def approval_of(value: Any, where: str, names: Collection[str] | None = None) -> Approval:  # noqa: ANN401 - a user's
    """Read what a user gave as an approval.

    Args:
        value: an ``Approval``, one of its words, or tool names.
        where: the place that it was given at, for the error.
        names: the tools that there are; ``None`` does not check the names.

    Raises:
        RosterError: it is none of these, or names a tool that is not there (a ``ValueError``).
    """
    timeout: float | None = TIMEOUT_SECONDS
    if isinstance(value, Approval):
        value, timeout = value.asks, _checked_timeout(value.timeout, where)
    if isinstance(value, str) and value in WORDS:
        return Approval(value, timeout)
    if isinstance(value, Collection) and not isinstance(value, str | bytes):
        asked = frozenset(value)
        if all(isinstance(name, str) for name in asked):
            _check_names(asked, where, names)
            return Approval(asked, timeout)
    raise RosterError(
        f"{where} is no approval", f"it got {value!r}",
        f"Give {', '.join(map(repr, WORDS))}, a list of tool names, or an Approval(...)",
    )  # fmt: skip


def _checked_timeout(timeout: Any, where: str) -> float | None:  # noqa: ANN401 - whatever a user wrote
    if timeout is None or (isinstance(timeout, int | float) and not isinstance(timeout, bool) and timeout > 0):
        return timeout
    raise RosterError(
        f"{where}: its timeout is no time", f"it got {timeout!r}", "Give seconds, or None to wait for good"
    )


def _check_names(asked: frozenset[str], where: str, names: Collection[str] | None) -> None:
    """Refuse a name that no tool has: the tool that was meant would run without asking."""
    unknown = sorted(asked - frozenset(names)) if names is not None else []
    if unknown:
        known = ", ".join(sorted(names or ())) or "none"
        raise RosterError(
            f"{where} names no tool of this agent: {', '.join(map(repr, unknown))}", fix=f"Its tools are: {known}"
        )


class Verdict(msgspec.Struct, frozen=True):
    """How a request for approval was answered, by whom and why."""

    answer: ApprovalAnswer
    by: str = ""
    reason: str = ""


class Approvals:
    """The requests that wait for an answer. A message never answers one (A12); only ``answer`` does."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[ApprovalRequested, asyncio.Future[Verdict]]] = {}

    def open(self, request: ApprovalRequested) -> asyncio.Future[Verdict]:
        """Enter a request; its future is done once it is answered."""
        future: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        self._waiting[request.approval_id] = request, future
        return future

    def close(self, approval_id: str) -> None:
        """Take out a request that is over."""
        self._waiting.pop(approval_id, None)

    def answer(self, approval_id: str, *, allow: bool, by: str, reason: str = "") -> str:
        """Answer a request, from any thread; gives the run that asked.

        Args:
            approval_id: the request.
            allow: whether the tool may run.
            by: who answers.
            reason: why not, for the agent to read.

        Raises:
            ControlRefusedError: nothing of that id waits: it was answered, timed out, or its run ended.
        """
        request, future = self._waiting.get(approval_id, (None, None))
        if request is None or future is None:
            raise _nothing_waits(approval_id)
        verdict = Verdict(ApprovalAnswer.ALLOWED if allow else ApprovalAnswer.DENIED, by, reason)

        def settle() -> None:
            if future.done():
                raise _nothing_waits(approval_id)
            future.set_result(verdict)

        on_loop(future.get_loop(), settle)
        return request.run_id

    def requests(self) -> list[ApprovalRequested]:
        """Give what waits, the oldest first: the run, the tool and its arguments."""
        return [request for request, _ in list(self._waiting.values())]

    def __iter__(self) -> Iterator[str]:
        """Give the ids of the requests that wait, the oldest first."""
        return iter(list(self._waiting))


def _nothing_waits(approval_id: str) -> ControlRefusedError:
    return ControlRefusedError(
        f"no approval {approval_id} is waiting", "it was answered, its time passed, or its run ended"
    )
