"""The line store against the plain sums that it stands for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.ui.line_store import BLOCK, LineStore

HEIGHTS = st.lists(st.integers(0, 9), max_size=3 * BLOCK)


def store_of(heights: list[int]) -> LineStore:
    store = LineStore()
    for index, height in enumerate(heights):
        store.set(index, height)
    return store


@given(HEIGHTS, st.lists(st.tuples(st.integers(0, 3 * BLOCK), st.integers(0, 9)), max_size=20))
def test_starts_and_total_are_the_sums_also_after_changes(
    heights: list[int], changes: list[tuple[int, int]]
) -> None:
    store = store_of(heights)
    for index, height in changes:
        if index < len(heights):
            heights[index] = height
            store.set(index, height)
    assert store.total == sum(heights)
    for index in {0, len(heights) // 2, max(0, len(heights) - 1), len(heights)}:
        assert store.start(index) == sum(heights[:index])


@given(HEIGHTS, st.integers(0, 10_000))
def test_a_line_is_found_in_the_entry_that_holds_it(heights: list[int], line: int) -> None:
    store = store_of(heights)
    if line >= sum(heights):
        with pytest.raises(IndexError):
            store.locate(line)
        return
    index, offset = store.locate(line)
    assert store.start(index) + offset == line
    assert 0 <= offset < store.height(index)


def test_a_gap_is_an_error() -> None:
    with pytest.raises(IndexError):
        store_of([1, 2]).set(5, 1)


def test_a_cleared_store_is_empty() -> None:
    store = store_of([1, 2, 3])
    store.clear()
    assert (len(store), store.total, store.start(0)) == (0, 0, 0)
