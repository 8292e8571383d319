"""Every key, from the one table of commands."""

from __future__ import annotations

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


class Help(ModalScreen[None]):
    """The keys of both modes, and what the three ways of writing mean."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,ctrl+g,q,question_mark,enter", "dismiss(None)", "Leave")]

    def compose(self) -> ComposeResult:
        """Lay out the keys."""
        with Vertical(classes="box wide"):
            with VerticalScroll():
                yield Static(help_text())
            yield Static(" ↑ ↓ PgUp PgDn scroll   Esc leave", markup=False, classes="keys")

    def on_mount(self) -> None:
        """Name the box."""
        self.query_one(".box").border_title = Content.styled("keys", "bold")
        self.set_focus(self.query_one(VerticalScroll))  # so that it can be scrolled where it does not fit


def help_text() -> Content:
    """Give the keys of both modes as one text."""
    lines: list[Content] = []
    titles = {
        Mode.WATCH: "While watching, single keys act",
        Mode.WRITE: "While writing, the composer has the keys",
    }
    for mode, title in titles.items():
        lines.append(Content.styled(title, "bold $primary"))
        for command in COMMANDS:
            if mode in command.modes:
                keys = command.keys.replace("question_mark", "?").replace("colon", ":").replace("at,", "@,")
                lines.append(Content.assemble((f"  {keys.replace(',', '  ').ljust(18)}", "bold"), command.help))
        lines.append(Content(""))
    lines.append(Content.styled("How a run reads what you write (Tab changes it)", "bold $primary"))
    lines.extend(Content.assemble((f"  {preset.words:<18}", "bold"), preset.means) for preset in Preset)
    lines.append(Content(""))
    lines.append(Content.styled("What a panel's head says", "bold $primary"))
    lines.extend(Content.assemble((f"  {head:<18}", "bold"), says) for head, says in HEADS)
    return Content("\n").join(lines)
