"""Each mistake that is put into the code is caught by a case of the table: the cases can fail."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tests.conftest import FakeClock
from tests.semantics.cases import CASES
from tests.semantics.faults import FAULTS, Fault, put_in
from tests.semantics.stage import inbox_on

PATIENCE_SECONDS = 3.0  # for a case that a fault keeps from ending


async def broken_rows(store: str = "memory") -> list[str]:
    """Play the cases until one is broken."""
    for row, play in CASES.items():
        try:
            with inbox_on(store, clock := FakeClock()) as inbox:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await play(inbox, clock)
        except (Exception, pytest.fail.Exception):
            return [row]
        finally:
            await let_go()
    return []


async def let_go() -> None:
    """End what a broken case has left running."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


async def test_without_a_fault_no_case_is_broken() -> None:
    assert await broken_rows() == []


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.says for fault in FAULTS])
async def test_the_fault_is_caught(fault: Fault, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    with put_in(fault):
        assert await broken_rows(), f"no case fails although {fault.says}"


def test_there_are_more_faults_than_a_few_and_each_is_another() -> None:
    assert len(FAULTS) >= 12
    assert len({fault.says for fault in FAULTS}) == len(FAULTS)
