"""What events of a newer version are about: this version cannot say how that stands."""

from __future__ import annotations

from typing import Any

import msgspec

from dashboard.core.events import Unknown

_NAMES = ("message_id", "control_id")
_LIVES = ("RunStarted", "RunFinished")


class Strangers:
    """The messages, requests and runs that an unknown event may have changed: they are not judged."""

    def __init__(self) -> None:
        self._ids: set[str] = set()

    def take(self, event: Unknown) -> None:
        """Take an event that this version does not know."""
        fields: Any = msgspec.json.decode(event.payload)
        self._ids.update(fields[name] for name in _NAMES if isinstance(fields.get(name), str))
        if event.type in _LIVES and event.run_id is not None:
            self._ids.add(event.run_id)

    def __contains__(self, name: str) -> bool:
        return name in self._ids
