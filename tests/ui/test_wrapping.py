"""Wrapping: never wider than asked, and nothing lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from dashboard.core.sanitize import sanitize
from dashboard.ui.wrapping import wrap

PIECES = st.sampled_from(
    ["word ", "a", " ", "\n", "\t", "가나다", "👩‍👩‍👧", "e\u0301", "longerthanthewidth", "שלום "]
)
TEXT = st.lists(PIECES, max_size=40).map("".join).map(sanitize)


@given(TEXT, st.integers(2, 40))
def test_no_line_is_wider_than_asked(text: str, width: int) -> None:
    assert all(cell_len(line) <= width for line in wrap(text, width))


@given(TEXT, st.integers(2, 40))
def test_nothing_but_white_space_is_lost(text: str, width: int) -> None:
    kept = "".join("".join(wrap(text, width)).split())
    assert kept == "".join(text.split())


def test_lines_break_at_spaces_and_inside_a_word_only_where_it_is_too_wide() -> None:
    assert wrap("hello wide world", 11) == ["hello wide", "world"]
    assert wrap("abcdefgh ij", 4) == ["abcd", "efgh", "ij"]
    assert wrap("  indented\n\n- kept", 20) == ["  indented", "", "- kept"]


def test_wide_characters_take_two_cells_and_a_family_is_not_torn_apart() -> None:
    assert wrap("가나다라", 5) == ["가나", "다라"]
    assert wrap("👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧", 4) == ["👩‍👩‍👧👩‍👩‍👧", "👩‍👩‍👧"]


def test_a_width_that_no_wide_character_fits_is_taken_as_the_narrowest_that_does() -> None:
    assert wrap("가나", 1) == ["가", "나"]
