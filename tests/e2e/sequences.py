"""Every control sequence that the console itself may send to a terminal. Anything else is foreign.

A terminal emulator swallows OSC 52 and C1 silently, so the raw bytes are tokenised against this list instead.
"""

from __future__ import annotations

import re

_OURS = re.compile(
    r"""
      \x1b\[[0-9;:]*m                     # colours and styles
    | \x1b\[[0-9]+;[0-9]+H | \x1b\[H      # the cursor's place
    | \x1b\[\?(?:25|1000|1002|1003|1004|1006|1007|1015|1016|1049|2004|2026|2031|2048)[hl]
    | \x1b\[\?(?:2026|2048)\$p            # asking for a mode
    | \x1b\[(?:>[0-9]+u|<[0-9]*u|=[0-9]+;[0-9]+u|\?u)   # the keyboard protocol
    | \x1b\[[0-9]?[JK]                    # clearing
    | \x1b\[[0-9]*[ABCD]                  # moving
    | \x1b\[c | \x1b\[>c | \x1b\[6n       # asking what it is, and where
    | \x1b\[\?(?:7)[hl]
    | \x1b[78=>]                          # save, restore, keypad
    | \x1bP\+q[0-9A-Fa-f;]*\x1b\\         # asking for a capability
    | \x1b\]22;[a-z-]*\x07              # the mouse pointer's shape
    | [\r\n\t]
    """,
    re.VERBOSE,
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def foreign(raw: bytes) -> list[str]:
    """Give each control character of the raw bytes that belongs to no sequence of ours, with what follows."""
    text = raw.decode("utf-8", "surrogateescape")
    left = _OURS.sub("", text)
    return [left[found.start() : found.start() + 24] for found in _CONTROL.finditer(left)]
