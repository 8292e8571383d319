"""Where one run's events go: to every bus and every listener, each once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from dashboard.core.events import KnownEvent

Emit = Callable[[KnownEvent], None]
logger = logging.getLogger(__name__)


class Telling:
    """Tells a run's events.

    Args:
        buses: what records them; one that is given twice is told once.
        listeners: who else wants to know. One that raises is logged and not told again: whoever watches a run must
            not be able to end it.
    """

    def __init__(self, buses: Iterable[Emit], listeners: Iterable[Emit] = ()) -> None:
        self._buses = list(dict.fromkeys(buses))
        self._listeners = [listener for listener in dict.fromkeys(listeners) if listener not in self._buses]

    def emit(self, event: KnownEvent) -> None:
        """Tell everyone."""
        for bus in self._buses:
            bus(event)
        self._tell_listeners(event)

    def recorded(self, event: KnownEvent, by: Emit | None) -> None:
        """Tell everyone but the bus that has recorded the event itself, in one step with what it belongs to.

        Args:
            event: what happened.
            by: that bus; ``None`` if there is none.
        """
        for bus in self._buses:
            if bus != by:
                bus(event)
        self._tell_listeners(event)

    def _tell_listeners(self, event: KnownEvent) -> None:
        for listener in self._listeners[:]:
            try:
                listener(event)
            except Exception:
                logger.exception("a listener failed at a %s; it is told nothing more", type(event).__name__)
                self._listeners.remove(listener)
