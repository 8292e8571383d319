"""What became of the messages that this console sent: as the journal tells it, never as the console guesses."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.core.messages import REASONS, MessageState, Preset
from dashboard.core.sanitize import sanitize_line
from dashboard.core.views import MessageView, RunState, RunView
from dashboard.ui.glyphs import Glyphs
from dashboard.ui.wording import done_by, duration

SLOW = 2_000_000  # microseconds without an acknowledgement, after which a send is called unconfirmed
SHOWN = 160
_WHEN = {
    Preset.STEER: "at its next round",
    Preset.FOLLOWUP: "once it has finished",
    Preset.INJECT: "if it makes another request",
    None: "when its next turn opens",
}
_FIRST = {  # what has to happen before that
    RunState.APPROVAL: "waits for an approval, and ",
    RunState.PAUSED: "is paused, and ",
    RunState.BLOCKED: "is blocked, and ",
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

    tone: str  # pending, read, withdrawn, returned
    words: str
    body: str


def sending_line(sending: Sending, now: int, glyphs: Glyphs) -> ReceiptLine:
    """Say that a message is not in the journal yet. A slow answer is unconfirmed, never "not delivered"."""
    slow = now - sending.sent_at > SLOW
    word = "unconfirmed: the journal has not answered yet" if slow else "sending"
    words = f"{glyphs.pending} {word} {glyphs.dot} {sending.name}"
    return ReceiptLine("pending", words, sanitize_line(sending.body, SHOWN))


def receipt_line(message: MessageView, run: RunView | None, glyphs: Glyphs) -> ReceiptLine:
    """Say what became of a message, behind the glyph of its fate.

    Args:
        message: the message, as the journal tells it.
        run: the run that it is for, where that is known yet.
        glyphs: the set in use.
    """
    tone, words = fate_words(message, run, f" {glyphs.dot} ")
    if tone == "returned":
        to = [sanitize_line(sent.to, 60) for sent in message.forwarded]
        words += f" {glyphs.dot} sent on to {', '.join(to)}" if to else f" {glyphs.dot} r sends it on"
    glyph = {"pending": glyphs.pending, "read": glyphs.read}.get(tone, glyphs.returned)
    return ReceiptLine(tone, f"{glyph} {words}", sanitize_line(message.body, SHOWN))


def fate_words(message: MessageView, run: RunView | None, between: str = ", ") -> tuple[str, str]:
    """Say what became of a message: its tone (pending, read, withdrawn, returned), and the words.

    Args:
        message: the message, as the journal tells it.
        run: the run that it is for, where that is known yet.
        between: what stands between two facts.
    """
    to = sanitize_line(message.to, 60)
    match message.state:
        case MessageState.QUEUED | MessageState.UNBOUND:
            tone, words = "pending", _waiting_words(message, to, run, between)
        case MessageState.DELIVERED:
            after = duration(message.ended_at - message.queued_at)
            tone, words = "read", f"read in round {message.round}{between}{to}, after {after}"
        case MessageState.EXPIRED:
            tone, words = "returned", f"expired unread{between}{to}"
        case MessageState.WITHDRAWN:
            withdrawn = done_by("withdrawn", message.withdrawn_by)
            tone, words = "withdrawn", f"{withdrawn}{between}{to} did not read it"
        case MessageState.UNDELIVERABLE:
            reason = REASONS[message.reason] if message.reason else "nobody said why"
            if message.run_id is None:
                reason = "none started any more"
            tone, words = "returned", f"returned{between}{to}: {reason}"
    if message.edited:
        words += f"{between}{done_by('edited', message.edited_by)}"
    return tone, words


def _waiting_words(message: MessageView, to: str, run: RunView | None, between: str) -> str:
    """Say what a message waits for."""
    unbound = message.state is MessageState.UNBOUND
    if message.taken:
        return f"taken{between}{to} has it, and has not confirmed yet that it read it"
    if message.held:
        reader = f"the next {to} that starts" if unbound else to
        return f"{done_by('held', message.held_by)}{between}{reader} does not read it until it is released"
    if unbound:
        return f"pending{between}for the next {to} that starts"
    asleep = run is not None and run.idle and not message.wake
    when = "once a steer or a follow-up wakes it" if asleep else _WHEN[message.preset]
    first = _FIRST.get(run.state, "") if run is not None else ""
    return f"pending{between}{to} {first}reads it {when}"
