"""What became of every message: told again from its events, and held against the tables row by row."""

from __future__ import annotations

import msgspec

from dashboard.core import events as e
from dashboard.core.errors import JournalError
from dashboard.core.history import User
from dashboard.core.messages import MessageState
from dashboard.core.records import Record
from dashboard.journal.checking.lanes import LaneCheck
from dashboard.journal.checking.report import Tell, at_seq
from dashboard.journal.checking.strangers import Strangers
from dashboard.journal.ledger import MessageMove, StoredMessage, accepted, moved
from dashboard.journal.store import Store

_ROW = "SELECT wake, expires_at, sender_kind, body_bytes FROM message WHERE id = ?"
_DELIVERY = "SELECT run_id, round, history_index, seq FROM delivery WHERE message_id = ?"


class MailCheck:
    """Follows every message. Of one that has come to its end only the id and that end are kept.

    Args:
        tell: called with what is wrong, and where.
        store: whose tables are held against the events; all of one moment.
        strangers: what cannot be judged.
    """

    def __init__(self, tell: Tell, store: Store, strangers: Strangers) -> None:
        self._tell = tell
        self._store = store
        self._strangers = strangers
        self._open: dict[str, StoredMessage] = {}
        self._ended: dict[str, MessageState] = {}
        self._lanes = LaneCheck()
        self._runs: dict[str, tuple[str, bool]] = {}  # the label, and whether it reads here
        self._over: set[str] = set()  # the runs that have ended
        self._expected: dict[tuple[str, int], tuple[str, str]] = {}  # by run and index: a message and its text
        self.delivered = 0

    @property
    def count(self) -> int:
        """How many messages were accepted."""
        return len(self._open) + len(self._ended)

    def take(self, record: Record) -> None:
        """Take the next event."""
        event = record.event
        match event:
            case e.RunStarted():
                self._runs[event.run_id] = event.label, event.reading
            case e.RunFinished():
                self._over.add(event.run_id)
            case e.MessageQueued():
                self._accept(event, record.seq)
            case e.HistoryAppended():
                self._check_history(event, record.seq)
            case _ if isinstance(event, MessageMove):
                self._move(event, record.seq)
            case _:
                pass

    def compare(self, *, over: bool) -> None:
        """Hold what still waits against the tables, and look for what they alone tell.

        Args:
            over: whether nothing in the session reads mail any more.
        """
        for (run_id, index), (message_id, _) in self._expected.items():
            self._tell(f"it was delivered and is not at {index} of the history of {run_id}", message_id)
        for message in self._open.values():
            self._compare_row(message)
            if over:
                self._say(f"it waits ({message.state}) in a session that is over", message.id)
            elif message.run_id in self._over:
                self._say(f"it waits for {message.run_id}, which has ended", message.id)
        for (message_id,) in self._store.connection.execute("SELECT id FROM message"):
            if message_id not in self._open and message_id not in self._ended:
                self._say("a row of the table that no event has accepted", message_id)
        for (message_id,) in self._store.connection.execute("SELECT message_id FROM delivery"):
            if self._ended.get(message_id) is not MessageState.DELIVERED:
                self._say("a delivery in the table that no event tells", message_id)

    def _accept(self, event: e.MessageQueued, seq: int) -> None:
        if event.message_id in self._open or event.message_id in self._ended:
            self._tell(f"{event.message_id} is accepted a second time", at_seq(seq))
            return
        label, reading = self._runs.get(event.run_id or "", (event.to, event.run_id is None))
        if not reading:
            self._tell(f"{event.message_id} is accepted for {event.run_id}, which reads nothing", at_seq(seq))
        elif event.run_id in self._over:
            self._tell(f"{event.message_id} is accepted for {event.run_id}, which has ended", at_seq(seq))
        message = accepted(event, label, seq)
        self._open[message.id] = message
        self._lanes.put(message)

    def _move(self, event: MessageMove, seq: int) -> None:
        message = self._open.get(event.message_id or "")
        if message is None:
            self._move_what_does_not_wait(event, seq)
            return
        if isinstance(event, e.MessageDelivered | e.MessageTaken):
            self._check_reading(message, event, seq)
        if isinstance(event, e.MessageDelivered):
            self._deliver(message, event, seq)
        self._lanes.drop(message)
        message = moved(message, event, seq)
        if message.state.open:
            self._open[message.id] = message
            self._lanes.put(message)
        else:
            del self._open[message.id]
            self._ended[message.id] = message.state
            self._compare_row(message)

    def _move_what_does_not_wait(self, event: MessageMove, seq: int) -> None:
        message_id, kind = event.message_id, type(event).__name__
        if message_id is None:
            return  # a plain reader's text
        if message_id in self._ended:
            self._say(f"{kind}, though it was {self._ended[message_id]} before", message_id, seq)
        elif isinstance(event, e.MessageDelivered) and not self._runs.get(event.run_id, ("", True))[1]:
            pass  # another bus's mail, which its run is told of here too
        else:
            self._say(f"{kind}, though it was never accepted", message_id, seq)

    def _check_reading(self, message: StoredMessage, event: e.MessageDelivered | e.MessageTaken, seq: int) -> None:
        if event.run_id != message.run_id:
            self._say(f"it was for {message.run_id} and was read by {event.run_id}", message.id, seq)
        if message.held:
            self._say("it was read while it was held", message.id, seq)
        ahead = self._lanes.passed_over(message)
        if ahead is not None:
            self._say(f"it was read before {ahead.id}, which stood ahead of it", message.id, seq)

    def _deliver(self, message: StoredMessage, event: e.MessageDelivered, seq: int) -> None:
        self.delivered += 1
        self._expected[event.run_id, event.history_index] = message.id, message.body
        rows = self._store.rows(_DELIVERY, message.id)
        if rows != [(event.run_id, event.round, event.history_index, seq)]:
            self._say("the table and the events differ in where it was delivered", message.id, seq)

    def _check_history(self, event: e.HistoryAppended, seq: int) -> None:
        expected = self._expected.pop((event.run_id, event.index), None)
        if expected is not None and event.entry != User(expected[1]):
            self._say(f"another text stands at {event.index} of {event.run_id}", expected[0], seq)

    def _compare_row(self, message: StoredMessage) -> None:
        try:
            row = self._store.message(message.id)
        except JournalError as error:
            self._say(f"its row cannot be read: {error}", message.id)
            return
        if row is None:
            self._say("it was accepted and is not in the table", message.id)
            return
        if message.address in (message.to, message.label):  # an acceptance of format 1 does not tell another
            row = msgspec.structs.replace(row, address=message.address)
        if row != message:
            self._say(f"the table and the events differ in its {_differences(message, row)}", message.id)
        what_sorts_it = (message.wake, message.expires_at, message.sender.kind, len(message.body.encode()))
        if self._store.rows(_ROW, message.id) != [what_sorts_it]:
            self._say("what its row is found by is not what it says", message.id)

    def _say(self, what: str, message_id: str, seq: int | None = None) -> None:
        if message_id not in self._strangers:
            self._tell(what, message_id if seq is None else f"{message_id}, {at_seq(seq)}")


def _differences(told: StoredMessage, row: StoredMessage) -> str:
    fields = msgspec.structs.fields(StoredMessage)
    return ", ".join(field.name for field in fields if getattr(told, field.name) != getattr(row, field.name))
