"""The file tools of a roster: rooted in one folder, bounded in bytes and time, in plain text easy to parse.

Names are printed as they are; one that could be misread (a control character, a colon, a quote, a bar, a
backslash, outer spaces) is printed as a JSON string. What a tool left out is on a ``note:`` line.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import regex

from dashboard.agent.tools import Tool, tool
from dashboard.core.errors import ToolError

MAX_LINE = 500
MAX_READ_LINES = 400
LINE_SECONDS = 0.5
LONG_LINE = 2_000  # characters, from which on a search lets other threads run: for a short one that costs more
_SNIFF = 8 * 1024
_LONGEST_LINE = 1024 * 1024  # a longer line is read in pieces that count as one line
_ODD_NAME = re.compile(r'[\\":|`]|^\s|\s$|^-|^$')


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one call may take.

    Args:
        scan_bytes: what a call reads in all.
        seconds: how long it goes on reading.
        shown: characters of a result, below the cap of the tool layer.
        entries: names in one listing.
        files: files that one search opens.
    """

    scan_bytes: int = 64 * 1024 * 1024
    seconds: float = 20.0
    shown: int = 28_000
    entries: int = 400
    files: int = 5_000


class _Unreadable(Exception):  # noqa: N818 - a finding about a file, not a failure of the call
    """A file that cannot be shown as text; the message is the short word for why."""


@dataclass(slots=True)
class _Scan:
    """One call's allowance, and what it had to leave out."""

    limits: Limits
    clock: Callable[[], float]
    started: float = field(init=False)
    read: int = 0
    stopped: str = ""
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.started = self.clock()

    def spend(self, size: int) -> bool:
        """Count bytes that were read; False, and for good, once the allowance is used up."""
        self.read += size
        if self.read > self.limits.scan_bytes:
            self.stopped = f"stopped after {self.read:,} bytes"
        elif self.clock() - self.started > self.limits.seconds:
            self.stopped = f"stopped after {self.limits.seconds:g} s"
        return not self.stopped

    def leave_out(self, why: str, name: str) -> None:
        self.left_out.setdefault(why, []).append(name)

    def notes(self) -> list[str]:
        notes = [f"note: {self.stopped}; counts are a lower bound"] if self.stopped else []
        for why, names in sorted(self.left_out.items()):
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            notes.append(f"note: {why}: {', '.join(names[:5])}{more}")
        return notes


def shown_name(name: str) -> str:
    """Write a file name as the tools do: as it is, or as a JSON string where it could be misread."""
    return json.dumps(name) if _ODD_NAME.search(name) or not name.isprintable() else name


class RootedFiles:
    """Reads the files of one folder, and nothing outside it.

    Args:
        root: the folder; links are followed as long as they stay inside.
        limits: the bounds of one call.
        clock: seconds, monotonic.
    """

    def __init__(
        self, root: Path, limits: Limits | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._root = root.resolve()
        self._limits = limits or Limits()
        self._clock = clock

    def list_dir(self, path: str = ".") -> str:
        """List a folder, one entry a line: size in bytes, lines, name. A folder's name ends with a slash.

        In place of the lines, "binary", "unreadable", "outside" (a link that leaves the root), "special" (not a
        regular file) or "-" (not counted) say why there are none.

        Args:
            path: the folder, relative to the root.
        """
        folder = self._inside(path)
        try:
            names = sorted(place.name for place in folder.iterdir())
        except NotADirectoryError:
            raise ToolError(f"{path!r} is a file", fix="Use read_file or grep on it") from None
        except OSError as error:
            raise ToolError(f"cannot list {path!r}", error.strerror or str(error)) from error
        scan = _Scan(self._limits, self._clock)
        rows = [self._entry(folder / name, name, scan) for name in names[: self._limits.entries]]
        header = f"{len(names)} {'entry' if len(names) == 1 else 'entries'} in {shown_name(path)}"
        if len(names) > len(rows):
            header += f"\nnote: only the first {len(rows)} are listed"
        return "\n".join([header, *rows])

    def grep(self, pattern: str, path: str = ".", ignore_case: bool = True, max_matches: int = 200) -> str:
        """Search files for a regular expression, line by line. A folder is searched with all that is below it.

        The first line counts every match, also those past the maximum. Binary and compressed files are skipped.

        Args:
            pattern: a Python regular expression.
            path: a file or a folder, relative to the root.
            ignore_case: whether upper and lower case are the same.
            max_matches: how many matching lines to list, at most 1000.
        """
        expression = _compiled(pattern, ignore_case)
        start = self._inside(path)
        scan = _Scan(self._limits, self._clock)
        keep = min(max(max_matches, 1), 1000)
        found: list[str] = []
        counts: dict[str, int] = {}
        size = 0
        for file in self._files(start, scan):
            if scan.stopped:
                break
            name = self._name(file)
            try:
                for number, text in self._lines(file, scan):
                    if not _matches(expression, text, name, number):
                        continue
                    counts[name] = counts.get(name, 0) + 1
                    row = f"{name}:{number}: {_cut(text)}"
                    if len(found) < keep and size + len(row) <= self._limits.shown:
                        found.append(row)
                        size += len(row) + 1
                    else:
                        keep = 0  # the list is the first matches, without gaps
            except _Unreadable as why:
                scan.leave_out(f"skipped, {why}", name)
        total = sum(counts.values())
        header = f"{_plural(total, 'match', 'matches')} in {_plural(len(counts), 'file')}"
        if total > len(found):
            header += f", the first {len(found)} listed"
        notes = scan.notes()
        if len(counts) > 1:
            notes += [f"count: {count} in {name}" for name, count in list(counts.items())[:40]]
        return "\n".join([header, *notes, *found])

    def read_file(self, path: str, start: int = 1, lines: int = 60) -> str:
        """Read some lines of a text file, each with its number.

        Args:
            path: the file, relative to the root.
            start: the first line, counting from 1.
            lines: how many lines, at most 400.
        """
        file = self._inside(path)
        if file.is_dir():
            raise ToolError(f"{path!r} is a folder", fix="Use list_dir on it")
        first, scan = max(start, 1), _Scan(self._limits, self._clock)
        last = first + min(max(lines, 1), MAX_READ_LINES) - 1
        rows: list[str] = []
        size = total = 0
        full = False
        try:
            for total, text in self._lines(file, scan):
                if first <= total <= last and not full:
                    row = f"{total}: {_cut(text)}"
                    full = size + len(row) > self._limits.shown
                    if not full:
                        rows.append(row)
                        size += len(row) + 1
        except _Unreadable as why:
            raise ToolError(f"cannot read {path!r} as text", str(why), "Choose another file") from None
        if total and not rows:
            raise ToolError(f"line {first} is past the end", f"{path!r} has {total} lines", "Start earlier")
        name, of = self._name(file), f"{'at least ' if scan.stopped else ''}{total}"
        header = f"lines {first}-{first + len(rows) - 1} of {of} in {name}" if rows else f"0 lines in {name}"
        return "\n".join([header, *scan.notes(), *rows])

    def _inside(self, path: str) -> Path:
        try:
            target = (self._root / path).resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise ToolError(
                f"{path!r} is not a usable path", str(error), "Use a name that list_dir gives"
            ) from error
        if not target.is_relative_to(self._root):
            raise ToolError(
                f"{path!r} is outside the folder", "paths are rooted", "Use a path that list_dir gives"
            )
        try:
            target.stat()
        except (FileNotFoundError, NotADirectoryError):
            raise ToolError(f"there is no {path!r} in this folder", fix="Use a name that list_dir gives") from None
        except OSError as error:
            raise ToolError(f"{path!r} cannot be looked at", error.strerror or str(error)) from error
        return target

    def _name(self, file: Path) -> str:
        return shown_name(str(file.relative_to(self._root)))

    def _entry(self, place: Path, name: str, scan: _Scan) -> str:
        try:
            target = place.resolve()
            if not target.is_relative_to(self._root):
                return f"- outside {shown_name(name)}"
            status = target.stat()
        except (OSError, RuntimeError):
            return f"- unreadable {shown_name(name)}"
        if stat.S_ISDIR(status.st_mode):
            return f"- - {shown_name(name)}/"
        lines = "-"
        if not scan.stopped:
            try:
                count = 0
                for count, _ in self._lines(target, scan):  # noqa: B007 - the last number is the count
                    pass
                lines = "-" if scan.stopped else str(count)
            except _Unreadable as why:
                lines = str(why).split()[0]
        return f"{status.st_size} {lines} {shown_name(name)}"

    def _files(self, start: Path, scan: _Scan) -> Iterator[Path]:
        if not start.is_dir():
            yield start
            return
        opened = 0
        blocked: list[str] = []
        for folder, folders, names in os.walk(start, onerror=lambda error: blocked.append(str(error.filename))):
            folders.sort()
            for name in sorted(names):
                place = Path(folder, name)
                try:
                    file = place.resolve()
                except (OSError, RuntimeError):
                    scan.leave_out("skipped, unreadable", shown_name(name))
                    continue
                if not file.is_relative_to(self._root):
                    scan.leave_out("skipped, a link that leaves the folder", self._name(place))
                    continue
                if file != place and file.is_relative_to(start):
                    continue  # a link inside: its target comes under its own name
                if opened == self._limits.files:
                    scan.stopped = f"stopped after {opened:,} files"
                    return
                opened += 1
                yield file
        for folder in blocked:
            scan.leave_out("skipped, unreadable folder", self._name(Path(folder)))

    def _lines(self, file: Path, scan: _Scan) -> Iterator[tuple[int, str]]:
        try:
            # resolved already: a link put in its place since then is not followed, and a pipe is not waited for
            number = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise _Unreadable("unreadable") from error
        with os.fdopen(number, "rb") as stream:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise _Unreadable("special")
            try:
                if b"\0" in (head := stream.read(_SNIFF)) or head.startswith(b"\x1f\x8b"):
                    raise _Unreadable("binary")
                stream.seek(0)
                yield from _numbered(stream.readline, scan)
            except OSError as error:
                raise _Unreadable("unreadable") from error


def _numbered(readline: Callable[[int], bytes], scan: _Scan) -> Iterator[tuple[int, str]]:
    number, inside_line = 0, False
    while raw := readline(_LONGEST_LINE):
        if not scan.spend(len(raw)):
            return
        if not inside_line:
            number += 1
            yield number, raw.rstrip(b"\r\n").decode("utf-8", "replace")
        inside_line = not raw.endswith(b"\n")


def _compiled(pattern: str, ignore_case: bool) -> regex.Pattern[str]:
    if len(pattern) > 1000:
        raise ToolError("the pattern is too long", f"{len(pattern)} characters, 1000 at most", "Shorten it")
    try:
        return regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
    except (regex.error, OverflowError, RecursionError, ValueError) as error:
        why = str(error) or "too deeply nested"
        raise ToolError(
            f"{pattern!r} is not a regular expression", why, "Escape it, or search a plain word"
        ) from None


def _matches(expression: regex.Pattern[str], text: str, name: str, number: int) -> bool:
    """Whether a line matches. The engine can be stopped, and lets other threads run: ``re`` can do neither."""
    try:
        return expression.search(text, timeout=LINE_SECONDS, concurrent=len(text) > LONG_LINE) is not None
    except TimeoutError:
        why = f"it took more than {LINE_SECONDS:g} s on line {number} of {name}"
        raise ToolError(
            f"the pattern {expression.pattern!r} takes too long", why, "Take a repeat inside a repeat out of it"
        ) from None


def _cut(text: str) -> str:
    return text if len(text) <= MAX_LINE else f"{text[:MAX_LINE]} …[+{len(text) - MAX_LINE} characters]"


def _plural(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def file_tools(root: Path) -> tuple[Tool, ...]:
    """Give ``list_dir``, ``grep`` and ``read_file``, rooted in a folder.

    Args:
        root: the folder that no call leaves.
    """
    files = RootedFiles(root)
    return tool(files.list_dir), tool(files.grep), tool(files.read_file)
