"""The rows that specialists hand each other: plain lines that a person reads and the next one parses.

``- file:line | instant | count | how | text`` for errors, ``- file:line | instant | change | text`` for changes,
and ``- file:line | setting | text`` for settings that differ. Instants are ISO 8601 in UTC, or "no time".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from dashboard.core.sanitize import sanitize_line
from dashboard.host.demo.evidence import Signature
from dashboard.host.demo.instants import parse_instant, show_instant, strip_instant
from dashboard.host.demo.results import Hit, uncut, unprinted
from dashboard.host.toolbox import shown_name

_QUOTE = 150
_CITE = re.compile(r'(?P<name>"(?:[^"\\]|\\.)*"|[^:|]+):(?P<line>[0-9]{1,15})')
_COUNT = re.compile(r"(?P<least>at least )?(?P<count>[0-9,]{1,20}) times?")
_BARE = re.compile(r"\d\d-\d\dT\d\d:\d\d:\d\d")
NO_TIME = "no time"


class Kind(StrEnum):
    """What a row is about."""

    ERRORS = "errors"
    CHANGE = "change"
    SETTING = "setting"


@dataclass(frozen=True, slots=True)
class Row:
    """One piece of evidence with its line.

    Args:
        kind: what it is about.
        file: where it is.
        line: the line, counting from 1.
        at: the instant of that line, ``None`` where it has none.
        text: what stands there, without its time.
        count: how many lines like it, 1 for changes and settings.
        exact: whether that is all of them; else it is at least so many.
        sudden: whether three or more begin within a minute at that line.
    """

    kind: Kind
    file: str
    line: int
    at: datetime | None
    text: str
    count: int = 1
    exact: bool = True
    sudden: bool = False

    @property
    def cite(self) -> str:
        """How reports name the line."""
        return f"{shown_name(self.file)}:{self.line}"

    @property
    def clock(self) -> str:
        """Its instant for prose."""
        return f"{self.at:%H:%M:%S}" if self.at else "an unknown time"

    @property
    def times(self) -> str:
        """How often, for prose."""
        return f"{'' if self.exact else 'at least '}{self.count:,} {'time' if self.count == 1 else 'times'}"

    def __str__(self) -> str:
        at = show_instant(self.at) if self.at else NO_TIME
        match self.kind:
            case Kind.ERRORS:
                how = "sudden" if self.sudden else "scattered"
                return f"- {self.cite} | {at} | {self.times} | {how} | {self.text}"
            case Kind.CHANGE:
                return f"- {self.cite} | {at} | change | {self.text}"
            case Kind.SETTING:
                return f"- {self.cite} | setting | {self.text}"


def error_row(one: Signature) -> Row:
    """Give the row of an error signature: where its burst begins, else its first line."""
    return Row(
        Kind.ERRORS, one.file, one.start.line, one.start_at, plain(one.start.text),
        one.count, one.exact, one.onset is not None,
    )  # fmt: skip


def change_row(hit: Hit, year: int | None) -> Row:
    """Give the row of a line that tells of a change."""
    return Row(Kind.CHANGE, hit.file, hit.line, parse_instant(hit.text, year), plain(hit.text))


def read_rows(text: str) -> tuple[Row, ...]:
    """Find the rows in an answer, in order, each line of a file once for each kind.

    Args:
        text: any text; what is not a row is passed over.
    """
    found: dict[tuple[Kind, str, int], Row] = {}
    for line in text.split("\n"):
        row = _read(line)
        if row is None:
            continue
        key = (row.kind, row.file, row.line)
        if key not in found or (row.exact, row.count) > (found[key].exact, found[key].count):
            found[key] = row
    return tuple(found.values())


def plain(text: str, limit: int = _QUOTE) -> str:
    """Quote a line of a file without its time: safe to show, on one line, cut where it is long."""
    return sanitize_line(" ".join(strip_instant(uncut(text)).split()), limit).replace("`", "'")


def quote(text: str, limit: int = _QUOTE) -> str:
    """Quote anything in a sentence."""
    return f'"{sanitize_line(text.strip(), limit)}"'


def counted(number: int, one: str, many: str = "") -> str:
    """Count things in words: 1 line, 2,000 lines."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(names: Iterable[str], most: int = 6) -> str:
    """Enumerate names in a sentence, at most so many."""
    shown = [shown_name(name) for name in names]
    if len(shown) > most:
        return f"{', '.join(shown[:most])} and {len(shown) - most} more"
    return " and ".join((", ".join(shown[:-1]), shown[-1])) if len(shown) > 1 else "".join(shown)


def _read(line: str) -> Row | None:
    if not line.startswith("- "):
        return None
    parts = line[2:].split(" | ", 4)
    cite = _CITE.fullmatch(parts[0])
    if cite is None or len(parts) < 3:
        return None
    file, number = unprinted(cite["name"]), int(cite["line"])
    if parts[1] == "setting":
        return Row(Kind.SETTING, file, number, None, " | ".join(parts[2:]))
    # an instant without a year parses only with one; the year of a log that has none stays unsaid
    at = parse_instant(f"1904-{parts[1]}" if _BARE.match(parts[1]) else parts[1])
    if parts[2] == "change" and len(parts) > 3:
        return Row(Kind.CHANGE, file, number, at, " | ".join(parts[3:]))
    times = _COUNT.fullmatch(parts[2])
    if times is None or len(parts) < 5:
        return None
    count = int(times["count"].replace(",", "") or "0")
    return Row(Kind.ERRORS, file, number, at, parts[4], count, not times["least"], parts[3] == "sudden")
