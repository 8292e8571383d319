"""The app around the console screen: theme, style sheets, palette. It wires, and decides nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath
from typing import ClassVar

from textual.app import App, SystemCommand
from textual.screen import Screen

from dashboard.core.sessions import OperatorSession
from dashboard.ui.commands import COMMANDS, Mode
from dashboard.ui.glyphs import Glyphs, choose_glyphs
from dashboard.ui.screens.console import Console
from dashboard.ui.stylesheets import stylesheets
from dashboard.ui.themes import DARK


class ConsoleApp(App[None]):
    """The operator console over one session.

    Args:
        session: the session to watch and write to; closing it is the caller's.
        glyphs: the glyphs to draw with; chosen from the environment by default.
    """

    CSS_PATH: ClassVar[list[str | PurePath]] = stylesheets()
    TITLE = "subagent-dashboard"
    ESCAPE_TO_MINIMIZE = False

    def __init__(self, session: OperatorSession, glyphs: Glyphs | None = None) -> None:
        super().__init__()
        self.register_theme(DARK)
        self.theme = DARK.name
        self.console_screen = Console(session, glyphs or choose_glyphs())

    def get_default_screen(self) -> Screen[None]:
        """Open on the console."""
        return self.console_screen

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Give our own colours to themes that do not define them."""
        return DARK.variables

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:  # noqa: ARG002 - Textual's
        """Fill the palette from the one table of commands."""
        for command in COMMANDS:
            if Mode.WATCH in command.modes and command.id != "palette":
                yield SystemCommand(
                    f"{command.help} ({command.shown})",
                    command.id,
                    lambda action=command.action: self._run(action),
                )

    async def _run(self, action: str) -> None:
        await self.console_screen.run_action(action)
