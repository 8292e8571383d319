"""The terminal's input: a bracketed paste stays a paste, whatever is in it.

Textual's parser takes an ESC inside a paste for the end of it, or for the start of a key: what follows is typed,
and its line ends are Enter. Here everything up to the closing bracket is one paste.
"""

from __future__ import annotations

from collections.abc import Iterable

from textual import events
from textual._xterm_parser import XTermParser
from textual.drivers import linux_driver
from textual.message import Message

BEGIN, END = "\x1b[200~", "\x1b[201~"


class PasteParser(XTermParser):
    """Takes pastes out of the stream before the keys are read from it."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._pasted: str | None = None  # what of an open paste has arrived

    def feed(self, data: str) -> Iterable[Message]:
        """Give the events of what was read.

        Args:
            data: characters as they came; empty at the end of input.
        """
        if not data:
            yield from super().feed(data)
            return
        while data:
            if self._pasted is None:
                before, begun, data = data.partition(BEGIN)
                if before:
                    yield from super().feed(before)
                if begun:
                    self._pasted = ""
                continue
            # the closing bracket may be cut anywhere by the end of what was read: search in all of it
            text, ended, rest = (self._pasted + data).partition(END)
            if not ended:
                self._pasted = text
                return
            self._pasted, data = None, rest
            yield events.Paste(text.replace("\x00", ""))


class ConsoleDriver(linux_driver.LinuxDriver):
    """The driver of a real terminal, with that parser."""

    def run_input_thread(self) -> None:
        """Read input; the driver makes its parser by this name."""
        linux_driver.XTermParser = PasteParser  # type: ignore[attr-defined]
        super().run_input_thread()
