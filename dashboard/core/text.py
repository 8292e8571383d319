"""Text that can be stored and sent: a lone surrogate is none."""

from __future__ import annotations

import re

_SURROGATES = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """Give text that UTF-8 can hold: each lone surrogate becomes U+FFFD.

    Args:
        text: what a model, a tool, an environment or a person gave.
    """
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)
