"""What a tool was called with, for people: on one line, or in full for whoever has to allow it."""

from __future__ import annotations

import msgspec
from rich.cells import cell_len, set_cell_size

from dashboard.core.sanitize import sanitize, sanitize_line

NAMED = 32  # cells, from which on arguments are shown with their names


def argument_words(arguments: str, room: int) -> str:
    """Give a tool call's arguments on one line: short values stay whole, long ones are cut.

    Args:
        arguments: the JSON text that the model wrote; what is no object is shown as it is.
        room: how many cells there are; in a narrow place the names are left out.
    """
    texts = _texts(arguments)
    if texts is None:
        return fit_cells(sanitize_line(arguments), room)
    words = [sanitize_line(f"{name}={text}" if room >= NAMED else text) for name, text in texts.items()]
    left = room - 2 * (len(words) - 1)
    short_first = sorted(range(len(words)), key=lambda at: cell_len(words[at]))
    for rank, at in enumerate(short_first):
        words[at] = fit_cells(words[at], max(4, left - 6 * (len(words) - rank - 1)))
        left -= cell_len(words[at])
    return fit_cells("  ".join(words), room)


def argument_text(arguments: str) -> str:
    """Give a tool call's arguments uncut, each on lines of its own; what is no object is given as it is."""
    texts = _texts(arguments)
    if texts is None:
        return sanitize(arguments).strip("\n")
    return "\n".join(sanitize(f"{name}={text}") for name, text in texts.items())


def fit_cells(text: str, room: int) -> str:
    """Give a line that takes at most so many cells, with ``…`` where it was cut."""
    if cell_len(text) <= room:
        return text
    return f"{set_cell_size(text, max(0, room - 1)).rstrip()}…" if room > 0 else ""


def _texts(arguments: str) -> dict[str, str] | None:
    try:
        fields = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    if not isinstance(fields, dict):
        return None
    return {name: value if isinstance(value, str) else _json(value) for name, value in fields.items()}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
