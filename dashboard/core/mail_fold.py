"""Folding what happens to mail: every message, where it stands now, and which of them still wait."""

from __future__ import annotations

from collections.abc import Mapping

from dashboard.core import events as e
from dashboard.core.changes import Changes
from dashboard.core.messages import REASONS, Lane, MessageState
from dashboard.core.records import Record
from dashboard.core.transcript_fold import TranscriptFold
from dashboard.core.views import MessageView, RunView

MailEvent = (
    e.MessageQueued | e.MessageBound | e.MessageTaken | e.MessageDelivered | e.MessageReturned | e.MessageExpired
    | e.MessageWithdrawn | e.MessageEdited | e.MessageHeld | e.MessagePromoted | e.MessageForwarded
)  # fmt: skip


class MailFold:
    """Every message of a session.

    Args:
        runs: the runs that mail is for.
        transcripts: theirs.
    """

    def __init__(self, runs: Mapping[str, RunView], transcripts: Mapping[str, TranscriptFold]) -> None:
        self.messages: dict[str, MessageView] = {}
        self.pending: set[str] = set()
        self._runs = runs
        self._transcripts = transcripts

    def take(self, event: MailEvent, record: Record, changes: Changes) -> None:
        """Take what happened to one message."""
        if isinstance(event, e.MessageQueued):
            self._accept(event, record.at, changes)
            return
        message = self.messages.get(event.message_id or "")
        if isinstance(event, e.MessageDelivered) and event.run_id in self._transcripts:
            self._transcripts[event.run_id].expect(event, message)
        if message is None:
            return  # a plain reader's text, which no event announced
        changes.messages.add(message.message_id)
        match event:
            case e.MessageBound():
                message.run_id, message.to, message.state = event.run_id, event.to, MessageState.QUEUED
                self._wait(message, changes)
            case e.MessageTaken():
                message.taken = True
            case e.MessageHeld():
                message.held, message.held_by = event.held, event.by
            case e.MessageEdited():
                message.body, message.edited, message.edited_by = event.body, True, event.by
            case e.MessageForwarded():
                message.forwarded.append(event)
            case e.MessagePromoted():
                message.lane = Lane.NEXT_STEP
                self._to_the_tail(message)
            case e.MessageDelivered():
                message.round = event.round
                self._close(message, MessageState.DELIVERED, record, changes)
            case e.MessageWithdrawn():
                message.withdrawn_by = event.by
                self._close(message, MessageState.WITHDRAWN, record, changes, f"withdrawn by {event.by}")
            case e.MessageReturned():
                message.reason = event.reason
                self._close(message, MessageState.UNDELIVERABLE, record, changes, REASONS[event.reason])
            case e.MessageExpired():
                self._close(message, MessageState.EXPIRED, record, changes, "its time had passed")

    def _accept(self, event: e.MessageQueued, at: int, changes: Changes) -> None:
        message = MessageView(
            event.message_id, event.to, event.run_id, event.body, event.lane, event.wake, event.sender,
            event.composed_at, at, MessageState.QUEUED if event.run_id else MessageState.UNBOUND,
            batch_id=event.batch_id,
        )  # fmt: skip
        self.messages[event.message_id] = message
        self.pending.add(event.message_id)
        changes.messages.add(event.message_id)
        self._wait(message, changes)

    def _wait(self, message: MessageView, changes: Changes) -> None:
        run = self._runs.get(message.run_id or "")
        if run is not None:
            run.waiting[message.message_id] = None
            changes.runs.add(run.run_id)

    def _to_the_tail(self, message: MessageView) -> None:
        run = self._runs.get(message.run_id or "")
        if run is not None and message.message_id in run.waiting:
            del run.waiting[message.message_id]
            run.waiting[message.message_id] = None

    def _close(
        self, message: MessageView, state: MessageState, record: Record, changes: Changes, returned: str = ""
    ) -> None:
        """End the wait of a message; ``returned`` says why it was not read."""
        message.state, message.ended_at = state, record.at
        self.pending.discard(message.message_id)
        run = self._runs.get(message.run_id or "")
        if run is None:
            return
        run.waiting.pop(message.message_id, None)
        changes.runs.add(run.run_id)
        if returned:
            self._transcripts[run.run_id].give_back(message, returned, record, changes)
