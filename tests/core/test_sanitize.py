"""The one gate: nothing foreign steers a terminal, reorders a line or hides in it; real writing passes."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.core.sanitize import sanitize, sanitize_line, settled

ANYTHING = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b]52;c;aGk=\x07", "<1B>]52;c;aGk=<07>"),
        ("\x1b[2J", "<1B>[2J"),
        ("a\x9bb", "a<9B>b"),
        ("a\u202eb", "a<202E>b"),
        ("a\u2066b\u2069", "a<2066>b<2069>"),
        ("a\u200bb", "a<200B>b"),
        ("a\rb", "a<0D>b"),
        ("a\x7fb", "a<7F>b"),
        ("a\u2028b", "a<2028>b"),
        ("a\u200db", "a<200D>b"),
        ("\u200d", "<200D>"),
        ("a\ud800b", "a\ufffdb"),
        ("x\U000e0041y", "x<E0041>y"),
        ("\ufeffa", "<FEFF>a"),
    ],
)
def test_what_is_hostile_becomes_a_visible_mark(hostile: str, shown: str) -> None:
    assert sanitize(hostile) == shown


@pytest.mark.parametrize(
    "real",
    [
        "plain text",
        "two\nlines\tand a tab",
        "مرحبا بالعالم",
        "שלום עולם",
        "می‌خواهم",  # Persian, with a zero width non-joiner that belongs there
        "क्‍ष",  # Devanagari, with a joiner
        "👩‍👩‍👧",
        "🏳️‍🌈",
        "❤️‍🔥",
        "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
        "가나다 日本語",
        "[/dim] [@click=app.quit]x[/]",  # markup is not this gate's: nothing parses it
        "e\u0301",
    ],
)
def test_real_writing_passes_untouched(real: str) -> None:
    assert sanitize(real) == real


@given(ANYTHING)
def test_no_control_bidi_or_surrogate_survives(text: str) -> None:
    for character in sanitize(text):
        if character in "\n\t":
            continue
        assert unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")
        assert unicodedata.bidirectional(character) not in {
            "RLO",
            "LRO",
            "RLE",
            "LRE",
            "PDF",
            "RLI",
            "LRI",
            "FSI",
            "PDI",
        }


@given(ANYTHING)
def test_sanitising_twice_changes_nothing_more(text: str) -> None:
    assert sanitize(sanitize(text)) == sanitize(text)


@given(ANYTHING, st.integers(1, 80))
def test_a_line_is_one_line_and_not_too_long(text: str, limit: int) -> None:
    line = sanitize_line(text, limit)
    assert len(line) <= limit
    assert "\n" not in line
    assert "\t" not in line


def test_a_line_shows_where_lines_ended_and_that_it_was_cut() -> None:
    assert sanitize_line("one\n  two") == "one ⏎ two"
    assert sanitize_line("abcdef", 4) == "abc…"


JOINED = st.sampled_from(
    [
        "a",
        " ",
        "👩",
        "\u200d",
        "👧",
        "\u200c",
        "\x1b",
        "\u202e",
        "e\u0301",
        "🏴",
        "\U000e0067",
        "\U000e0062",
        "\U000e007f",
    ]
)


@given(st.one_of(ANYTHING, st.lists(JOINED).map("".join)), st.one_of(ANYTHING, st.lists(JOINED).map("".join)))
def test_what_is_settled_looks_the_same_whatever_comes_after_it(text: str, more: str) -> None:
    cut = settled(text)
    assert 0 <= cut <= len(text)
    assert sanitize(text[:cut]) + sanitize(text[cut:] + more) == sanitize(text + more)


def test_all_but_the_last_character_of_plain_text_is_settled() -> None:
    assert settled("plain text") == len("plain text") - 1
    assert settled("") == 0
