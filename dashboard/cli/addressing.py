"""Which run a command means: people type the short names that narrow places show, and that scripts see nowhere."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dashboard.core.errors import DashboardError
from dashboard.core.labels import GENERIC_LABEL, RunRef, short_name


class AddressError(DashboardError):
    """No run, or more than one, is called so."""


def spelled_out(address: str, runs: Sequence[RunRef], labels: Collection[str]) -> str:
    """Give an address as a session knows it: without ``@``, and ``researcher#2`` as ``subagent-researcher#2``.

    What is a name already stays; so does what is no name at all, for whoever refuses it.

    Args:
        address: as it was typed.
        runs: the runs of the session.
        labels: the labels of the session.
    """
    address = address.removeprefix("@")
    known = {run.run_id for run in runs} | {run.name for run in runs} | {run.label for run in runs} | set(labels)
    longer = f"{GENERIC_LABEL}-{address}"
    if address in known or not ({longer, longer.partition("#")[0]} & known):
        return address
    return longer


def runs_called(address: str, runs: Sequence[RunRef]) -> list[RunRef]:
    """Give the runs that an address can mean: by id, by name, short or long, or all of a label.

    Args:
        address: as it was typed.
        runs: the runs of the session.

    Raises:
        AddressError: there is none.
    """
    exact = spelled_out(address, runs, ())
    found = [run for run in runs if exact in (run.run_id, run.name)] or [run for run in runs if run.label == exact]
    if not found:
        names = ", ".join(run.name for run in runs[-12:]) or "it has none yet"
        raise AddressError(f"no run of this session is called {address!r}", fix=f"Its runs: {names}")
    return found


def live_run(address: str, runs: Sequence[RunRef]) -> RunRef:
    """Give the one live run that an address means.

    Raises:
        AddressError: none is called so, all of them have ended, or several are live.
    """
    found = runs_called(address, runs)
    live = [run for run in found if run.live]
    if not live:
        raise AddressError(f"{found[-1].name} has ended", fix="`dashboard tail` tells how")
    if len(live) > 1:
        names = ", ".join(short_name(run.label, run.ordinal) for run in live)
        raise AddressError(f"{address!r} is {len(live)} live runs", fix=f"Name one of them: {names}")
    return live[0]
