"""What became of the messages that this console sent: as the journal tells it, never as the console guesses."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.core.messages import REASONS, MessageState, Preset
from dashboard.core.sanitize import sanitize_line
from dashboard.core.views import MessageView, RunState, RunView
from dashboard.ui.glyphs import Glyphs
from dashboard.ui.wording import duration

SLOW = 2_000_000  # microseconds without an acknowledgement, after which a send is called unconfirmed
SHOWN = 160
_WHEN = {
    Preset.STEER: "at its next round",
    Preset.FOLLOWUP: "once it has finished",
    Preset.INJECT: "if it makes another request",
    None: "when its next turn opens",
}


@dataclass(frozen=True, slots=True)
class Sending:
    """A message on its way into the journal.

    Args:
        message_id: its id.
        name: whom it is for.
        body: its text.
        sent_at: when Enter was pressed, in microseconds since the epoch, UTC.
    """

    message_id: str
    name: str
    body: str
    sent_at: int


@dataclass(frozen=True, slots=True)
class ReceiptLine:
    """One line about one message: a word for its fate first, its text last."""

    tone: str  # pending, read, returned
    words: str
    body: str


def sending_line(sending: Sending, now: int, glyphs: Glyphs) -> ReceiptLine:
    """Say that a message is not in the journal yet. A slow answer is unconfirmed, never "not delivered"."""
    slow = now - sending.sent_at > SLOW
    word = "unconfirmed: the journal has not answered yet" if slow else "sending"
    return ReceiptLine("pending", f"{glyphs.pending} {word} {glyphs.dot} {sending.name}", _body(sending.body))


def receipt_line(message: MessageView, run: RunView | None, glyphs: Glyphs) -> ReceiptLine:
    """Say what became of a message.

    Args:
        message: the message, as the journal tells it.
        run: the run that it is for, where that is known yet.
        glyphs: the set in use.
    """
    to = sanitize_line(message.to, 60)
    match message.state:
        case MessageState.QUEUED:
            asleep = run is not None and run.state is RunState.IDLE and not message.wake
            when = "once a steer or a follow-up wakes it" if asleep else _WHEN[message.preset]
            words = f"{glyphs.pending} pending {glyphs.dot} {to} reads it {when}"
            return ReceiptLine("pending", words, _body(message.body))
        case MessageState.UNBOUND:
            words = f"{glyphs.pending} pending {glyphs.dot} for the next {to} that starts"
            return ReceiptLine("pending", words, _body(message.body))
        case MessageState.DELIVERED:
            after = duration(message.ended_at - message.queued_at)
            words = f"{glyphs.read} read in round {message.round} {glyphs.dot} {to}, after {after}"
            return ReceiptLine("read", words, _body(message.body))
        case MessageState.EXPIRED:
            return ReceiptLine(
                "returned", f"{glyphs.returned} expired unread {glyphs.dot} {to}", _body(message.body)
            )
        case _:
            reason = REASONS[message.reason] if message.reason else str(message.state)
            if message.run_id is None:
                reason = "none started any more"
            return ReceiptLine(
                "returned", f"{glyphs.returned} returned {glyphs.dot} {to}: {reason}", _body(message.body)
            )


def _body(body: str) -> str:
    return sanitize_line(body, SHOWN)
