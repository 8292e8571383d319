"""Labels, ordinals and addresses: how a run is named, and how a name finds exactly one run (A5)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from dashboard.core.messages import Refusal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

ROOT_LABEL = "main"
GENERIC_LABEL = "subagent"
AGENT_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_LABEL = re.compile(r"(?=.*\S)[^#]{1,80}")
_ADDRESS = re.compile(r"(?P<label>[^#]+?)(?:#(?P<ordinal>[1-9][0-9]{0,8}))?")


def is_label(name: object) -> bool:
    """Whether a run can be called so: 1 to 80 characters that can be printed, without ``#`` (A5)."""
    return isinstance(name, str) and _LABEL.fullmatch(name) is not None and name.isprintable()


def subagent_label(agent_type: str | None) -> str:
    """Give the label of a spawned run: ``subagent-<type>``, or ``subagent`` where there is no type (P13)."""
    return GENERIC_LABEL if agent_type is None else f"{GENERIC_LABEL}-{agent_type}"


def display_name(label: str, ordinal: int) -> str:
    """Give the name that people read and type: ``main``, else ``<label>#<ordinal>``."""
    return label if label == ROOT_LABEL and ordinal == 1 else f"{label}#{ordinal}"


def short_name(label: str, ordinal: int) -> str:
    """Give the display name without the ``subagent-`` that every spawned run shares, for narrow places."""
    return display_name(label, ordinal).removeprefix(f"{GENERIC_LABEL}-")


class RunRef(msgspec.Struct, frozen=True):
    """What an address is resolved against: one run of the session, as it is now."""

    run_id: str
    label: str
    ordinal: int
    live: bool
    reading: bool

    @property
    def name(self) -> str:
        """The display name."""
        return display_name(self.label, self.ordinal)


class Bound(msgspec.Struct, frozen=True):
    """The address means this run, now and for good."""

    run: RunRef


class Unbound(msgspec.Struct, frozen=True):
    """The address means the next run of this label to start."""

    label: str


class Refused(msgspec.Struct, frozen=True):
    """The address cannot be sent to; nothing is stored."""

    refusal: Refusal
    what: str
    candidates: tuple[str, ...] = ()


Resolution = Bound | Unbound | Refused


def resolve(address: str, runs: Iterable[RunRef], known_labels: Collection[str]) -> Resolution:
    """Resolve an address at send, never later (A5).

    Args:
        address: a run id, ``label#ordinal``, or a bare label.
        runs: every run of the session, live and ended.
        known_labels: labels that the roster declares or the session has seen.

    Returns:
        ``Bound`` for exactly one live run that reads mail; ``Unbound`` for a known label without a live run;
        else ``Refused`` with ``unknown``, ``ambiguous``, ``run_ended`` or ``not_reading``.
    """
    runs = list(runs)
    by_id = next((run for run in runs if run.run_id == address), None)
    if by_id is not None:
        return _bind(by_id)
    match = _ADDRESS.fullmatch(address)
    if match is None:
        return Refused(Refusal.UNKNOWN, f"{address!r} is neither a label, a label#ordinal nor a run id")
    label, ordinal = match["label"], match["ordinal"]
    of_label = [run for run in runs if run.label == label]
    if ordinal is not None:
        named = next((run for run in of_label if run.ordinal == int(ordinal)), None)
        return _bind(named) if named else Refused(Refusal.UNKNOWN, f"no run {address} in this session")
    live = [run for run in of_label if run.live]
    if len(live) == 1:
        return _bind(live[0])
    if live:
        names = tuple(run.name for run in live)
        return Refused(Refusal.AMBIGUOUS, f"{label} is {len(live)} live runs ({', '.join(names)})", names)
    if of_label or label in known_labels:
        return Unbound(label)
    return Refused(Refusal.UNKNOWN, f"no run and no agent type of this session is called {address}")


def _bind(run: RunRef) -> Resolution:
    if not run.live:
        return Refused(Refusal.RUN_ENDED, f"{run.name} has ended and reads nothing more")
    if not run.reading:
        return Refused(Refusal.NOT_READING, f"{run.name} has no inbox")
    return Bound(run)
