"""What every test starts from: a state folder of its own, a clock that only moves when told."""

from __future__ import annotations

from pathlib import Path

import pytest


class FakeClock:
    """Microseconds since the epoch, UTC, that pass only by ``tick``."""

    def __init__(self, start: int = 1_800_000_000_000_000) -> None:
        self.at = start

    def __call__(self) -> int:
        return self.at

    def tick(self, seconds: float) -> None:
        self.at += int(seconds * 1_000_000)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test may touch the sessions of whoever runs it."""
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("DASHBOARD_HOME", str(folder))
    return folder
