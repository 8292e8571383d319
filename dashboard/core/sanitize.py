"""The one gate between foreign text and anything that a person looks at.

Control characters become visible ``<1B>`` marks, in upper-case hexadecimal, so that nothing a model, a tool, a
file or a user wrote can steer the terminal, reorder a line or hide in it. Real right-to-left text, emoji and
their ZWJ sequences pass untouched. What comes out is plain text: it must still never be parsed as markup.
"""

from __future__ import annotations

import re

_C0 = r"\x00-\x08\x0b-\x1f"  # tab and newline pass
_DEL_C1 = r"\x7f-\x9f"
_BIDI = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_SEPARATORS = r"\u2028\u2029"  # lines to some terminals and not to others
_INVISIBLE = r"\u00ad\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
_SURROGATES = r"\ud800-\udfff"
_TAGS = r"\U000e0000-\U000e007f"
_JOINERS = r"\u200c\u200d"

_SUSPECT = re.compile(f"[{_C0}{_DEL_C1}{_BIDI}{_SEPARATORS}{_INVISIBLE}{_SURROGATES}{_TAGS}{_JOINERS}]")
_FLAG = re.compile(r"\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{1,8}\U000e007f")  # England, Wales ...
_BOUND = re.compile(f"[{_JOINERS}].|.[{_JOINERS}{_TAGS}]", re.DOTALL)  # two that are looked at together
_SPACES = re.compile(r"[\t ]*\n[\t\n ]*|\t")


def sanitize(text: str) -> str:
    """Make text safe to show, keeping its lines and tabs.

    Args:
        text: anything at all, lone surrogates included.

    Returns:
        The same text with every control, bidi control and invisible character as a visible mark.
    """
    if text.isascii() and text.isprintable():
        return text
    if _SUSPECT.search(text) is None:
        return text
    flags = {position for found in _FLAG.finditer(text) for position in range(found.start() + 1, found.end())}
    return _SUSPECT.sub(lambda found: _mark(text, found.start(), flags), text)


def settled(text: str) -> int:
    """Count the first characters whose safe form depends on nothing that may follow the text.

    ``sanitize`` of these, and of the rest with whatever comes then, is ``sanitize`` of the whole.

    Args:
        text: what has come so far.
    """
    cut = len(text) - 1
    while cut > 0 and _BOUND.match(text, cut - 1):
        cut -= 1
    return max(0, cut)


def sanitize_line(text: str, limit: int = 400) -> str:
    """Make text safe to show on one line: newlines become ``⏎``, and what is over the limit is cut with ``…``.

    Args:
        text: anything at all.
        limit: how many characters to keep, at least 1.
    """
    cut = len(text) > limit
    line = _SPACES.sub(lambda found: " ⏎ " if "\n" in found[0] else " ", sanitize(text[:limit].strip("\n")))
    if len(line) > limit:
        line, cut = line[:limit], True
    return f"{line[: limit - 1]}…" if cut else line


def _mark(text: str, position: int, flags: set[int]) -> str:
    character = text[position]
    code = ord(character)
    if position in flags:
        return character
    if code in (0x200C, 0x200D) and _joins(text, position):
        return character
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"<{code:02X}>"


def _joins(text: str, position: int) -> bool:
    """Whether a joiner stands between two characters that it can join, as in emoji, Persian or Devanagari."""
    before = text[position - 1] if position else ""
    after = text[position + 1] if position + 1 < len(text) else ""
    return bool(before and after) and all(
        ord(side) > 0xFF and not _SUSPECT.match(side) for side in (before, after)
    )
