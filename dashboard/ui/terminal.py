"""The terminal's input: a bracketed paste stays a paste, whatever is in it.

Textual's parser takes an ESC inside a paste for the end of it, or for the start of a key: what follows is typed,
and its line ends are Enter. Here everything up to the closing bracket is one paste.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from functools import partial

from textual import events
from textual._xterm_parser import XTermParser
from textual.drivers import linux_driver
from textual.message import Message

BEGIN, END = "\x1b[200~", "\x1b[201~"
MUCH = 64  # characters in one read that nobody types, a held key included
RAW_PAUSE = 0.1  # seconds in which the rest of a raw paste follows
_BROKEN_LINE = re.compile(r"[\r\n]\t*[^\x00-\x1f\x7f]|[^\x00-\x1f\x7f]\t[^\x00-\x1f\x7f]")
# some terminals send coordinates that are no numbers: it would be typed
_BROKEN_MOUSE = re.compile(r"\x1b\[<(?=[^Mm]*NaN)[-0-9;.NaN]*[Mm]")


class PasteParser(XTermParser):
    """Takes pastes out of the stream before the keys are read from it.

    A terminal that does not bracket a paste sends it as if it were typed, line ends as Enter and control
    characters as commands. While the operator writes, what comes in one piece that no hand types is taken for one
    as well.

    Args:
        debug: as for Textual's parser.
        writing: whether the operator writes now; asked from the thread that reads.
    """

    def __init__(self, debug: bool = False, writing: Callable[[], bool] = bool) -> None:
        super().__init__(debug)
        self._writing = writing
        self._pasted: str | None = None  # what of an open paste has arrived
        self._raw_until = 0.0

    def feed(self, data: str) -> Iterable[Message]:
        """Give the events of what was read.

        Args:
            data: characters as they came; empty at the end of input.
        """
        if not data:
            yield from super().feed(data)
            return
        data = _BROKEN_MOUSE.sub("", data)
        while data:
            if self._pasted is None:
                before, begun, data = data.partition(BEGIN)
                if before:
                    yield from self._typed(before)
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

    def _typed(self, data: str) -> Iterable[Message]:
        now = time.monotonic()
        goes_on = now < self._raw_until and not data.startswith("\x1b")
        if (goes_on or no_hand_types(data)) and self._writing():
            self._raw_until = now + RAW_PAUSE
            yield events.Paste(data.replace("\x00", ""))
        else:
            yield from super().feed(data)


def no_hand_types(data: str) -> bool:
    """Whether characters that came in one piece are a paste: text behind a line end or a tab, or much of it."""
    if _BROKEN_LINE.search(data):
        return True
    return "\x1b" not in data and len(data) >= MUCH and sum(map(str.isprintable, data)) >= MUCH


class ConsoleDriver(linux_driver.LinuxDriver):
    """The driver of a real terminal: with that parser, and unharmed by a SIGSTOP, which nobody can see coming."""

    _suspended = False

    def run_input_thread(self) -> None:
        """Read input; the driver makes its parser by this name."""
        writing = getattr(self._app, "writing", bool)
        linux_driver.XTermParser = partial(PasteParser, writing=writing)  # type: ignore[attr-defined, assignment]
        super().run_input_thread()

    def suspend_application_mode(self) -> None:
        """Give the terminal back for a while."""
        self._suspended = True
        super().suspend_application_mode()

    def resume_application_mode(self) -> None:
        """Take the terminal again; who was stopped without notice gives it back first, and so takes it once."""
        if not self._suspended:
            super().suspend_application_mode()  # else two threads would read it, and one of them for ever
        self._suspended = False
        super().resume_application_mode()
