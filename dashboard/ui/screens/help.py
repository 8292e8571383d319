"""Every key, from the one table of commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from dashboard.core.messages import Preset
from dashboard.ui.commands import COMMANDS, Mode

HEADS = (
    ("working r4/12", "round 4 of the 12 that the run may take by itself"),
    ("working r6 (2/12)", "round 6; a message renewed the 12, and this is the 2nd since"),
    ("in tool", "a tool runs; below stand its name and its time"),
    ("waiting", "for the sub-agents that it spawned"),
    ("needs approval", "a tool waits until somebody allows or denies it"),
    ("paused", "held before its next round; it reads its mail when it goes on"),
    ("blocked", "it goes on once what stands behind the word gives way"),
    ("idle", "its turn is over, and it waits for you"),
)


TITLES = {
    Mode.WATCH: "While watching, single keys act",
    Mode.WRITE: "While writing, the composer has the keys",
    Mode.REPLAY: "In a replay, single keys move the recording; nothing is sent",
}
SPELLED = {
    "at": "@", "colon": ":", "equals_sign": "=", "full_stop": ".", "minus": "-", "plus": "+", "question_mark": "?",
}  # fmt: skip


class Help(ModalScreen[None]):
    """The keys of what the console is for now, and what its words mean.

    Args:
        modes: whose keys.
    """

    BINDINGS: ClassVar[list[BindingType]] = [("escape,ctrl+g,q,question_mark,enter", "dismiss(None)", "Leave")]

    def __init__(self, modes: Sequence[Mode]) -> None:
        super().__init__()
        self._modes = modes

    def compose(self) -> ComposeResult:
        """Lay out the keys."""
        with Vertical(classes="box wide"):
            with VerticalScroll():
                yield Static(help_text(self._modes))
            yield Static(" ↑ ↓ PgUp PgDn scroll   Esc leave", markup=False, classes="keys")

    def on_mount(self) -> None:
        """Name the box."""
        self.query_one(".box").border_title = Content.styled("keys", "bold")
        self.set_focus(self.query_one(VerticalScroll))  # so that it can be scrolled where it does not fit


def help_text(modes: Sequence[Mode]) -> Content:
    """Give the keys of some modes as one text."""
    lines: list[Content] = []
    for mode in modes:
        lines.append(Content.styled(TITLES[mode], "bold $primary"))
        for command in COMMANDS:
            if mode in command.modes:
                keys = "  ".join(SPELLED.get(key, key) for key in command.keys.split(","))
                lines.append(Content.assemble((f"  {keys.ljust(18)}", "bold"), command.help))
        lines.append(Content(""))
    if Mode.WRITE in modes:
        lines.append(Content.styled("How a run reads what you write (Tab changes it)", "bold $primary"))
        lines.extend(Content.assemble((f"  {preset.words:<18}", "bold"), preset.means) for preset in Preset)
        lines.append(Content(""))
    lines.append(Content.styled("What a panel's head says", "bold $primary"))
    lines.extend(Content.assemble((f"  {head:<18}", "bold"), says) for head, says in HEADS)
    return Content("\n").join(lines)
