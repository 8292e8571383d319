"""A session over its journal: the operator's face, the host's face, and what they share."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path

import apsw
from filelock import FileLock

from dashboard.core.events import ControlAction, ControlRequested, HostStarted, MessageForwarded, SessionClosed
from dashboard.core.ids import ENTROPY_BYTES, sortable_id
from dashboard.core.messages import Amendment, Message, Preset, Receipt, Sender, SenderKind
from dashboard.core.records import Record, decode
from dashboard.core.sessions import (
    BatchPart,
    BatchResult,
    Control,
    ControlAnswer,
    Destination,
    HostState,
    HostStatus,
)
from dashboard.core.views import RunView
from dashboard.journal import elsewhere, lock, mailroom, schema
from dashboard.journal.clock import Clock, wall_clock
from dashboard.journal.home import JOURNAL_NAME, find_session
from dashboard.journal.inline import InlineWriter
from dashboard.journal.jobs import Job, T, Writer
from dashboard.journal.mail_desk import MailDesk
from dashboard.journal.reaping import how_it_ended
from dashboard.journal.routed_inbox import RoutedInbox
from dashboard.journal.store import Store
from dashboard.journal.tail import Tail, reading
from dashboard.journal.wal_watch import SEEN_LATELY, WAL_LIMIT, WalWatch
from dashboard.journal.writer import ThreadWriter

PRESENCE_PERIOD = 5_000_000  # how often a console says that it is there
POLL_SECONDS = 0.05


class JournalOperatorSession:
    """The operator's face of a session: read, send, ask, probe.

    Args:
        folder: the session's folder.
        operator: the name that messages carry.
        clock: microseconds since the epoch, UTC.
        inline: write at once, in the caller's thread, so that a recording is deterministic.

    Raises:
        JournalError: there is no journal there that can be read.
    """

    def __init__(self, folder: Path, operator: str, clock: Clock = wall_clock, *, inline: bool = False) -> None:
        self._folder = folder
        self._clock = clock
        self._tail = Tail(folder / JOURNAL_NAME)
        self._writer = _writer(folder / JOURNAL_NAME, clock, inline=inline)
        self._desk = MailDesk(self._writer, Sender(SenderKind.OPERATOR, operator), clock)
        self._console_id = sortable_id("console", clock(), os.urandom(ENTROPY_BYTES))
        self._behind = False
        self._seen_at = 0
        self._over: HostState | None = None
        self._reaping: Future[int] | None = None

    @property
    def session_id(self) -> str:
        """The session's name, which is its folder's."""
        return self._folder.name

    @property
    def operator(self) -> str:
        """Whose messages these will be."""
        return self._desk.sender.name

    def now(self) -> int:
        """Give the time in microseconds since the epoch, UTC."""
        return self._clock()

    def read(self, after: int, limit: int) -> list[Record]:
        """Give the events that follow a seq, at most so many."""
        with reading(self._folder):
            if self._tail.changed():
                self._behind = True  # kept until it was read: a read that fails must not lose the news
            if not self._behind:
                return []
            records = self._tail.read(after, limit)
        self._behind = len(records) == limit
        return records

    def compose(self, body: str, preset: Preset) -> Message:
        """Make a message of this operator's, with its id and time (A3)."""
        return self._desk.compose(body, preset.lane, preset.wake)

    def compose_batch(self, body: str, preset: Preset, recipients: Sequence[RunView]) -> tuple[BatchPart, ...]:
        """Make a broadcast to the runs that are given now, and to no others (A6)."""
        return self._desk.compose_batch(body, preset, recipients)

    async def send(self, address: str, message: Message) -> Receipt:
        """Store a message for a run; a refusal stores nothing (A1)."""
        return await asyncio.wrap_future(self._desk.send(address, message))

    async def broadcast(self, batch: Sequence[BatchPart]) -> tuple[BatchResult, ...]:
        """Store a broadcast in one step; a part that is refused stops no other (A6)."""
        return await asyncio.wrap_future(self._desk.broadcast(batch))

    async def amend(self, message_id: str, change: Amendment) -> Receipt:
        """Withdraw, edit, hold, release or promote a message that is still open (A10)."""
        return await asyncio.wrap_future(self._desk.amend(message_id, change))

    async def destinations(self) -> list[Destination]:
        """Give the runs that a message which came back can be sent on to: of this session, and of every other."""
        return await asyncio.to_thread(elsewhere.destinations, self._folder, self._clock)

    async def forward(self, message_id: str, to: Destination) -> Receipt:
        """Send the text of a message that came back on to somebody else, as a message of its own."""
        returned = elsewhere.returned(self.look(lambda store: store.message(message_id)), message_id)
        there = self._folder if to.session_id == self.session_id else find_session(to.session_id)
        receipt = await asyncio.to_thread(elsewhere.send_on, there, to, returned, self.operator, self._clock)
        event = MessageForwarded(
            message_id=message_id,
            to=receipt.to,
            session_id=to.session_id,
            as_id=receipt.message_id,
            by=self.operator,
            run_id=returned.run_id,
        )
        at = self._clock()
        await asyncio.wrap_future(self._writer.submit(Job(lambda store: store.append(event, at))).future)
        return receipt

    async def request(
        self,
        action: ControlAction,
        run_id: str | None = None,
        *,
        approval_id: str | None = None,
        reason: str = "",
    ) -> str:
        """Ask the host for something; gives the control's id."""
        at = self._clock()
        control_id = sortable_id("ctl", at, os.urandom(ENTROPY_BYTES))
        event = ControlRequested(
            control_id=control_id,
            action=action,
            by=self.operator,
            run_id=run_id,
            approval_id=approval_id,
            reason=reason,
        )
        await asyncio.wrap_future(self._writer.submit(Job(lambda store: store.append(event, at))).future)
        return control_id

    def say_present(self) -> None:
        """Tell the host that a console is there, at most every few seconds."""
        at = self._clock()
        if abs(at - self._seen_at) < PRESENCE_PERIOD:
            return
        self._seen_at = at
        row = (self._console_id, self.operator, at)
        self._writer.submit(
            Job(
                lambda store: store.connection.execute(
                    "INSERT OR REPLACE INTO console VALUES (?, ?, ?)", row
                ).close()
            )
        )

    def probe(self) -> HostStatus:
        """Look at the host; whoever finds it dead ends its runs as lost and returns their mail. Never waits.

        Raises:
            JournalError: the journal could not be read just now.
        """
        store = self._tail.store
        with reading(self._folder):
            pid, beat = int(store.meta("pid") or 0), int(store.meta("heartbeat") or 0)
            over = self._over or how_it_ended(store)
        if over is not None:
            self._over = over
            return HostStatus(over, pid, beat)
        self.say_present()
        state = lock.living_state(beat, self._clock())
        with reading(self._folder):
            dead = lock.host_is_dead(self._folder)
        if dead is None:
            return HostStatus(state, pid, beat)
        with dead:  # held while the reaping is submitted; reaping twice changes nothing
            if self._reaping is None or self._reaping.done():
                self._reaping = self._writer.submit(Job(lambda store: mailroom.reap(store, self._clock()))).future
        return HostStatus(state, pid, beat)  # the next probe finds it lost

    def look(self, read: Callable[[Store], T]) -> T:
        """Read from the journal's tables, for a command that asks one thing and does not follow.

        Raises:
            JournalError: the journal could not be read just now.
        """
        with reading(self._folder):
            return read(self._tail.store)

    def answer(self, control_id: str) -> ControlAnswer | None:
        """Give the host's answer to a request; ``None`` while there is none.

        Raises:
            JournalError: the journal could not be read just now.
        """
        return self.look(lambda store: store.answer(control_id))

    def close(self) -> None:
        """Let go of the session. The agents go on."""
        self._writer.close()
        self._tail.close()


class JournalHostSession:
    """The host's face of a session: emit, mail, controls.

    Args:
        folder: the session's folder, private and empty; its lock is taken first, then the journal is made.
        clock: microseconds since the epoch, UTC.
        inline: write at once, in the caller's thread, so that a recording is deterministic.
        wal_limit: bytes of the journal's write-ahead log, past which it is told that somebody keeps it from
            being written back.

    Raises:
        HostError: another host runs the session.
        JournalError: there is a journal already.
    """

    def __init__(
        self, folder: Path, clock: Clock = wall_clock, *, inline: bool = False, wal_limit: int = WAL_LIMIT
    ) -> None:
        path = folder / JOURNAL_NAME
        self.folder = folder
        self._clock = clock
        self._wal_watch = WalWatch(path, wal_limit)
        self._lock: FileLock = lock.hold(folder)
        try:
            schema.create(path).close()
            self._writer = _writer(path, clock, inline=inline, on_death=_end_process)
            self._tail = Tail(path)
        except BaseException:
            self._lock.release()
            raise
        self.inbox = RoutedInbox(self._writer, clock=clock, changed=self.changed, waits=self._waits)
        self.emit = self.inbox.emit  # the same bus, and known as the same: an event is told once per bus

    async def start(self, version: str, title: str, labels: tuple[str, ...]) -> None:
        """Record that this process took the session; returns once that is on disk, for the hand-shake."""
        self.beat()
        event = HostStarted(pid=os.getpid(), version=version, title=title, labels=labels)
        await asyncio.wrap_future(self._submit(lambda store: store.append(event, self._clock())).future)

    def beat(self) -> None:
        """Say that this host lives; and warn if somebody keeps the journal's log from being written back."""
        at = self._clock()
        self._submit(lambda store: store.set_meta("heartbeat", at))
        warning = self._wal_watch.look(self._operators_seen)
        if warning is not None:
            self.emit(warning)

    async def controls(self) -> list[Control]:
        """Give what operators asked for and nobody has applied yet, in order."""
        rows = self._tail.store.rows(
            "SELECT control.id, control.action, control.run_id, control.requested_by, control.place, event.payload"
            " FROM control JOIN event ON event.seq = control.place WHERE state = 'requested' ORDER BY place"
        )
        return [_control(*row) for row in rows]

    def console_seen_at(self) -> int:
        """Give when a console was last there, in microseconds since the epoch, UTC; 0 if never."""
        return int(self._tail.store.value("SELECT coalesce(max(seen_at), 0) FROM console"))

    async def changed(self) -> None:
        """Return once the journal has changed, or after a quarter of a second: the caller looks for itself."""
        before = self._tail.store.connection.pragma("data_version")
        for _ in range(5):
            await asyncio.sleep(POLL_SECONDS)
            if self._tail.store.connection.pragma("data_version") != before:
                return

    async def close(self, reason: str) -> None:
        """Record that the session is over, then let go of the journal and, last, of the lock.

        Raises:
            JournalError: that could not be recorded. All is let go of, and whoever looks finds it lost.
        """
        self.inbox.end_foreign_runs("the session was closed before its loop had said how it ended")
        event = SessionClosed(reason=reason)
        try:
            await asyncio.wrap_future(self._submit(lambda store: store.append(event, self._clock())).future)
        finally:
            self._writer.close()
            self._tail.close()
            self._lock.release()

    def _waits(self, run_id: str) -> bool:
        """Whether anything is open for a run: one indexed read, on a connection that waits for no writer."""
        try:
            return self._tail.store.count_open(run_id) > 0
        except apsw.Error:
            return True  # the transaction will tell what is wrong

    def _operators_seen(self) -> list[str]:
        """Name the operators of the consoles that were there in the last minute, the latest first."""
        try:
            rows = self._tail.store.rows(
                "SELECT operator FROM console WHERE seen_at >= ? ORDER BY seen_at DESC",
                self._clock() - SEEN_LATELY,
            )
        except apsw.Error:
            return []  # the warning matters more than the names
        return [operator for (operator,) in rows]

    def _submit(self, work: Callable[[Store], object]) -> Job[Store, object]:
        return self._writer.submit(Job(work))


def _control(control_id: str, action: str, run_id: str | None, by: str, place: int, payload: bytes) -> Control:
    asked = decode(payload)
    if isinstance(asked, ControlRequested):
        return Control(control_id, action, run_id, by, asked.approval_id, asked.reason, place)
    return Control(control_id, action, run_id, by, seq=place)  # a newer console's: its table tells what it is


def _writer(path: Path, clock: Clock, *, inline: bool, on_death: Callable[[], object] = bool) -> Writer[Store]:
    return InlineWriter(path, clock) if inline else ThreadWriter(path, clock, on_death)


def _end_process() -> None:
    """End a host that can record nothing any more: its lock is let go, and whoever looks finds its runs lost."""
    os._exit(os.EX_SOFTWARE)
