"""Compares two versions of a settings file, key by key: YAML, INI, properties, and JSON by line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dashboard.core.sanitize import sanitize_line
from dashboard.host.demo.results import Hit
from dashboard.host.demo.rows import Kind, Row

_SUFFIXES = (".yaml", ".yml", ".toml", ".ini", ".conf", ".cfg", ".json", ".properties", ".env")
_KEY = re.compile(r"(?P<indent>\s*)(?:- )?[\"']?(?P<key>[\w.\-/]{1,80})[\"']?\s*[:=]\s*(?P<value>.*?),?\s*$")
_SECTION = re.compile(r"\s*\[+([^\[\]]{1,80})\]+\s*$")
_SECRET = re.compile(r"pass|secret|token|key$|credential", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Difference:
    """One key whose value differs between two versions; ``None`` where a version has no such key."""

    key: str
    before: Hit | None
    after: Hit | None
    values: tuple[str, str]

    @property
    def row(self) -> Row:
        """The row for it, at its line in the later version, else in the earlier one."""
        at = self.after or self.before
        assert at is not None
        other = f" ({self.before.cite})" if self.before and self.after else ""
        return Row(
            Kind.SETTING, at.file, at.line, None, f"{self.key}: {self.values[0]} -> {self.values[1]}{other}"
        )


def is_settings(name: str) -> bool:
    """Whether a file is for reading as settings, by its name."""
    return name.casefold().endswith(_SUFFIXES)


def versions(names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Give the pairs of files whose names differ in their numbers alone: the last two of each such family."""
    families: dict[str, list[str]] = {}
    for name in names:
        if is_settings(name):
            families.setdefault(re.sub(r"\d+", "#", name), []).append(name)
    pairs = []
    for family in families.values():
        ordered = sorted(family, key=lambda name: ([int(part[:15]) for part in re.findall(r"[0-9]+", name)], name))
        if len(ordered) > 1:
            pairs.append((ordered[-2], ordered[-1]))
    return tuple(pairs)


def differences(before: Sequence[Hit], after: Sequence[Hit]) -> tuple[Difference, ...]:
    """Compare two versions, from their lines.

    Args:
        before: the lines of the earlier version.
        after: the lines of the later version.
    """
    old, new = _values(before), _values(after)
    found = []
    for key in dict.fromkeys([*new, *old]):
        was, now = old.get(key), new.get(key)
        if (was and was[1]) != (now and now[1]) or (was is None) != (now is None):
            shown = tuple(_shown(key, value[1]) if value else "absent" for value in (was, now))
            found.append(Difference(key, was and was[0], now and now[0], (shown[0], shown[1])))
    return tuple(found)


def _values(lines: Sequence[Hit]) -> dict[str, tuple[Hit, str]]:
    found: dict[str, tuple[Hit, str]] = {}
    stack: list[tuple[int, str]] = []
    section = ""
    for hit in lines:
        if hit.text.lstrip().startswith(("#", ";", "//")):
            continue
        if heading := _SECTION.match(hit.text):
            section, stack = f"{heading[1].strip()}.", []
            continue
        match = _KEY.match(hit.text)
        if match is None:
            continue
        indent = len(match["indent"].expandtabs(4))
        while stack and stack[-1][0] >= indent:
            stack.pop()
        path = section + ".".join([*(key for _, key in stack), match["key"]])
        if match["value"] in ("", "{", "["):
            stack.append((indent, match["key"]))
        else:
            found.setdefault(path, (hit, match["value"]))
    return found


def _shown(key: str, value: str) -> str:
    return "(hidden)" if _SECRET.search(key) else sanitize_line(value, 60) or "empty"
