"""The question which session to attach to: by keyboard alone, and nothing in a title is markup."""

from __future__ import annotations

import pytest

from dashboard.ui.chooser import SessionChoice, SessionChooser

CHOICES = [
    SessionChoice("20260102-000000-bbbb", "nightly triage", "running, 2m old"),
    SessionChoice("20260101-000000-aaaa", "[bold]x[/dim]\x1b[2J", "not responding, 3h old"),
]


@pytest.mark.parametrize(
    ("keys", "chosen"),
    [
        (("enter",), "20260102-000000-bbbb"),
        (("down", "enter"), "20260101-000000-aaaa"),
        (("j", "enter"), "20260101-000000-aaaa"),
        (("k", "enter"), "20260101-000000-aaaa"),
        (("down", "down", "enter"), "20260102-000000-bbbb"),
        (("escape",), None),
        (("q",), None),
        (("ctrl+c",), None),
    ],
)
async def test_enter_attaches_to_the_row_that_is_marked_and_esc_to_none(
    keys: tuple[str, ...], chosen: str | None
) -> None:
    app = SessionChooser(CHOICES)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
    assert app.return_value == chosen


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (200, 60)])
async def test_each_session_is_shown_with_how_it_stands_and_its_title_as_it_is(size: tuple[int, int]) -> None:
    app = SessionChooser(CHOICES)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        shown = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
    assert "2 live sessions" in shown
    assert "nightly triage" in shown
    assert "[bold]x[/dim]<1B>[2J" in shown
    assert "running," in shown
