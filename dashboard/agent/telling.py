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
        self._buses = _each_once(buses)
        self._listeners = [listener for listener in _each_once(listeners) if listener not in self._buses]

    def join(self, bus: Emit, started: KnownEvent) -> None:
        """Let another bus record from here on.

        Args:
            bus: the bus.
            started: the run's start, as that bus has to tell it.
        """
        bus(started)
        self._buses.append(bus)
        self._listeners = [listener for listener in self._listeners if listener != bus]

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
                if listener in self._listeners:  # it may have failed again while it was being told
                    self._listeners.remove(listener)


def _each_once(emits: Iterable[Emit]) -> list[Emit]:
    """Drop repetitions by equality, as anything that can be called is welcome, hashable or not."""
    once: list[Emit] = []
    for emit in emits:
        if emit not in once:
            once.append(emit)
    return once
