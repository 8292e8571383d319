"""The half of the console that writes: whom to, the draft, and its way into the session."""

from __future__ import annotations

from collections.abc import Callable

from textual import on, work
from textual.screen import Screen

from dashboard.core.messages import Message, Preset, preset_of
from dashboard.core.sanitize import sanitize_line
from dashboard.core.sessions import HostState, HostStatus, OperatorSession
from dashboard.core.views import RunView
from dashboard.ui.commands import Mode, keys_of
from dashboard.ui.drafts import Drafts, Target
from dashboard.ui.feed import Feed
from dashboard.ui.glyphs import Glyphs
from dashboard.ui.outbox import Outbox
from dashboard.ui.screens.picker import Picker, choices, why_none
from dashboard.ui.widgets.bars import KeyBar
from dashboard.ui.widgets.composer import Composer, DraftArea
from dashboard.ui.widgets.wall import Wall
from dashboard.ui.wording import plural

AT_ONCE = 300_000  # microseconds in which a refusal still finds the operator where Enter was pressed
_LINE_KEYS = keys_of("send", "newline")


class WritingScreen(Screen[None]):
    """Drafts, the picker, sending.

    Args:
        session: the session to write to.
        glyphs: the set in use.
    """

    def __init__(self, session: OperatorSession, glyphs: Glyphs) -> None:
        super().__init__()
        self._session = session
        self._glyphs = glyphs
        self._feed = Feed(session)
        self._drafts = Drafts()
        self._outbox = Outbox(self._feed.projection, session.operator, glyphs)
        self._host = HostStatus(HostState.STARTING)
        self.wall = Wall(self._feed.projection, glyphs)
        self.composer = Composer(glyphs)
        self.keys = KeyBar(id="keys")

    @property
    def mode(self) -> Mode:
        """What keys do now."""
        return Mode.WATCH if self.composer.target is None else Mode.WRITE

    def select(self, run_id: str) -> None:
        """Select a run; the console says how."""
        raise NotImplementedError

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
            await self._pick(f"{run.name} {why}; write to", self._write_to)

    async def action_pick(self) -> None:
        """Pick a run by name, and write to it."""
        await self._pick("write to", self._write_to)

    async def action_retarget(self) -> None:
        """Change whom the draft is for, and take it along."""
        before = self.composer.target

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

    def finish_enter(self, key: str) -> None:
        """Send now what a held Enter was for: its key came before this one, which is about to act."""
        if self.mode is Mode.WRITE and key not in _LINE_KEYS and self.composer.area.let_go():
            self.send_draft()

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
        draft.preset = Preset.STEER  # each message says anew how it is to be read
        self._deliver(target, message)
        self._watch()

    @on(DraftArea.Pasted)
    def say_pasted(self, event: DraftArea.Pasted) -> None:
        """Say that a paste is a draft, and what was made visible in it."""
        event.stop()
        marked = f" {plural(event.marked, 'control character')} made visible." if event.marked else ""
        if event.lines > 1 or marked:
            self.composer.border_subtitle = f"pasted {plural(event.lines, 'line')}, Enter sends.{marked}"

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
        except Exception as error:  # refused, or a bug of ours: either way the text is not lost
            draft = self._drafts.of(target)
            draft.text = "\n".join(text for text in (message.body, draft.text) if text)
            draft.preset = preset_of(message.lane, message.wake) or Preset.STEER
            if self.mode is Mode.WATCH and self.is_current and self._session.now() - message.composed_at < AT_ONCE:
                self._write_to(target)
            self._say(f"Not sent: {error}. Your draft is kept.", "error")
        finally:
            self._outbox.settle(message.id)

    async def _pick(self, why: str, then: Callable[[Target], None]) -> None:
        if self._host.state.over:
            self._say("The session is over: nothing in it reads mail any more.", "warning")
            return

        def chosen(target: Target | None) -> None:
            if target is not None:
                then(target)

        projection, glyphs = self._feed.projection, self._glyphs
        picker = Picker(
            lambda: choices(projection, glyphs), sanitize_line(why, 100), lambda query: why_none(projection, query)
        )
        await self.app.push_screen(picker, chosen)

    def _write_to(self, target: Target) -> None:
        if target.address in self._feed.projection.runs:
            self.select(target.address)
        self.composer.write(target, self._drafts.of(target))
        self.keys.show(Mode.WRITE)

    def _watch(self) -> None:
        self.composer.watching(self._hint(self._chosen_run), self._drafts.unsent())
        self.keys.show(self.mode)
        self.set_focus(self.wall)

    @property
    def _chosen_run(self) -> RunView | None:
        return self._feed.projection.runs.get(self.wall.chosen or "")

    def _hint(self, run: RunView | None) -> str:
        if self._host.state.over:
            return f"the session is {self._host.state}: nothing in it reads mail any more   q leaves"
        if run is None:
            return "no run yet"
        if run.live and run.reading:
            return f"m writes to {run.name}   @ picks another"
        return f"{run.name} {'is ' + run.state if run.reading else 'has no inbox'}   @ picks another"

    def _say(self, text: str, severity: str = "information") -> None:
        self.app.notify(
            sanitize_line(text, 400),
            severity="error" if severity == "error" else "warning" if severity == "warning" else "information",
            markup=False,
        )
