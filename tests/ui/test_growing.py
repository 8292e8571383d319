"""Text that streams in has the lines of the whole, whatever the pieces are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.core.sanitize import sanitize
from dashboard.ui.growing import GrowingText
from dashboard.ui.wrapping import wrap

ENGLAND = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
PIECES = st.sampled_from(
    ["word ", "a", " ", "  ", "\n", "\n\n", "\t", "가나다", "👩", "\u200d", "👧", "e\u0301", "longerthanthewidth",
     "שלום ", "\x1b[2J", "\u202e", "\ud800", *ENGLAND, ENGLAND, "x y\nz ", "\r\n"]
)  # fmt: skip


def whole(text: str, width: int) -> list[str]:
    return wrap(sanitize(text).strip("\n"), width)


@given(st.lists(PIECES, max_size=60), st.integers(2, 40))
def test_it_has_the_lines_of_the_whole_after_every_piece(pieces: list[str], width: int) -> None:
    growing, text = GrowingText(width), ""
    assert growing.lines == whole("", width)
    for piece in pieces:
        before = list(growing.lines)
        text += piece
        growing.feed(piece)
        assert growing.lines == whole(text, width)
        assert growing.lines[: growing.stable] == before[: growing.stable]


@pytest.mark.parametrize("text", ["so " * 20_000, "가" * 20_000, "line\n" * 20_000])
def test_a_piece_costs_the_last_line_and_not_the_text(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = 0

    def counted(part: str) -> str:
        nonlocal looked_at
        looked_at += len(part)
        return sanitize(part)

    growing = GrowingText(40)
    growing.feed(text)
    monkeypatch.setattr("dashboard.ui.growing.sanitize", counted)
    for _ in range(100):
        growing.feed("more ")
    assert looked_at < 100 * 60
    assert growing.lines == whole(text + "more " * 100, 40)
