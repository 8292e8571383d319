"""Ids that sort by time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.core.ids import ENTROPY_BYTES, sortable_id

INSTANTS = st.integers(0, 2**47 * 1000)
ENTROPY = st.binary(min_size=ENTROPY_BYTES, max_size=ENTROPY_BYTES)


@given(INSTANTS, INSTANTS, ENTROPY, ENTROPY)
def test_an_id_sorts_by_the_millisecond_it_was_made_in(first: int, second: int, one: bytes, other: bytes) -> None:
    if first // 1000 < second // 1000:
        assert sortable_id("msg", first, one) < sortable_id("msg", second, other)


@given(INSTANTS, ENTROPY, ENTROPY)
def test_two_ids_of_one_instant_differ_by_their_entropy(at: int, one: bytes, other: bytes) -> None:
    assert (sortable_id("run", at, one) == sortable_id("run", at, other)) == (one == other)


def test_an_id_says_what_it_names_and_has_26_characters() -> None:
    made = sortable_id("run", 1_800_000_000_000_000, bytes(range(10)))
    assert made.startswith("run_")
    assert len(made) == len("run_") + 26


def test_too_little_entropy_is_an_error() -> None:
    with pytest.raises(ValueError, match="10 bytes, got 3"):
        sortable_id("run", 0, b"abc")
