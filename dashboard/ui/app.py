"""The app around the console screen: theme, style sheets, palette. It wires, and decides nothing."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Iterable
from pathlib import PurePath
from typing import ClassVar

from textual import events
from textual.app import App, SystemCommand
from textual.screen import Screen

from dashboard.core.sessions import OperatorSession, Played
from dashboard.ui.commands import Mode, palette
from dashboard.ui.glyphs import ASCII, Glyphs, choose_glyphs
from dashboard.ui.key_order import OrderedKeys
from dashboard.ui.screens.console import Console
from dashboard.ui.screens.replaying import ReplayConsole
from dashboard.ui.stylesheets import stylesheets
from dashboard.ui.terminal import ConsoleDriver
from dashboard.ui.themes import DARK


class ConsoleApp(OrderedKeys, App[None]):
    """The operator console over one session.

    Args:
        session: the session to watch and write to, or a recorded one to play; closing it is the caller's.
        glyphs: the glyphs to draw with; chosen from the environment by default.
    """

    CSS_PATH: ClassVar[list[str | PurePath]] = stylesheets()
    TITLE = "subagent-dashboard"
    ESCAPE_TO_MINIMIZE = False

    def __init__(self, session: OperatorSession, glyphs: Glyphs | None = None) -> None:
        # a pipe or a test brings a driver of its own; a real terminal gets ours
        super().__init__(driver_class=ConsoleDriver if sys.stdin.isatty() else None)
        self.register_theme(DARK)
        self.theme = DARK.name
        self._session = session
        self._glyphs = glyphs or choose_glyphs()
        self.set_class(self._glyphs is ASCII, "ascii")
        self.console_screen = self._open()

    def writing(self) -> bool:
        """Whether keys are text now; safe to ask from any thread."""
        return self.screen is self.console_screen and self.console_screen.mode is Mode.WRITE

    def before_command(self, key: str) -> None:
        """Send what a held Enter was for, before another key acts."""
        if self.screen is self.console_screen:
            self.console_screen.finish_enter(key)

    async def on_event(self, event: events.Event) -> None:
        """Take an event; what streams waits while a key is answered."""
        if isinstance(event, events.Key):
            self.console_screen.pacing.key()
        await super().on_event(event)

    async def on_mount(self) -> None:
        """Open a replay; and leave the terminal in order also when the console is asked to end."""
        if isinstance(self.console_screen, ReplayConsole):
            await self.push_screen(self.console_screen)
        loop = asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGHUP"):
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # not in a test's thread
                loop.add_signal_handler(getattr(signal, name), self.exit)

    def get_default_screen(self) -> Screen[None]:
        """Open on the console; a replay lies over an empty screen, since the very first one cannot be switched."""
        return Screen() if isinstance(self.console_screen, ReplayConsole) else self.console_screen

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Give our own colours to themes that do not define them."""
        return DARK.variables

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:  # noqa: ARG002 - Textual's
        """Fill the palette from the one table of commands."""
        for command in palette(self.console_screen.MODES[0]):
            yield SystemCommand(
                command.help, f"key: {command.shown}", lambda action=command.action: self._run(action)
            )

    def _open(self) -> Console:
        if isinstance(self._session, Played):
            return ReplayConsole(self._session, self._glyphs, self._reopen)
        return Console(self._session, self._glyphs)

    async def _reopen(self) -> None:
        """Begin with nothing folded and nothing drawn: the events come once more, from the first."""
        self.console_screen = self._open()
        await self.switch_screen(self.console_screen)

    async def _run(self, action: str) -> None:
        await self.console_screen.run_action(action)
