"""The console's one screen: it takes what the feed brings and routes what the operator does; it draws nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from dashboard.core.changes import Changes
from dashboard.core.errors import DashboardError
from dashboard.core.events import ControlAction
from dashboard.core.sessions import HostState, OperatorSession
from dashboard.ui.commands import Mode, bindings
from dashboard.ui.deeper import MeasuredPaints, quicken
from dashboard.ui.glyphs import Glyphs
from dashboard.ui.pacing import Pacing
from dashboard.ui.screens.confirm import Confirm
from dashboard.ui.screens.forwarding import ForwardingScreen
from dashboard.ui.screens.help import Help
from dashboard.ui.toasts import toasts
from dashboard.ui.widgets.bars import ReceiptBar, StatusBar
from dashboard.ui.widgets.delegation_tree import DelegationTree
from dashboard.ui.widgets.panel import Panel
from dashboard.ui.wording import plural

FRAME_SECONDS = 1 / 30
SLOW_SECONDS = 0.25  # for what need not follow each frame: tree, header, receipts
PROBE_SECONDS = 0.5
NARROW = 100  # cells across, under which the tree is a drawer
SMALLEST = (40, 12)
LOW = 20  # cells down, under which what opens over the console leaves out its margins


class Console(MeasuredPaints, ForwardingScreen):
    """Wall, tree, composer, and the lines around them.

    Args:
        session: the session to watch and write to.
        glyphs: the set in use.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(Mode.WATCH)
    MODES: ClassVar[tuple[Mode, ...]] = (Mode.WATCH, Mode.WRITE)  # the first while nothing is written
    MEANWHILE: ClassVar[str] = "The agents go on."
    AUTO_FOCUS = ""

    def __init__(self, session: OperatorSession, glyphs: Glyphs) -> None:
        super().__init__(session, glyphs)
        quicken(self)
        self.pacing = Pacing()
        self._unrefined = self._slow_waits = False
        self._framing = asyncio.Lock()
        self._slow_due = True
        self._last_trouble = ""
        self._opened_at = session.now()
        self.status_bar = StatusBar(id="status")
        self.tree_view = DelegationTree(self._feed.projection, glyphs)
        self.receipts = ReceiptBar(id="receipts")

    def compose(self) -> ComposeResult:
        """Lay out the console."""
        yield self.status_bar
        with Horizontal(id="body"):
            yield self.tree_view
            yield self.wall
        with Vertical(id="dock"):
            yield self.receipts
            yield self.composer
        yield self.keys
        yield Static(id="too-small", markup=False)

    def on_mount(self) -> None:
        """Start to follow the session."""
        self.receipts.display = False
        self._watch()
        self._fast = self.set_interval(FRAME_SECONDS, self._tick, name="frame")
        self.set_interval(SLOW_SECONDS, self._slow_tick, name="slow frame")
        self.set_interval(PROBE_SECONDS, self.probe, name="probe")
        self.probe()

    def on_resize(self, event: events.Resize) -> None:
        """Make room: a drawer for the tree, or a plain word that this is too small."""
        width, height = event.size
        self.set_class(width < NARROW, "narrow")
        self.app.set_class(height < LOW, "low")
        too_small = width < SMALLEST[0] or height < SMALLEST[1]
        self.set_class(too_small, "small")
        if too_small and self.mode is Mode.WRITE:
            self._watch()  # nobody should type what cannot be seen; the draft is kept
        self.query_one("#too-small", Static).update(
            f"{width}x{height} is too small: the console needs {SMALLEST[0]}x{SMALLEST[1]}.\n{self.MEANWHILE}"
        )
        self._slow_due = True

    # ── what the session tells ──────────────────────────────────────────────────────────────────────────────────

    async def take_frame(self) -> None:
        """Take what is new in the session, and repaint that."""
        async with self._framing:  # a frame that mounts panels takes a while, and the next one waits for it
            self.pacing.begin()
            try:
                changes = self._feed.poll()
            except DashboardError as error:
                self._trouble(error)
                return
            if changes is not None:
                await self.wall.apply(changes, self._session.now())
                if self.wall.chosen is None and changes.started:
                    self.select(next(iter(self._feed.projection.runs)))
                self._slow_due = True
                self._tell(changes)
            self.pacing.drew(self.wall.flush(self.pacing.most, self._session.now()))
            self._unrefined = self.wall.refine(self.pacing.in_slice())

    async def _tick(self) -> None:
        """Take a frame, unless a key is being answered or nobody would see it."""
        if not self.pacing.due(covered=self.app.screen is not self):
            return
        if self._slow_waits:
            await self._slow_tick()
        else:
            await self.take_frame()

    async def _slow_tick(self) -> None:
        self._slow_waits = not self.pacing.due()
        if not self._slow_waits:
            await self.take_slow_frame()

    def painted(self, seconds: float) -> None:
        """Let the next frame know what it took to paint this one."""
        self.pacing.painted(seconds)

    @property
    def _expects_news(self) -> bool:
        """Whether each frame has to look for news."""
        return self._feed.projection.at_work

    async def take_slow_frame(self) -> None:
        """Bring what need not follow each frame up to date; while nothing runs, this looks for news as well."""
        await self.take_frame()
        if self._expects_news or self.wall.dirty or self._unrefined:
            self._fast.resume()
        else:
            self._fast.pause()
        now = self._session.now()
        self.wall.tick(now)
        self.receipts.show(self._outbox.receipts(now))
        if self._slow_due or self._host.state is HostState.NOT_RESPONDING:
            self._slow_due = False
            self.tree_view.sync(self.wall.chosen)
            self._show_status(now)

    def probe(self) -> None:
        """Look at the host; say it once when it is gone."""
        before = self._host.state
        try:
            self._host = self._session.probe()
        except DashboardError as error:
            self._trouble(error)
            return
        if self._host.state is before:
            return
        self._slow_due = True
        if self._host.state is HostState.LOST:
            self._say("The host process died. Its runs are lost. Unread mail came back: r sends it on.", "error")
        elif self._host.state is HostState.NOT_RESPONDING:
            self._say("The host does not respond. Mail waits for it; nothing is lost.", "warning")
        elif self._host.state is HostState.CLOSED and before is not HostState.STARTING:
            why = f" ({self._feed.projection.closed})" if self._feed.projection.closed else ""
            self._say(f"The session is over{why}. Everything stays readable; q leaves.")

    def _trouble(self, error: DashboardError) -> None:
        """Say it once, and go on looking: a busy disk comes back."""
        if str(error) != self._last_trouble:
            self._last_trouble = str(error)
            self._say(f"{error}. Still trying.", "error")

    def _tell(self, changes: Changes) -> None:
        runs, operator = self._feed.projection.runs, self._session.operator
        for text, severity in toasts(changes, runs, operator, self._is_news):
            self._say(text, severity)

    def _is_news(self, seq: int, at: int) -> bool:  # noqa: ARG002 - a replay goes by the first, this by the second
        """Whether what has this place and this instant is new to who looks; what was before they came is not."""
        return at >= self._opened_at

    def _played(self) -> Sequence[tuple[str, str]]:
        """Give what stands in the place of the host where a recording is played."""
        return ()

    def _show_status(self, now: int) -> None:
        projection = self._feed.projection
        self.status_bar.show(
            self._session.session_id, projection.title, projection.counts(), self._host, now, self._glyphs,
            self._played(),
        )  # fmt: skip
        self.composer.show_hidden(self.wall.hidden, zoomed=self.wall.zoomed)
        if self.mode is Mode.WATCH:
            self.composer.show_hint(self._hint(self._chosen_run), self._drafts.unsent())

    # ── selecting and looking ───────────────────────────────────────────────────────────────────────────────────

    def action_select(self, direction: str) -> None:
        """Select the next panel in a direction."""
        run_id = self.wall.neighbour(direction)
        if run_id is not None:
            self.select(run_id)

    @on(Panel.Chosen)
    @on(DelegationTree.Chosen)
    def select_clicked(self, event: Panel.Chosen | DelegationTree.Chosen) -> None:
        """Select what was clicked."""
        event.stop()
        self.select(event.run_id)

    def action_zoom(self) -> None:
        """Show the selected run alone, or all of them again."""
        self.wall.set_zoomed(not self.wall.zoomed)
        self._slow_due = True

    def action_scroll(self, where: str) -> None:
        """Scroll the selected transcript."""
        panel = self.wall.chosen_panel
        if panel is None:
            return
        match where:
            case "up":
                panel.transcript.scroll_pages(-1)
            case "down":
                panel.transcript.scroll_pages(1)
            case "start":
                panel.transcript.scroll_to_start()
            case _:
                panel.transcript.scroll_to_end()
        panel.show_head(self._session.now())

    def action_toggle_tree(self) -> None:
        """Show the tree where it is a drawer, hide it where it stands."""
        self.toggle_class("tree-toggled")
        self._slow_due = True

    def action_leave(self) -> None:
        """Back to watching; while watching, back to the whole wall."""
        if self.mode is Mode.WRITE:
            self._watch()
        elif self.wall.zoomed:
            self.action_zoom()

    def select(self, run_id: str) -> None:
        """Select a run: its panel comes into sight, and ``m`` writes to it."""
        self.wall.choose(run_id, self._session.now())
        self.tree_view.sync(run_id)
        if self.mode is not Mode.WRITE:
            self._watch()

    # ── the session as a whole ──────────────────────────────────────────────────────────────────────────────────

    async def action_help(self) -> None:
        """Show every key."""
        await self.app.push_screen(Help(self.MODES))

    def action_palette(self) -> None:
        """Find a command by name."""
        self.app.action_command_palette()

    def action_detach(self) -> None:
        """Leave; the agents go on."""
        self.app.exit()

    async def action_stop_all(self) -> None:
        """Stop every run and end the session, once that is confirmed."""
        live = [run for run in self._feed.projection.runs.values() if run.live]
        if self._host.state.over:
            self._say("Nothing runs any more; q leaves.")
            return
        working = sum(not run.idle for run in live)
        question = f"Stop {plural(len(live), 'run')} and end the session?"
        detail = f"{working} of them working. Unread mail comes back with its text; everything stays readable."

        async def answered(confirmed: bool | None) -> None:
            if confirmed:
                await self._ask(ControlAction.STOP_SESSION)

        await self.app.push_screen(Confirm(question, detail, "Stop all"), answered)

    async def _ask(self, action: ControlAction) -> None:
        try:
            await self._session.request(action)
        except DashboardError as error:
            self._say(f"The host could not be asked: {error}. Try again.", "error")
        else:
            self._say("Asked the host to stop all runs.")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Let nothing act that cannot be seen: in a terminal that is too small, only leaving does."""
        return not self.has_class("small") or action.removeprefix("screen.") == "detach"


async def settle(console: Console, upto: int) -> None:
    """Fold everything up to a seq and draw it: for screenshots and tests, which do not wait for timers.

    Raises:
        RuntimeError: a frame brought nothing, and what is asked for is not there yet.
    """
    projection = console._feed.projection  # noqa: SLF001 - this is the console's own module
    await console.take_frame()  # at least one: a frame of the timer's may be under way still
    while projection.seq < upto:
        before = projection.seq
        await console.take_frame()
        if projection.seq == before:
            trouble = console._last_trouble or "no news"  # noqa: SLF001
            raise RuntimeError(f"the console stays at seq {before} of {upto}: {trouble}")
    while console.wall.flush(None, console._session.now()) or console.wall.refine(lambda: True):  # noqa: SLF001
        pass
    await console.take_slow_frame()
