"""A real terminal: a pseudo-terminal with a program in it, its raw bytes, and pyte for the cells."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

import pyte

PATIENCE = 30.0
_NOT_KEPT = ("COLUMNS", "LINES", "NO_COLOR", "TEXTUAL_DRIVER")  # they would overrule the terminal


class Terminal:
    """A program in a terminal of its own. Read only when asked, so that there is one thread and one story.

    Args:
        command: what to run.
        environment: the whole environment of it.
        size: cells across and down.
    """

    def __init__(
        self, command: Sequence[str], environment: dict[str, str], size: tuple[int, int] = (160, 46)
    ) -> None:
        self.raw = bytearray()
        self._screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self._master, slave = pty.openpty()
        self._set_size(slave, size)
        self.process = subprocess.Popen(
            list(command),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**environment, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"},
            start_new_session=True,
            close_fds=True,
        )
        os.close(slave)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)

    @property
    def lines(self) -> list[str]:
        """The screen, line by line."""
        return list(self._screen.display)

    @property
    def text(self) -> str:
        """The screen as one text."""
        return "\n".join(self.lines)

    def send(self, keys: str | bytes) -> None:
        """Type, all in one piece."""
        os.write(self._master, keys if isinstance(keys, bytes) else keys.encode())

    def resize(self, width: int, height: int) -> None:
        """Change the size of the window, as a person dragging its corner does."""
        self._screen.resize(height, width)
        self._set_size(self._master, (width, height))
        os.killpg(self.process.pid, signal.SIGWINCH)

    def read(self, seconds: float = 0.05) -> bool:
        """Take what the program has written, waiting at most so long for the first of it."""
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return False
        with contextlib.suppress(OSError):  # the program has ended, and its side is closed
            chunk = os.read(self._master, 1 << 16)
            self.raw += chunk
            self._stream.feed(chunk)
            return bool(chunk)
        return False

    def until(self, wanted: str | Callable[[str], bool], patience: float = PATIENCE) -> str:
        """Read until the screen shows a text, or fits a condition; gives the screen.

        Raises:
            AssertionError: it did not in time; the message holds the screen.
        """
        shown = wanted if callable(wanted) else lambda text: wanted in text
        deadline = time.monotonic() + patience
        while not shown(self.text):
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {patience:.0f} s for {wanted!r}; the screen is\n{self.text}")
            if not self.read() and self.process.poll() is not None and not self.read():
                if shown(self.text):
                    break
                raise AssertionError(f"ended while waiting for {wanted!r}; the screen is\n{self.text}")
        return self.text

    def rest(self, seconds: float) -> None:
        """Go on reading for so long, whatever comes: for what the console itself measures in time."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.read(left)

    def ended(self, patience: float = PATIENCE) -> int:
        """Read until the program has ended; gives its exit status."""
        deadline = time.monotonic() + patience
        while self.process.poll() is None:
            if time.monotonic() > deadline:
                raise AssertionError(f"still there after {patience:.0f} s; the screen is\n{self.text}")
            self.read()
        while self.read():
            pass
        return self.process.returncode

    @staticmethod
    def _set_size(descriptor: int, size: tuple[int, int]) -> None:
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))


def environment(home: Path, **more: str) -> dict[str, str]:
    """Give an environment whose sessions lie in a folder of the test's own."""
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_KEPT}
    return {**kept, "DASHBOARD_HOME": str(home), "DASHBOARD_OPERATOR": "ana", **more}
