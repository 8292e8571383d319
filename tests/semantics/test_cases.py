"""Every row of the case table, on both stores."""

from __future__ import annotations

import pytest

from tests.conftest import FakeClock
from tests.semantics.cases import CASES
from tests.semantics.stage import STORES, inbox_on


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("row", CASES)
async def test_the_case(row: str, store: str, clock: FakeClock) -> None:
    with inbox_on(store, clock) as inbox:
        await CASES[row](inbox, clock)
