"""One run's panel: its head, its transcript, and the mail that waits for it."""

from __future__ import annotations

from typing import Self

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Offset, Region
from textual.message import Message
from textual.widgets import Static

from dashboard.core.sanitize import sanitize_line
from dashboard.core.views import MessageView, RunState, RunView
from dashboard.ui.entry_lines import sender_words
from dashboard.ui.glyphs import Glyphs
from dashboard.ui.widgets.transcript import TranscriptView
from dashboard.ui.wording import SHORT_WORDS, amount, done_by, duration, plural, round_words, state_words

STATE_STYLES = {
    RunState.WORKING: "$primary",
    RunState.TOOL: "$primary",
    RunState.WAITING: "$secondary",
    RunState.APPROVAL: "$warning bold",
    RunState.PAUSED: "$warning",
    RunState.BLOCKED: "$warning",
    RunState.IDLE: "$secondary",
    RunState.DONE: "$success",
    RunState.CAPPED: "$warning",
    RunState.CANCELLED: "$warning",
    RunState.ERROR: "$error",
    RunState.LOST: "$error",
}
PENDING_SHOWN = 2


class Panel(Vertical):
    """The panel of one run.

    Args:
        run: the run as the projection knows it; this only reads it.
        glyphs: the set in use.
    """

    class Chosen(Message):
        """The operator clicked on a panel."""

        def __init__(self, run_id: str) -> None:
            super().__init__()
            self.run_id = run_id

    def __init__(self, run: RunView, glyphs: Glyphs) -> None:
        super().__init__()
        self._run_view = run
        self._glyphs = glyphs
        self._chosen = False
        self.transcript = TranscriptView(run, glyphs)
        self._pending = Static(id="pending")
        self._shown_at = 0
        self._unseen = 0
        self._frame: tuple[Content, Content] | None = None
        self._rows: tuple[Region, ...] = ()  # while only these change

    @property
    def run_id(self) -> str:
        """The run that this shows."""
        return self._run_view.run_id

    @property
    def ticking(self) -> bool:
        """Whether its head shows a time that passes."""
        return bool(self._run_view.tools)

    def compose(self) -> ComposeResult:
        """Lay out the transcript, and what waits below it."""
        yield self.transcript
        yield self._pending

    def on_mount(self) -> None:
        """Start with nothing waiting."""
        self._pending.display = False

    def sync(self, first: int, now: int) -> None:
        """Take in that entries from this index on are new or changed; the head only tells how many are unseen."""
        self.transcript.sync(first)
        if self.transcript.unseen != self._unseen:
            self.show_head(now)

    def refresh(
        self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False
    ) -> Self:
        """Draw again; where only the head or the foot changes, that row and not the transcript below."""
        return super().refresh(*(regions or self._rows), repaint=repaint, layout=layout, recompose=recompose)

    def on_resize(self) -> None:
        """Fit the head to the new width."""
        self.show_head(self._shown_at)

    def on_click(self, event: events.Click) -> None:
        """Tell who was clicked; the screen decides what follows."""
        event.stop()
        self.post_message(self.Chosen(self.run_id))

    def set_chosen(self, chosen: bool) -> None:
        """Show that this is the selected panel, by its frame and by a mark."""
        self._chosen = chosen
        self.set_class(chosen, "chosen")

    def show_head(self, now: int) -> None:
        """Bring the head in line with the run.

        Args:
            now: microseconds since the epoch, UTC, for what is still running.
        """
        run, glyphs = self._run_view, self._glyphs
        self._shown_at = now
        style = STATE_STYLES[run.state]
        mark = f"{glyphs.selected} " if self._chosen else ""
        rounds = f" {round_words(run.round, run.step, run.max_iterations)}" if run.live and run.round else ""
        words = f" {state_words(run)}{rounds}"
        room = self.size.width - len(mark) - len(words) - 5
        fits = len(run.name) <= room or not self.size.width  # not laid out yet: the first resize knows better
        name = run.name if fits else run.short  # the name gives way, never the numbers
        if not fits and len(name) > room:
            words = f" {SHORT_WORDS.get(run.state, run.state)}{rounds}"  # next, who it was: the transcript says it
        head = Content.assemble(
            (mark, "$accent bold"),
            (f"{glyphs.states[run.state]} ", style),
            (sanitize_line(name, 60), "bold" if self._chosen else ""),
            (words, style),
        )
        self._show_frame(head, self._foot(now))

    def _show_frame(self, head: Content, foot: Content) -> None:
        before, self._frame = self._frame, (head, foot)
        first = Region(0, 0, self.outer_size.width, 1).translate(-self.content_offset)
        try:
            if before is None or before[0] != head:
                self._rows = (first,)
                self.border_title = head
            if before is None or before[1] != foot:
                self._rows = (first.translate(Offset(0, self.outer_size.height - 1)),)
                self.border_subtitle = foot
        finally:
            self._rows = ()

    def _foot(self, now: int) -> Content:
        run, glyphs = self._run_view, self._glyphs
        facts: list[tuple[str, str]] = []
        unseen = self._unseen = self.transcript.unseen
        if unseen:
            facts.append((f"{glyphs.down} {plural(unseen, 'new line')} below (G)", "$accent"))
        if run.tools:
            facts.append(self._tool_fact(now))
        if run.tokens:
            facts.append((f"{amount(run.tokens)} tok", "$faint"))
        parts: list[tuple[str, str]] = []
        for fact in facts:
            parts.extend([(f" {glyphs.dot} ", "$faint"), fact] if parts else [fact])
        return Content.assemble(*parts)

    def _tool_fact(self, now: int) -> tuple[str, str]:
        """Say which tool runs, or waits to be allowed, and for how long."""
        tools = self._run_view.tools
        asked = next((call for call in self._run_view.approvals.values() if call.tool_call_id in tools), None)
        name, since = tools[asked.tool_call_id] if asked else next(iter(tools.values()))
        more = f" +{len(tools) - 1}" if len(tools) > 1 else ""
        words = f"{sanitize_line(name, 30)}{more}{' waits' if asked else ''} {duration(now - since)}"
        return words, "$warning" if asked else "$tool"

    def show_pending(self, waiting: list[MessageView]) -> None:
        """Show the mail that the run has not read yet, oldest first."""
        self._pending.display = bool(waiting)
        lines = [self._pending_line(message) for message in waiting[:PENDING_SHOWN]]
        if len(waiting) > PENDING_SHOWN:
            lines.append(Content.styled(f"  +{len(waiting) - PENDING_SHOWN} more pending", "$faint"))
        self._pending.update(Content("\n").join(lines))

    def _pending_line(self, message: MessageView) -> Content:
        how = message.preset.words if message.preset else "message"
        if message.taken:
            fate = f"{how} taken, not confirmed yet"
        elif message.held:
            fate = done_by(f"{how} held", message.held_by)
        else:
            fate = f"pending {how}"
        edited = f", {done_by('edited', message.edited_by)}" if message.edited else ""
        return Content.assemble(
            (f"{self._glyphs.pending} {fate}", "$operator bold"),
            (f" {self._glyphs.dot} {sender_words(message.sender)}{edited}: ", "$faint"),
            (sanitize_line(message.body, 200), "$operator"),
        )
