"""A test that needs what a machine cannot do is passed over with the reason, and fails where all have to run."""

from __future__ import annotations

import pytest

from tests.capabilities import OTHER_USER, SMALL_DISK, Capability, needs

THERE = Capability("a spoon", lambda: "")
MISSING = Capability("a spoon", lambda: "there is no spoon")
SAID = "needs a spoon: there is no spoon"


@pytest.mark.parametrize("environment", [{}, {"CI": "true"}])
def test_what_is_there_lets_the_test_go_on(environment: dict[str, str]) -> None:
    needs(THERE, environment)


@pytest.mark.parametrize("environment", [{}, {"CI": ""}, {"CI": "false"}])
def test_what_is_missing_passes_the_test_over_and_says_why(environment: dict[str, str]) -> None:
    with pytest.raises(pytest.skip.Exception) as said:
        needs(MISSING, environment)
    assert said.value.msg == SAID


def test_what_is_missing_where_every_test_has_to_run_is_a_failure() -> None:
    with pytest.raises(pytest.fail.Exception) as said:
        needs(MISSING, {"CI": "true"})
    assert said.value.msg == f"{SAID}; with CI=true no test is passed over"


def test_only_root_has_a_small_disk_or_becomes_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert SMALL_DISK.missing() == "only root may mount one"
    assert OTHER_USER.missing() == "only root may become another user"
