"""Reads what the file tools returned: listings, matches and excerpts. Anything else reads as empty."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from dashboard.host.toolbox import shown_name

_ENTRY = re.compile(
    r"(?P<size>[0-9]{1,15}|-) (?P<lines>[0-9]{1,15}|-|binary|unreadable|outside|special) (?P<name>.+)", re.DOTALL
)
_HEAD = re.compile(
    r"(?P<total>[0-9]{1,15}) match(?:es)? in (?P<files>[0-9]{1,15}) files?(?:, the first [0-9]{1,15} listed)?"
)
_COUNT = re.compile(r"count: (?P<count>[0-9]{1,15}) in (?P<name>.+)")
_HIT = re.compile(r'(?P<name>"(?:[^"\\]|\\.)*"|[^:]+):(?P<line>[0-9]{1,15}): ?(?P<text>.*)', re.DOTALL)
_EXCERPT = re.compile(
    r"(?:lines (?P<first>[0-9]{1,15})-(?P<last>[0-9]{1,15}) of (?:at least )?(?P<total>[0-9]{1,15})|0 lines)"
    r" in (?P<name>.+)"
)
_ROW = re.compile(r"(?P<line>[0-9]{1,15}): ?(?P<text>.*)", re.DOTALL)
_MARK = re.compile(r" …\[\+\d+ characters\]$")


@dataclass(frozen=True, slots=True)
class Named:
    """One entry of a listing. ``lines`` is ``None`` where they were not counted; ``state`` says why."""

    name: str
    size: int
    lines: int | None
    state: str
    folder: bool

    @property
    def readable(self) -> bool:
        """Whether it is a text file that the tools can open by this name."""
        return not self.folder and self.state in ("", "-") and _sendable(self.name)


@dataclass(frozen=True, slots=True)
class Hit:
    """One line of a file, as a tool returned it."""

    file: str
    line: int
    text: str

    @property
    def cite(self) -> str:
        """How reports name this line."""
        return f"{shown_name(self.file)}:{self.line}"


@dataclass(frozen=True, slots=True)
class Matches:
    """What a search returned: every match is counted, the first ones are listed."""

    total: int
    files: int
    hits: tuple[Hit, ...]
    counts: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether every match is listed."""
        return self.total == len(self.hits) and not any("stopped" in note for note in self.notes)


NOTHING = Matches(0, 0, (), (), ())


def read_listing(content: str) -> tuple[Named, ...]:
    """Read what ``list_dir`` returned."""
    found = []
    for row in content.split("\n")[1:]:
        match = _ENTRY.fullmatch(row)
        if match is None:
            continue
        folder = match["name"].endswith("/")
        lines = match["lines"]
        size = int(match["size"]) if match["size"] != "-" else 0
        count = int(lines) if lines[0].isdigit() else None
        name = unprinted(match["name"].removesuffix("/"))
        found.append(Named(name, size, count, "" if count is not None else lines, folder))
    return tuple(found)


def read_matches(content: str) -> Matches:
    """Read what ``grep`` returned."""
    head, *rows = content.split("\n")
    match = _HEAD.fullmatch(head)
    if match is None:
        return NOTHING
    hits, counts, notes = [], [], []
    for row in rows:
        if row.startswith("note: "):
            notes.append(row.removeprefix("note: "))
        elif count := _COUNT.fullmatch(row):
            counts.append((unprinted(count["name"]), int(count["count"])))
        elif hit := _HIT.fullmatch(row):
            hits.append(Hit(unprinted(hit["name"]), int(hit["line"]), hit["text"]))
    return Matches(int(match["total"]), int(match["files"]), tuple(hits), tuple(counts), tuple(notes))


def read_excerpt(content: str) -> tuple[Hit, ...]:
    """Read what ``read_file`` returned."""
    head, *rows = content.split("\n")
    match = _EXCERPT.fullmatch(head)
    if match is None:
        return ()
    name = unprinted(match["name"])
    found = (_ROW.fullmatch(row) for row in rows if not row.startswith("note: "))
    return tuple(Hit(name, int(row["line"]), row["text"]) for row in found if row)


def uncut(text: str) -> str:
    """Give a line's text without the mark that a tool left where it cut it."""
    return _MARK.sub("", text)


def unprinted(text: str) -> str:
    """Read a name as the tools write it."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            name = json.loads(text)
        except ValueError:
            return text
        return name if isinstance(name, str) else text
    return text


def _sendable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
