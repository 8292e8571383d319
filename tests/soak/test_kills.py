"""Nothing that was accepted is lost, whoever is killed and whenever: a short run of the yard."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.capabilities import FORK, needs

ROOT = Path(__file__).parent.parent.parent
KILLS = 60
SECONDS = 120  # far more than it takes: a machine that is busy must not fail it


def test_after_each_of_sixty_random_kills_every_message_is_accounted_for() -> None:
    needs(FORK)
    done = subprocess.run(
        [sys.executable, "-m", "tests.soak", "--kills", str(KILLS), "--seconds", str(SECONDS)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=2 * SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"  # the seed is in the first line
    assert done.stderr == "", done.stdout
    figures = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    hosts, consoles = (int(part.split()[0]) for part in figures["kills"].split(", "))
    assert hosts + consoles == KILLS
    assert min(hosts, consoles) > 3
    assert int(figures["examinations"]) >= KILLS
    for what in ("acknowledged", "amendments acknowledged", "delivered", "returned", "runs lost", "deltas"):
        assert int(figures[what].replace(",", "")) > 0, done.stdout
