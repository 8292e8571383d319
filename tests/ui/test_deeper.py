"""The narrow compositor writes what Textual's own would, colours included, and no cell on the screen is stale."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pyte
import pytest
from rich.color import ColorSystem
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from textual._compositor import ChopsUpdate, Compositor, CompositorUpdate, LayoutUpdate
from textual.app import App
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip

from dashboard.core.events import NoticeLevel, NoticeRaised, ToolCalled
from dashboard.core.outcomes import Outcome
from dashboard.ui import deeper
from dashboard.ui.deeper import NarrowCompositor, usable
from tests.ui.conftest import OpenStage, Stage

Renders = Callable[[Region], list[Strip]]
SIZE = (150, 44)
WIDE = "가나다 wide 漢字 e\u0301 and 한글 "
JOINED = "👩\u200d👩\u200d👧 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f "


MOVE_TO_NOTHING = re.compile(r"\x1b\[\d+;\d+H(?=\x1b\[\d+;\d+H|\n|\Z)")


def written(update: CompositorUpdate, console: Console) -> str:
    """What is sent for an update, less the moves to where nothing is written."""
    return MOVE_TO_NOTHING.sub("", update.render_segments(console))


class Painted:
    """What a terminal shows that got every update of the console, in order."""

    def __init__(self) -> None:
        self._screen = pyte.Screen(*SIZE)
        self._stream = pyte.Stream(self._screen)
        self.updates = self.compared = 0

    def take(self, app: App[None], renderable: CompositorUpdate) -> None:
        self.updates += 1
        self._stream.feed(renderable.render_segments(app.console))

    def cells(self) -> list[list[pyte.screens.Char]]:
        """Characters, colours and attributes."""
        return [[self._screen.buffer[y][x] for x in range(SIZE[0])] for y in range(SIZE[1])]


class Whole(CompositorUpdate):
    """The screen drawn anew, all of it."""

    def __init__(self, app: App[None]) -> None:
        self._strips = app.screen._compositor.render_strips()

    def render_segments(self, console: Console) -> str:
        return "".join(f"\x1b[{y + 1};1H{strip.render(console)}" for y, strip in enumerate(self._strips))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        return iter(())


@pytest.fixture
def painted(monkeypatch: pytest.MonkeyPatch) -> Painted:
    painted = Painted()
    display = App._display
    narrow = NarrowCompositor.render_partial_update

    def shown(app: App[None], screen: Screen[object], renderable: RenderableType | None) -> None:
        app.console._color_system = ColorSystem.TRUECOLOR  # that of a real terminal
        if isinstance(renderable, (ChopsUpdate, LayoutUpdate)):
            painted.take(app, renderable)
        display(app, screen, renderable)

    def compared(compositor: NarrowCompositor) -> ChopsUpdate | None:
        regions = set(compositor._dirty_regions)
        mine = narrow(compositor)
        compositor._dirty_regions |= regions
        stock = Compositor.render_partial_update(compositor)
        if mine is not None and stock is not None:
            assert compositor.root is not None
            console = compositor.root.app.console
            assert written(mine, console) == written(stock, console)
            painted.compared += 1
        else:
            assert mine is None
        return mine

    monkeypatch.setattr(App, "_display", shown)
    monkeypatch.setattr(NarrowCompositor, "render_partial_update", compared)
    return painted


def no_cell_is_stale(s: Stage, painted: Painted) -> None:
    anew = Painted()
    anew.take(s.app, Whole(s.app))
    for y, (was, now) in enumerate(zip(painted.cells(), anew.cells(), strict=True)):
        assert was == now, f"row {y}"


async def stream(s: Stage, text: str) -> None:
    for run_id in ("run_m", "run_1", "run_2"):
        s.say(run_id, text)
    await s.show()


async def test_what_streams_leaves_no_stale_cell_with_wide_characters_mail_and_ends(
    stage: OpenStage, painted: Painted
) -> None:
    async with stage(size=SIZE) as s:
        s.roster()
        for at in range(12):
            await stream(s, f"{WIDE}{at}\n" if at % 3 else f"{at} goes on ")
            no_cell_is_stale(s, painted)
        s.emit(
            ToolCalled(run_id="run_1", round=1, tool_call_id="c", name="grep", arguments='{"path":"가.log"}'),
            NoticeRaised(level=NoticeLevel.WARNING, text="나 is full", run_id="run_2"),
        )
        await s.show()
        no_cell_is_stale(s, painted)
        await s.press("m")
        await s.send("look at 가나다.log instead")
        no_cell_is_stale(s, painted)
        await s.boundary("run_m")
        await stream(s, WIDE * 30)
        s.finish("run_2", Outcome.ERROR)
        await s.show()
        no_cell_is_stale(s, painted)
        assert painted.compared > 20


async def test_it_holds_while_the_operator_scrolls_zooms_resizes_and_changes_the_theme(
    stage: OpenStage, painted: Painted
) -> None:
    async with stage(size=SIZE) as s:
        s.roster()
        await stream(s, "".join(f"{WIDE}{at}\n" for at in range(80)))
        for key in ("pageup", "k", "z", "pageup", "z", "j", "G", "tab", "g", "d", "d"):
            await s.press(key)
            await stream(s, f"after {key} {WIDE}\n")
            no_cell_is_stale(s, painted)
        s.app.theme = "textual-light"
        await stream(s, f"{WIDE}\n")
        no_cell_is_stale(s, painted)
        assert painted.compared > 10


@pytest.mark.parametrize("key", ["question_mark", "at", "Q"])
async def test_it_holds_under_what_lies_over_the_console(stage: OpenStage, painted: Painted, key: str) -> None:
    async with stage(size=SIZE) as s:
        s.roster()
        await stream(s, WIDE)
        await s.press(key)
        assert s.app.screen is not s.console
        for at in range(5):
            await stream(s, f"{WIDE}{at}\n")
            no_cell_is_stale(s, painted)
        await s.press("escape")
        await stream(s, "and on\n")
        no_cell_is_stale(s, painted)


async def test_it_holds_under_toasts_and_with_joined_characters(stage: OpenStage, painted: Painted) -> None:
    async with stage(size=SIZE) as s:
        s.roster()
        s.app.notify("a toast that lies over two panels\nand over what streams in them")
        before = painted.compared
        for at in range(8):
            await stream(s, f"{JOINED}{at} {JOINED * 9}\n")
        assert painted.compared > before


async def test_only_the_rows_that_changed_are_asked_for(stage: OpenStage, monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(size=SIZE) as s:
        s.roster()
        await stream(s, "one\n")
        await stream(s, "two")
        asked: list[tuple[str, int]] = []
        for run_id in ("run_m", "run_1", "run_2"):
            transcript = s.panel(run_id).transcript
            rendered = transcript.render_lines

            def noted(crop: Region, rendered: Renders = rendered, run_id: str = run_id) -> list[Strip]:
                asked.append((run_id, crop.height))
                return rendered(crop)

            monkeypatch.setattr(transcript, "render_lines", noted)
        s.say("run_1", " and a half")
        await s.show()
        assert asked == [("run_1", 1)]


@pytest.mark.parametrize(
    ("version", "asked", "expected"),
    [("8.2.8", "", True), ("8.2.8", "0", True), ("8.2.8", "1", False), ("8.2.9", "", False), ("9.0.0", "", False)],
)
def test_it_is_used_with_the_one_version_and_where_nobody_minds(
    monkeypatch: pytest.MonkeyPatch, version: str, asked: str, expected: bool
) -> None:
    monkeypatch.setattr("textual.__version__", version)
    monkeypatch.setenv(deeper.STOCK_VARIABLE, asked)
    assert usable() is expected
