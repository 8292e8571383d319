"""The console's one screen: it takes what the feed brings and routes what the operator does; it draws nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Static

from dashboard.core.errors import DashboardError
from dashboard.core.events import ControlAction, NoticeLevel
from dashboard.core.messages import Message
from dashboard.core.projection import Changes
from dashboard.core.sanitize import sanitize_line
from dashboard.core.sessions import HostState, HostStatus, OperatorSession
from dashboard.core.views import RunState
from dashboard.ui.commands import Mode, bindings
from dashboard.ui.drafts import Drafts, Target
from dashboard.ui.feed import Feed
from dashboard.ui.glyphs import Glyphs
from dashboard.ui.outbox import Outbox
from dashboard.ui.screens.confirm import Confirm
from dashboard.ui.screens.help import Help
from dashboard.ui.screens.picker import Picker
from dashboard.ui.widgets.bars import KeyBar, ReceiptBar, StatusBar
from dashboard.ui.widgets.composer import Composer, DraftArea
from dashboard.ui.widgets.delegation_tree import DelegationTree
from dashboard.ui.widgets.panel import Panel
from dashboard.ui.widgets.wall import Wall
from dashboard.ui.wording import plural

FRAME_SECONDS = 1 / 30
SLOW_SECONDS = 0.25  # for what need not follow each frame: tree, header, receipts
PROBE_SECONDS = 0.5
AT_ONCE = 300_000  # microseconds in which a refusal still finds the operator where Enter was pressed
NARROW = 100  # cells across, under which the tree is a drawer
SMALLEST = (40, 12)


class Console(Screen[None]):
    """Wall, tree, composer, and the lines around them.

    Args:
        session: the session to watch and write to.
        glyphs: the set in use.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(Mode.WATCH)
    AUTO_FOCUS = ""

    def __init__(self, session: OperatorSession, glyphs: Glyphs) -> None:
        super().__init__()
        self._session = session
        self._glyphs = glyphs
        self._feed = Feed(session)
        self._drafts = Drafts()
        self._outbox = Outbox(self._feed.projection, session.operator, glyphs)
        self._framing = asyncio.Lock()
        self._host = HostStatus(HostState.STARTING)
        self._slow_due = True
        self.status_bar = StatusBar(id="status")
        self.tree_view = DelegationTree(self._feed.projection, glyphs)
        self.wall = Wall(self._feed.projection, glyphs)
        self.receipts = ReceiptBar(id="receipts")
        self.composer = Composer(glyphs)
        self.keys = KeyBar(id="keys")

    @property
    def mode(self) -> Mode:
        """What keys do now."""
        return Mode.WATCH if self.composer.target is None else Mode.WRITE

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
        self._fast = self.set_interval(FRAME_SECONDS, self.take_frame, name="frame")
        self.set_interval(SLOW_SECONDS, self.take_slow_frame, name="slow frame")
        self.set_interval(PROBE_SECONDS, self.probe, name="probe")
        self.probe()

    def on_resize(self, event: events.Resize) -> None:
        """Make room: a drawer for the tree, or a plain word that this is too small."""
        width, height = event.size
        self.set_class(width < NARROW, "narrow")
        too_small = width < SMALLEST[0] or height < SMALLEST[1]
        self.set_class(too_small, "small")
        self.query_one("#too-small", Static).update(
            f"{width}x{height} is too small: the console needs {SMALLEST[0]}x{SMALLEST[1]}.\nThe agents go on."
        )
        self._slow_due = True

    # ── what the session tells ──────────────────────────────────────────────────────────────────────────────────

    async def take_frame(self) -> None:
        """Take what is new in the session, and repaint that."""
        async with self._framing:  # a frame that mounts panels takes a while, and the next one waits for it
            changes = self._feed.poll()
            if changes is None:
                return
            await self.wall.apply(changes, self._session.now())
            if self.wall.chosen is None and changes.started:
                self._select(next(iter(self._feed.projection.runs)))
            self._slow_due = True
            self._tell(changes)

    async def take_slow_frame(self) -> None:
        """Bring what need not follow each frame up to date; while nothing runs, this looks for news as well."""
        await self.take_frame()
        if self._feed.projection.at_work:
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
        self._host = self._session.probe()
        if self._host.state is before:
            return
        self._slow_due = True
        if self._host.state is HostState.LOST:
            self._say("The host process died. Its runs are lost, unread mail came back; q leaves.", "error")
        elif self._host.state is HostState.NOT_RESPONDING:
            self._say("The host does not respond. Mail waits for it; nothing is lost.", "warning")
        elif self._host.state is HostState.CLOSED and before is not HostState.STARTING:
            self._say("The session is over. Everything stays readable; q leaves.")

    def _tell(self, changes: Changes) -> None:
        for notice in changes.notices:
            if notice.level is not NoticeLevel.NOTE:
                run = self._feed.projection.runs.get(notice.run_id or "")
                who = f"{run.name}: " if run else ""
                self._say(who + notice.text, "error" if notice.level is NoticeLevel.ERROR else "warning")

    def _show_status(self, now: int) -> None:
        projection = self._feed.projection
        self.status_bar.show(
            self._session.session_id, projection.title, projection.counts(), self._host, now, self._glyphs
        )
        self.composer.show_hidden(self.wall.hidden, zoomed=self.wall.zoomed)

    # ── selecting and looking ───────────────────────────────────────────────────────────────────────────────────

    def action_select(self, direction: str) -> None:
        """Select the next panel in a direction."""
        run_id = self.wall.neighbour(direction)
        if run_id is not None:
            self._select(run_id)

    @on(Panel.Chosen)
    @on(DelegationTree.Chosen)
    def select_clicked(self, event: Panel.Chosen | DelegationTree.Chosen) -> None:
        """Select what was clicked."""
        event.stop()
        self._select(event.run_id)

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

    def _select(self, run_id: str) -> None:
        self.wall.choose(run_id, self._session.now())
        self.tree_view.sync(run_id)
        if self.mode is Mode.WATCH:
            self._watch()

    # ── writing ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def action_write(self) -> None:
        """Write to the selected run; where it reads nothing more, pick another."""
        run = self._feed.projection.runs.get(self.wall.chosen or "")
        if run is None:
            self._say("There is no run to write to yet.", "warning")
        elif run.live and run.reading:
            self._write_to(Target(run.run_id, run.name))
        else:
            # a picker, not a toast: what is typed next must not act as commands
            why = f"is {run.state} and reads nothing more" if run.reading else "has no inbox"
            await self._pick(f"{sanitize_line(run.name, 60)} {why}; write to", self._write_to)

    async def action_pick(self) -> None:
        """Pick a run by name, and write to it."""
        await self._pick("write to", self._write_to)

    async def action_retarget(self) -> None:
        """Change whom the draft is for, and take it along."""
        before = self.composer.target
        self.composer.area.let_go()

        def take_along(target: Target) -> None:
            if before is not None:
                self._drafts.move(before, target)
            self._write_to(target)

        await self._pick("send the draft to", take_along)

    def action_next_preset(self, step: int) -> None:
        """Change how the draft will be read."""
        self.composer.next_preset(step)

    def action_newline(self) -> None:
        """Start a new line in the draft."""
        self.composer.area.insert("\n")

    def action_send(self) -> None:
        """Send the draft, unless this Enter turns out to be part of a paste."""
        self.composer.area.hold_enter()

    @on(DraftArea.Submitted)
    def send_draft(self, event: DraftArea.Submitted | None = None) -> None:
        """Send the draft, and go back to watching."""
        if event is not None:
            event.stop()
        target, draft = self.composer.target, self.composer.draft
        if target is None:
            return
        if not draft.text.strip():
            self._say("There is nothing to send yet.", "warning")
            return
        message = self._session.compose(draft.text, draft.preset)
        self._outbox.put(message, target)
        self.composer.clear()
        self._deliver(target, message)
        self._watch()

    @on(DraftArea.Pasted)
    def say_pasted(self, event: DraftArea.Pasted) -> None:
        """Say that a paste is a draft, and what was made visible in it."""
        event.stop()
        marked = f" {plural(event.marked, 'control character')} made visible." if event.marked else ""
        if event.lines > 1 or marked:
            self.composer.border_subtitle = f"pasted {plural(event.lines, 'line')}, Enter sends.{marked}"

    def action_leave(self) -> None:
        """Back to watching; while watching, back to the whole wall."""
        if self.mode is Mode.WRITE:
            if self.composer.area.let_go():
                self.send_draft()  # its Enter came first
            self._watch()
        elif self.wall.zoomed:
            self.action_zoom()

    def action_interrupt(self) -> None:
        """Copy the selection, else clear the draft, else say what would stop things."""
        area = self.composer.area
        if self.mode is Mode.WRITE and area.selected_text:
            self.app.copy_to_clipboard(area.selected_text)
            self._say("Copied.")
        elif self.mode is Mode.WRITE and area.text:
            self.composer.clear()
            self._say("Draft cleared; ctrl+z brings it back.")
        else:
            first = "Esc, then " if self.mode is Mode.WRITE else ""
            self._say(f"{first}q detaches and the agents go on; {first}Q stops them all.")

    @work(name="send", group="send", exit_on_error=False)
    async def _deliver(self, target: Target, message: Message) -> None:
        try:
            await self._session.send(target.address, message)
        except DashboardError as error:
            draft = self._drafts.of(target)
            draft.text = "\n".join(text for text in (message.body, draft.text) if text)
            if self.mode is Mode.WATCH and self.is_current and self._session.now() - message.composed_at < AT_ONCE:
                self._write_to(target)
            self._say(f"Not sent: {error}. Your draft is kept.", "error")
        finally:
            self._outbox.settle(message.id)

    async def _pick(self, why: str, then: Callable[[Target], None]) -> None:
        def chosen(target: Target | None) -> None:
            if target is not None:
                then(target)

        await self.app.push_screen(Picker(self._feed.projection, self._glyphs, why), chosen)

    def _write_to(self, target: Target) -> None:
        if target.address in self._feed.projection.runs:
            self._select(target.address)
        self.composer.write(target, self._drafts.of(target))
        self.keys.show(Mode.WRITE)

    def _watch(self) -> None:
        run = self._feed.projection.runs.get(self.wall.chosen or "")
        self.composer.watching(run.name if run else "", self._drafts.unsent())
        self.keys.show(Mode.WATCH)
        self.set_focus(self.wall)

    # ── the session as a whole ──────────────────────────────────────────────────────────────────────────────────

    async def action_help(self) -> None:
        """Show every key."""
        await self.app.push_screen(Help())

    def action_palette(self) -> None:
        """Find a command by name."""
        self.app.action_command_palette()

    def action_detach(self) -> None:
        """Leave; the agents go on."""
        self.app.exit()

    async def action_stop_all(self) -> None:
        """Stop every run and end the session, once that is confirmed."""
        live = [run for run in self._feed.projection.runs.values() if run.live]
        if self._host.state in (HostState.CLOSED, HostState.LOST):
            self._say("Nothing runs any more; q leaves.")
            return
        working = sum(run.state is not RunState.IDLE for run in live)
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

    def _say(self, text: str, severity: str = "information") -> None:
        self.app.notify(
            sanitize_line(text, 400),
            severity="error" if severity == "error" else "warning" if severity == "warning" else "information",
            markup=False,
        )


async def settle(console: Console, upto: int) -> None:
    """Fold everything up to a seq and draw it: for screenshots and tests, which do not wait for timers."""
    await console.take_frame()  # at least one: a frame of the timer's may be under way still
    while console._feed.projection.seq < upto:  # noqa: SLF001 - this is the console's own module
        await console.take_frame()
    await console.take_slow_frame()
