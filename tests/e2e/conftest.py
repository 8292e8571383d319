"""Every session of a test is stopped when it ends, however it ends."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.sessions import DASHBOARD, Sessions
from tests.e2e.terminal import environment


@pytest.fixture
def sessions(state_home: Path) -> Iterator[Sessions]:
    made = Sessions(state_home)
    yield made
    for folder in (state_home / "sessions").iterdir():
        subprocess.run(
            [*DASHBOARD, "stop", folder.name],
            env=environment(state_home),
            capture_output=True,
            timeout=60,
            check=False,
        )
