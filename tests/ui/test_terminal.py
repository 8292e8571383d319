"""A bracketed paste is one paste, whatever is in it, and wherever the terminal cut what it sent."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events

from dashboard.ui.terminal import BEGIN, END, PasteParser

BODY = st.text(st.sampled_from("ab\x1b[2J\r\n\x9b]0;~é가"), max_size=40).filter(lambda text: END not in text)


def read(*chunks: str) -> list[tuple[str, str]]:
    parser = PasteParser()
    seen: list[tuple[str, str]] = []
    for chunk in chunks:
        for event in parser.feed(chunk):
            match event:
                case events.Paste():
                    seen.append(("paste", event.text))
                case events.Key():
                    seen.append(("key", event.key))
                case _:
                    pass
    return seen


@given(BODY, st.lists(st.integers(0, 60), max_size=5))
def test_everything_up_to_the_closing_bracket_is_the_paste(body: str, cuts: list[int]) -> None:
    data = body + END
    bounds = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    chunks = [data[begin:end] for begin, end in pairwise(bounds) if begin < end]
    assert read(f"x{BEGIN}", *chunks, "y") == [("key", "x"), ("paste", body), ("key", "y")]


@pytest.mark.parametrize(
    "body",
    [
        "red \x1b[31mtext\x1b[0m end\nsecond line\nQthird\n",
        "\x1b",
        "\x1b]52;c;aGk=\x07",
        "a\x1b[20",  # looks like the beginning of the closing bracket
        "x" * 100_000,
    ],
)
def test_an_escape_inside_a_paste_ends_nothing_and_types_nothing(body: str) -> None:
    assert read(f"{BEGIN}{body}{END}") == [("paste", body)]


def test_two_pastes_and_keys_between_them_keep_their_order() -> None:
    assert read(f"a{BEGIN}one{END}\r{BEGIN}two{END}b") == [
        ("key", "a"),
        ("paste", "one"),
        ("key", "enter"),
        ("paste", "two"),
        ("key", "b"),
    ]


def test_keys_and_mouse_reports_outside_a_paste_are_read_as_ever() -> None:
    assert read("\x1b[A", "j", "\x1b[B") == [("key", "up"), ("key", "j"), ("key", "down")]
    parser = PasteParser()
    (click,) = parser.feed("\x1b[<0;5;7M")
    assert isinstance(click, events.MouseDown)


def test_a_nul_is_dropped_as_textual_does() -> None:
    assert read(f"{BEGIN}a\x00b{END}") == [("paste", "ab")]
