"""``make soak``: hosts and consoles are killed at random moments; after each, every message is accounted for."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from dashboard.core.errors import DashboardError
from dashboard.journal.home import HOME_VARIABLE
from tests.soak.processes import StuckError, kill_all
from tests.soak.yard import Yard, YardError


def main() -> int:
    """Run the yard; gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--kills", type=int, default=2_000, help="how many in all")
    parser.add_argument(
        "--seed", type=int, default=None, help="of an earlier run: the same dice, not the same times"
    )
    parser.add_argument("--seconds", type=float, default=float("inf"), help="fail if it takes longer")
    parser.add_argument("--serve", action="store_true", help="die at the failpoints that standard input names")
    wanted = parser.parse_args()
    seed = random.randrange(1 << 30) if wanted.seed is None else wanted.seed
    home = Path(tempfile.mkdtemp(prefix="yard-"))
    os.environ[HOME_VARIABLE] = str(home)
    yard = Yard(seed)
    if wanted.serve:
        _serve(yard)
        shutil.rmtree(home)
        return 0
    print(f"seed: {seed}", flush=True)
    began = time.monotonic()
    failure = _failure_of(lambda: yard.kill_at_random(wanted.kills, began + wanted.seconds))
    if not failure and yard.tally.kills < wanted.kills:
        failure = f"only {yard.tally.kills} kills in {wanted.seconds:g} s"
    if failure:
        print(
            f"FAILED with seed {seed} at kill {yard.tally.kills}; what is left is in {home}\n{failure}", flush=True
        )
        return 1
    print("\n".join(yard.tally.lines()))
    print(f"seconds: {time.monotonic() - began:.1f}")
    shutil.rmtree(home)
    return 0


def _serve(yard: Yard) -> None:
    """Answer each ``victim point nth`` with how the victim ended, and what was wrong with what it left."""
    for line in sys.stdin:
        victim, point, nth = line.split()
        statuses: list[int] = []
        failure = _failure_of(lambda: statuses.append(yard.die_at(point, int(nth), victim)))  # noqa: B023 - called at once
        print(msgspec.json.encode({"status": statuses, "failure": failure}).decode(), flush=True)


def _failure_of(step: Callable[[], None]) -> str:
    """Give what went wrong in a step; empty if nothing did."""
    try:
        step()
    except (YardError, StuckError, DashboardError) as error:
        return str(error)
    finally:
        kill_all()
    return ""


if __name__ == "__main__":
    sys.exit(main())
