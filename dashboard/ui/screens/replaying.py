"""The console over a recording: it looks as it did then, keys move it, and nothing is ever sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content

from dashboard.core.errors import DashboardError, ReplayError
from dashboard.core.playback import Playback, Standing
from dashboard.core.records import Record, run_of
from dashboard.core.sessions import ReplayedSession
from dashboard.ui.commands import Mode, bindings, refusals, transport
from dashboard.ui.glyphs import Glyphs
from dashboard.ui.replay_words import event_words, standing_facts
from dashboard.ui.screens.console import Console
from dashboard.ui.widgets.bars import key_words


@dataclass(frozen=True, slots=True)
class Jump:
    """One way to go forward.

    Args:
        go: does it; gives where it came to.
        selects: whether the run that this is about is then selected.
        none: what is said where there is nothing to go to.
    """

    go: Callable[[Playback], Record | None]
    selects: bool
    none: str


JUMPS = {
    "step": Jump(Playback.step, False, "Nothing happens after this"),
    "mail": Jump(Playback.next_message, True, "Nothing happens to an operator's message after this"),
    "error": Jump(Playback.next_error, True, "Nothing fails after this"),
}


class ReplayConsole(Console, inherit_bindings=False):
    """The console's screen, with the keys of a player in the place of those that write and control.

    Args:
        session: the recording.
        glyphs: the set in use.
        reopen: puts a new screen in the place of this one, so that the recording can be told from the start.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Mode.REPLAY), *refusals()]
    MODES: ClassVar[tuple[Mode, ...]] = (Mode.REPLAY,)
    MEANWHILE: ClassVar[str] = "The recording plays on."

    def __init__(self, session: ReplayedSession, glyphs: Glyphs, reopen: Callable[[], Awaitable[None]]) -> None:
        super().__init__(session, glyphs)
        self.add_class("replay")
        self._playback = session.playback
        self._reopen = reopen
        self._standing: Standing | None = None
        self._going: tuple[Record, Jump] | None = None  # where the last jump goes, until that is drawn
        self._reached = ""  # what happened where it came to

    @property
    def mode(self) -> Mode:
        """What keys do: they move the recording."""
        return Mode.REPLAY

    async def take_frame(self) -> None:
        """Repaint what has happened by now; once a jump is drawn, bring into sight what it is about."""
        await super().take_frame()
        if self._going is not None and self._feed.projection.seq >= self._going[0].seq:
            (record, jump), self._going = self._going, None
            self._reached = event_words(record, self._feed.projection)
            self._watch()
            if jump.selects:
                self._bring_up(run_of(record.event))

    async def take_slow_frame(self) -> None:
        """Bring up to date what need not follow each frame, the line above among it."""
        before = self._standing
        self._look()
        self._slow_due = self._slow_due or self._standing != before
        await super().take_slow_frame()

    async def action_play(self) -> None:
        """Play, or pause."""
        await self.take_frame()  # what has passed until now, passed as it was: while paused, frames are rare
        self._playback.toggle()
        self._move_on()

    def action_speed(self, change: str) -> None:
        """Play twice or half as fast."""
        if change == "faster":
            self._playback.faster()
        else:
            self._playback.slower()
        self.call_next(self.take_slow_frame)

    def action_jump(self, where: str) -> None:
        """Go forward to what comes next of a kind, and pause there."""
        jump = JUMPS[where]
        try:
            record = jump.go(self._playback)
        except DashboardError as error:
            self._trouble(error)
            return
        if record is None:
            self._look()
            so_far = self._standing is not None and not self._standing.complete
            self._say(f"{jump.none}{', so far' if so_far else ''}.")
            return
        self._move_on()
        self._going = record, jump

    async def action_restart(self) -> None:
        """Start again at the beginning."""
        self._playback.restart()
        self.app.clear_notifications()
        await self._reopen()

    def action_refuse(self) -> None:
        """Say why a key that writes or controls does nothing here."""
        self._say(f"{str(ReplayError()).capitalize()}.")

    def action_interrupt(self) -> None:
        """Say how to leave."""
        self._say("q leaves the replay.")

    @property
    def _expects_news(self) -> bool:
        """Whether recorded time passes, be any run at work or not, or a jump is not drawn yet."""
        standing = self._standing
        passes = standing is None or (standing.playing and not (standing.at_end and standing.complete))
        return passes or self._feed.projection.seq < self._playback.seq

    def _is_news(self, seq: int, at: int) -> bool:  # noqa: ARG002 - the clock of a recording may have been set back
        """Whether it was seen to happen: a jump tells nothing of what it passes over."""
        return seq > self._playback.jumped_to

    def _played(self) -> Sequence[tuple[str, str]]:
        if self._standing is None:
            return ()
        return standing_facts(self._standing, self._feed.projection, self._glyphs)

    def _watch(self) -> None:
        """Show the keys that move the recording where one would write otherwise."""
        title = [("replay", "bold $replay"), (f" {self._glyphs.dot} ", "$faint")]
        title.append((self._reached, "bold") if self._reached else ("read-only: nothing is sent", "$faint"))
        self.composer.replaying(Content.assemble(*title), key_words(transport(), "bold $replay"))
        self.keys.show(self.mode)
        self.set_focus(self.wall)

    def _move_on(self) -> None:
        self._going, self._reached = None, ""
        self._watch()
        self.call_next(self.take_slow_frame)

    def _look(self) -> None:
        try:
            self._standing = self._playback.standing()
        except DashboardError as error:
            self._trouble(error)

    def _bring_up(self, run_id: str | None) -> None:
        if run_id is None or run_id not in self._feed.projection.runs:
            return
        self.select(run_id)
        panel = self.wall.chosen_panel
        if panel is not None:
            panel.transcript.scroll_to_end()
