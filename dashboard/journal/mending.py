"""What cannot be stored as it is: a lone surrogate is no text, wherever in an event it stands."""

from __future__ import annotations

from typing import Any

import msgspec

from dashboard.core.events import Delta, KnownEvent, NoticeLevel, NoticeRaised, Unknown
from dashboard.core.records import encode, run_of
from dashboard.core.text import storable


def mend(event: KnownEvent | Unknown) -> tuple[KnownEvent | Unknown, NoticeRaised | None]:
    """Give an event that can be stored, and what to tell if it had to be changed.

    A delta that is changed is not told: it is display, and the entry that it leads to will be.
    """
    try:
        encode(event)
    except UnicodeEncodeError:
        text = f"a {type(event).__name__} held characters that are not text; each is stored as U+FFFD"
        notice = NoticeRaised(level=NoticeLevel.WARNING, text=text, run_id=run_of(event))
        mended: KnownEvent | Unknown = _mend(event)
        return mended, None if isinstance(event, Delta) else notice
    return event, None


def _mend(value: Any) -> Any:  # noqa: ANN401 - walks a struct of any event's shape
    if type(value) is str:  # an enum's value is its own class, and always text
        return storable(value)
    if isinstance(value, tuple):
        return tuple(map(_mend, value))
    if isinstance(value, msgspec.Struct):
        changed = {name: _mend(getattr(value, name)) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **changed)
    return value
