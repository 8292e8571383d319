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


@given(
    st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=2 * BLOCK),
    st.lists(st.integers(1, 9), max_size=BLOCK + 5),
)
def test_entries_put_before_the_first_are_estimates_and_move_the_others_whole(
    entries: list[tuple[int, bool]], earlier: list[int]
) -> None:
    store = LineStore()
    for index, (height, exact) in enumerate(entries):
        store.set(index, height, exact=exact)
    store.prepend(earlier)
    assert [store.height(index) for index in range(len(store))] == [*earlier, *(height for height, _ in entries)]
    assert [store.is_exact(index) for index in range(len(store))] == [
        *[False] * len(earlier),
        *(exact for _, exact in entries),
    ]
    assert store.total == sum(earlier) + sum(height for height, _ in entries)
    assert store.start(len(earlier)) == sum(earlier)


@given(st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=60))
def test_estimates_are_found_from_the_end_until_all_heights_are_known(
    settings: list[tuple[int, bool]],
) -> None:
    store = LineStore()
    known: dict[int, bool] = {}
    for at, exact in settings:
        index = min(at, len(store))
        store.set(index, 1, exact=exact)
        known[index] = exact
    while store.inexact:
        index = store.last_inexact()
        assert not known[index]
        assert all(known[later] for later in range(index + 1, len(store)))
        store.set(index, 2)
        known[index] = True
    assert store.last_inexact() == -1
    assert all(known.values())


def test_a_height_tells_by_how_much_its_entry_grew() -> None:
    store = store_of([3, 4])
    assert store.set(0, 7) == 4
    assert store.set(2, 5) == 5
    assert store.set(1, 1) == -3


def test_at_another_width_every_height_is_an_estimate_of_at_least_a_line() -> None:
    store = store_of([1, 10, 100])
    store.rescale(80, 40)
    assert [store.height(index) for index in range(3)] == [2, 20, 200]
    store.rescale(40, 160)
    assert [store.height(index) for index in range(3)] == [1, 5, 50]
    assert store.inexact == 3
