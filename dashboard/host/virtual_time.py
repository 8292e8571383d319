"""An event loop whose time passes only when it would have to wait: a demo in a moment, always the same."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualTime:
    """The time of a virtual loop.

    Args:
        start: where it begins, in microseconds since the epoch, UTC.
    """

    def __init__(self, start: int) -> None:
        self._start = start
        self.passed = 0.0  # seconds

    def clock(self) -> int:
        """Give microseconds since the epoch, UTC."""
        return self._start + round(self.passed * 1_000_000)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end. It may await timers and other coroutines: no threads, no sockets."""
        with asyncio.Runner(loop_factory=lambda: _VirtualLoop(self)) as runner:
            return runner.run(work)

    async def run_blocking(self, call: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever the tool returns
        """Run a synchronous tool at once, as if it had taken 45 ms."""
        await asyncio.sleep(0.045)
        return call()


class _SkippingSelector(selectors.DefaultSelector):
    """Instead of waiting for the next timer, makes it be due."""

    def __init__(self, time: VirtualTime) -> None:
        super().__init__()
        self._time = time

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Give what is ready now, and let the time pass that would have been waited."""
        ready = super().select(0 if timeout is not None else None)
        if not ready and timeout:
            self._time.passed += timeout
        return ready


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self, time: VirtualTime) -> None:
        super().__init__(_SkippingSelector(time))
        self._virtual = time

    def time(self) -> float:
        """Give the virtual seconds since the loop began."""
        return self._virtual.passed
