"""The part of the console that sends on what came back: which message, then to whom."""

from __future__ import annotations

from textual import work

from dashboard.core.errors import DashboardError
from dashboard.core.messages import MessageState
from dashboard.core.sanitize import sanitize_line
from dashboard.core.sessions import Destination
from dashboard.core.views import MessageView
from dashboard.ui.receipts import fate_words
from dashboard.ui.screens.picker import Choice, Picker
from dashboard.ui.screens.writing import WritingScreen
from dashboard.ui.wording import plural

UNREAD = (MessageState.UNDELIVERABLE, MessageState.EXPIRED)


class ForwardingScreen(WritingScreen):
    """Sends a message that nobody has read on to a run that lives, of this session or of another."""

    def unsent(self) -> list[MessageView]:
        """Give the messages that came back and were not sent on, the newest first."""
        messages = self._feed.projection.messages.values()
        return [message for message in messages if message.state in UNREAD and not message.forwarded][::-1]

    async def action_forward(self) -> None:
        """Pick a message that came back, and then who gets it."""
        returned = self.unsent()
        if not returned:
            self._say("No message came back.")
        elif len(returned) == 1:
            self._offer_readers(returned[0])
        else:
            picker = Picker(
                lambda: [self._row(message) for message in self.unsent()],
                f"{plural(len(returned), 'message')} came back; send on",
                lambda query: "no message fits; Esc leaves",  # noqa: ARG005 - the same for each
            )

            def chosen(message: MessageView | None) -> None:
                if message is not None:
                    self._offer_readers(message)

            await self.app.push_screen(picker, chosen)

    @work(name="forward", group="forward", exclusive=True, exit_on_error=False)
    async def _offer_readers(self, message: MessageView) -> None:
        try:
            destinations = await self._session.destinations()
        except DashboardError as error:
            self._say(f"It cannot be told who could read it: {error}. Try again.", "error")
            return
        if not destinations:
            self._say("Nobody who reads mail is live, in this session or another. Its text stays here.", "warning")
            return
        rows = [self._reader(destination) for destination in destinations]
        body = sanitize_line(message.body, 60)
        picker = Picker(lambda: rows, f"send on “{body}” to", lambda query: "nobody fits; Esc leaves")  # noqa: ARG005

        def chosen(destination: Destination | None) -> None:
            if destination is not None:
                self._forward(message, destination)

        await self.app.push_screen(picker, chosen)

    @work(name="send on", group="send", exit_on_error=False)
    async def _forward(self, message: MessageView, to: Destination) -> None:
        where = "" if to.session_id == self._session.session_id else f" in {to.session_id}"
        try:
            receipt = await self._session.forward(message.message_id, to)
        except DashboardError as error:
            self._say(f"Not sent on: {error}. Its text stays here; r tries again.", "error")
        else:
            follow = f"; `dashboard attach {to.session_id}` shows it there" if where else ""
            self._say(f"Sent on to {receipt.to}{where}{follow}.")

    def _row(self, message: MessageView) -> Choice[MessageView]:
        run = self._feed.projection.runs.get(message.run_id or "")
        why = fate_words(message, run, f" {self._glyphs.dot} ")[1]
        return Choice(message, sanitize_line(message.body, 50), self._glyphs.returned, why, "$error")

    def _reader(self, destination: Destination) -> Choice[Destination]:
        own = destination.session_id == self._session.session_id
        where = "this session" if own else f"{destination.title} {self._glyphs.dot} {destination.session_id}"
        return Choice(destination, destination.name, self._glyphs.spawn, sanitize_line(where, 80), "$faint")
