"""Keys are acted on in the order in which they were typed, also when many arrive at once.

Textual gives a key to the focused widget, and looks at bindings once it has bubbled all the way back up. Keys that
came in one piece (fast typing over a slow ssh, a raw paste, a macro) have meanwhile gone to the widget that had
the focus before: in ``mhello`` every letter after the ``m`` would act as a command. Here each key is finished, the
change of focus included, before the next one is looked at.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from textual import events

if TYPE_CHECKING:
    from textual.app import App
    from textual.widget import Widget

    _Base = App[None]
else:
    _Base = object

PATIENCE_SECONDS = 0.25  # for a widget that does not come to its queue, as one that is being removed


class OrderedKeys(_Base):
    """A mixin for an app: put it before ``App``."""

    async def on_event(self, event: events.Event) -> None:
        """Take an event; finish a key or a paste before the next."""
        if not isinstance(event, (events.Key, events.Paste)) or event.is_forwarded:
            await super().on_event(event)
            return
        focused = self.focused
        if isinstance(event, events.Key) and not _is_text(focused, event) and await self._bound(event.key):
            return
        await super().on_event(event)
        if focused is not None:
            await _finished(focused)

    def before_command(self, key: str) -> None:
        """Finish what an earlier key has begun and left open; a key that may be a command comes next."""

    async def _bound(self, key: str) -> bool:
        self.before_command(key)
        # what App itself does with a key, first and last: there is no public name for it
        return await self._check_bindings(key, priority=True) or await self._check_bindings(key)


def _is_text(focused: Widget | None, event: events.Key) -> bool:
    return focused is not None and focused.check_consume_key(event.key, event.character)


async def _finished(widget: Widget) -> None:
    done = asyncio.Event()
    if widget.call_later(done.set):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), PATIENCE_SECONDS)
