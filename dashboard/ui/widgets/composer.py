"""Where the operator writes. The text is a draft until Enter; a paste never sends itself."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static, TextArea

from dashboard.core.messages import Preset
from dashboard.core.sanitize import sanitize, sanitize_line
from dashboard.ui.commands import Mode, bindings
from dashboard.ui.drafts import Draft, Target
from dashboard.ui.glyphs import Glyphs

ENTER_HOLD = 0.030  # seconds: printable input this soon after Enter is a raw paste, not a person
TALLEST = 6


class DraftArea(TextArea):
    """The text itself. Enter is held for a moment, because a raw paste ends its lines with it."""

    BINDINGS = bindings(Mode.WRITE)

    class Submitted(Message):
        """Enter, and nothing right behind it."""

    class Pasted(Message):
        """Text came in one piece.

        Args:
            lines: how many lines it has.
            marked: how many characters were made visible on the way.
        """

        def __init__(self, lines: int, marked: int) -> None:
            super().__init__()
            self.lines = lines
            self.marked = marked

    def __init__(self) -> None:
        super().__init__(soft_wrap=True, show_line_numbers=False, highlight_cursor_line=False, compact=True)
        self._held: Timer | None = None

    def hold_enter(self) -> None:
        """Send in a moment, unless more input shows that this Enter was part of a paste."""
        if self.let_go():
            self._break_line()
        self._held = self.set_timer(ENTER_HOLD, self._submit)

    def let_go(self) -> bool:
        """Hold an Enter no longer; gives whether one was held, for whoever is to act on it."""
        held, self._held = self._held, None
        if held is not None:
            held.stop()
        return held is not None

    async def _on_key(self, event: events.Key) -> None:
        # TextArea's own handler runs after this one, and types the key
        if event.is_printable and self.let_go():
            self._break_line()

    async def _on_paste(self, event: events.Paste) -> None:
        """Insert a paste as a draft. What you see is what is sent, so control characters become marks here."""
        event.prevent_default()
        event.stop()
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        safe = sanitize(text)
        self.insert(safe)
        marked = sum(character not in safe for character in text) if safe != text else 0
        self.post_message(self.Pasted(safe.count("\n") + 1, marked))

    def _submit(self) -> None:
        self._held = None
        self.post_message(self.Submitted())

    def _break_line(self) -> None:
        self.insert("\n")
        self.post_message(self.Pasted(self.document.line_count, 0))


class Composer(Vertical):
    """The composer: a title that says to whom and how, and the draft.

    Args:
        glyphs: the set in use.
    """

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="composer")
        self._glyphs = glyphs
        self.area = DraftArea()
        self._hint = Static(id="hint")
        self._hinted = ("", "")
        self._target: Target | None = None
        self._draft = Draft()

    @property
    def target(self) -> Target | None:
        """Where the draft goes, while writing."""
        return self._target

    @property
    def draft(self) -> Draft:
        """The draft that is being written."""
        return self._draft

    def compose(self) -> ComposeResult:
        """Lay out the hint, which stands there while watching, and the draft."""
        yield self._hint
        yield self.area

    def on_mount(self) -> None:
        """Start out watching."""
        self.area.display = False

    def watching(self, hint: str, unsent: int) -> None:
        """Show that single keys act now, and what they would do.

        Args:
            hint: what writing does now.
            unsent: how many drafts are kept.
        """
        self.set_class(False, "writing")
        self._target = None
        self.area.display, self._hint.display = False, True
        self.border_title = Content.styled("watch", "bold")
        self.show_hint(hint, unsent)

    def show_hint(self, hint: str, unsent: int) -> None:
        """Show what writing would do now, if that has changed; as for ``watching``."""
        drafts = f"   {unsent} unsent {'draft' if unsent == 1 else 'drafts'} kept" if unsent else ""
        words = sanitize_line(hint, 110)
        if self._hinted != (words, drafts):
            self._hinted = words, drafts
            self._hint.update(Content.assemble((words, "$faint"), (drafts, "$warning")))

    def replaying(self, title: Content, keys: Content) -> None:
        """Stand there without taking any word: a recording is played, and these keys move it.

        Args:
            title: what this is, and where it has come to.
            keys: the keys, and what they do.
        """
        self.set_class(True, "replaying")
        self.border_title = title
        self._hint.update(keys)

    def show_hidden(self, hidden: int, *, zoomed: bool) -> None:
        """Say how many panels are out of sight, and which key brings them back; nothing while writing.

        Args:
            hidden: how many.
            zoomed: whether they are hidden by a zoom.
        """
        if self._target is None:
            words = f"{hidden} more not in sight: {'z shows all' if zoomed else 'h j k l'}" if hidden else ""
            self.border_subtitle = Content.styled(words, "$faint") if words else None

    def write(self, target: Target, draft: Draft) -> None:
        """Take the keys, for a target that stays fixed from here on."""
        self._target, self._draft = target, draft
        self.border_subtitle = None
        self.set_class(True, "writing")
        self.area.display, self._hint.display = True, False
        if self.area.text != draft.text:
            self.area.load_text(draft.text)
            self.area.move_cursor(self.area.document.end)
        self.screen.set_focus(self.area)  # at once: focus() would wait until after the next key
        self.show_preset()
        self._fit()

    def show_preset(self) -> None:
        """Say to whom this goes, and how it will be read."""
        if self._target is None:
            return
        preset = self._draft.preset
        self.border_title = Content.assemble(
            ("write", "bold"),
            (" to ", ""),
            (sanitize_line(self._target.name, 60), "bold $operator"),
            (f" {self._glyphs.dot} {preset.words}", "bold"),
            (f": {preset.means}", "$faint"),
        )

    def next_preset(self, step: int) -> None:
        """Go on to the next way of reading it, or with -1 back to the one before."""
        order = list(Preset)
        self._draft.preset = order[(order.index(self._draft.preset) + step) % len(order)]
        self.show_preset()

    def clear(self) -> None:
        """Empty the draft; undo brings it back."""
        self._draft.text = ""
        self.area.clear()

    def on_text_area_changed(self) -> None:
        """Keep the draft, and grow with it."""
        if self._target is not None:
            self._draft.text = self.area.text
            self._fit()

    def _fit(self) -> None:
        height = min(TALLEST, max(1, self.area.wrapped_document.height))
        if self.area.styles.height is None or self.area.styles.height.value != height:
            self.area.styles.height = height
