"""Which session to attach to, where several are live: a small app before the console."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import ClassVar

from textual import on
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from dashboard.core.sanitize import sanitize_line
from dashboard.ui.stylesheets import stylesheets
from dashboard.ui.terminal import ConsoleDriver
from dashboard.ui.themes import DARK


@dataclass(frozen=True, slots=True)
class SessionChoice:
    """One session to choose.

    Args:
        session_id: what is given back.
        title: what it is about.
        facts: how it stands, in a few words.
    """

    session_id: str
    title: str
    facts: str


class SessionChooser(App[str]):
    """Move with the arrows, Enter attaches, Esc leaves; gives the session's id, or ``None``.

    Args:
        choices: the sessions, in order.
    """

    CSS_PATH: ClassVar[list[str | PurePath]] = stylesheets()
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,ctrl+g,ctrl+c,ctrl+q", "exit", "Leave"),
        ("j", "move(1)", "Next"),
        ("k", "move(-1)", "Previous"),
    ]

    def __init__(self, choices: Sequence[SessionChoice]) -> None:
        super().__init__(driver_class=ConsoleDriver if sys.stdin.isatty() else None)
        self.register_theme(DARK)
        self.theme = DARK.name
        self._choices = list(choices)

    def compose(self) -> ComposeResult:
        """Lay out the sessions."""
        with Vertical(classes="box wide", id="chooser"):
            yield OptionList(*map(_option, self._choices), markup=False)
            yield Static(" Enter attach   ↑ ↓ move   Esc leave", markup=False, classes="keys")

    def on_mount(self) -> None:
        """Mark the newest."""
        self.query_one(".box").border_title = Content.styled(f"{len(self._choices)} live sessions", "bold")
        options = self.query_one(OptionList)
        options.focus()
        options.highlighted = 0

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Give our own colours to themes that do not define them."""
        return DARK.variables

    def action_move(self, step: int) -> None:
        """Mark another row."""
        options = self.query_one(OptionList)
        options.highlighted = ((options.highlighted or 0) + step) % len(self._choices)

    def action_exit(self) -> None:
        """Leave without attaching."""
        self.exit(None)

    @on(OptionList.OptionSelected)
    def attach(self, event: OptionList.OptionSelected) -> None:
        """Attach to the row that was picked."""
        event.stop()
        self.exit(self._choices[event.option_index].session_id)


def _option(choice: SessionChoice) -> Option:
    return Option(
        Content.assemble(
            (sanitize_line(choice.title, 60) or "untitled", "bold"),
            ("\n  ", ""),
            (f"{sanitize_line(choice.session_id, 60)}  {sanitize_line(choice.facts, 120)}", "$faint"),
        )
    )
