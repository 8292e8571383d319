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


def raw(*chunks: str, writing: bool = True) -> list[tuple[str, str]]:
    parser = PasteParser(writing=lambda: writing)
    found: list[tuple[str, str]] = []
    for chunk in chunks:
        for event in parser.feed(chunk):
            if isinstance(event, events.Paste):
                found.append(("paste", event.text))
            elif isinstance(event, events.Key):
                found.append(("key", event.key))
    return found


@pytest.mark.parametrize(
    "chunk",
    [
        "line1\rline2\rline3\r",
        "alert \x07 quit now\rsecond\r",
        "def f():\r\treturn 1\r",
        "a\tb",
        "x" * 64,
        "first msg\rmsecond msg\r",
    ],
)
def test_what_no_hand_types_is_a_paste_while_the_operator_writes(chunk: str) -> None:
    assert raw(chunk) == [("paste", chunk)]


@pytest.mark.parametrize("chunk", ["hi\r", "hi", "\r", "\x1b[A\x1b[A", "text\r\x1b", "text\r\x7f", "\t", "\x03"])
def test_what_a_hand_types_in_one_read_stays_keys(chunk: str) -> None:
    assert all(kind == "key" for kind, _ in raw(chunk))


def test_while_watching_keys_typed_ahead_stay_keys() -> None:
    assert all(kind == "key" for kind, _ in raw("@res2\rcheck worker.log instead\r", writing=False))


def test_the_rest_of_a_raw_paste_belongs_to_it_however_short() -> None:
    assert raw("line1\rline2", "end\r") == [("paste", "line1\rline2"), ("paste", "end\r")]


def test_a_mouse_report_without_numbers_is_not_typed() -> None:
    assert raw("a\x1b[<32;NaN;NaNMb") == [("key", "a"), ("key", "b")]
