"""When which record of a recorded session is shown: a pure machine. The caller brings the records and the time.

It never holds more than one page of the recording, so that the length of a session does not matter.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from dashboard.core import events as e
from dashboard.core.messages import SenderKind
from dashboard.core.outcomes import Outcome
from dashboard.core.records import Record

SPEEDS = tuple(2.0**power for power in range(-2, 7))
IDLE = 2_000_000  # microseconds of recorded time: what is left of a longer gap between two records
SAID = 3_000_000  # real microseconds of playing for which a gap that was cut short is told
PAGE = 500


class Recording(Protocol):
    """What is played: records in the order of their seqs. It may grow at its end."""

    def page(self, after: int, limit: int) -> Sequence[Record]:
        """Give the records that follow a seq, at most so many; empty at the end."""
        ...

    def last_seq(self) -> int:
        """Give the seq of the last record; 0 while there is none."""
        ...

    def complete(self) -> bool:
        """Whether nothing will be added any more."""
        ...


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a playback is.

    Args:
        playing: whether time passes in it.
        speed: how many recorded seconds pass in a real one.
        now: the recorded time, in microseconds since the epoch, UTC; 0 before the first record.
        seq: the last record that is shown; 0 before the first.
        total: the last record that there is; 0 where nothing was recorded.
        skipped: how much of a long gap was just left out, in microseconds; else 0.
        complete: whether nothing will be added to the recording any more.
    """

    playing: bool
    speed: float
    now: int
    seq: int
    total: int
    skipped: int = 0
    complete: bool = True

    @property
    def at_end(self) -> bool:
        """Whether everything that there is is shown."""
        return self.seq >= self.total


class Playback:
    """Shows a recording as time passes, or jumps forward in it.

    Two records are as far apart as they were recorded, divided by the speed; never less than nothing, where a
    clock was set back, and never more than ``IDLE``. At the end it waits: what is added there is shown at once.

    Args:
        recording: what is played.
        speed: one of ``SPEEDS``.

    Raises:
        ValueError: there is no such speed.
    """

    def __init__(self, recording: Recording, speed: float = 1.0) -> None:
        if speed not in SPEEDS:
            known = ", ".join(f"{each:g}" for each in SPEEDS)
            raise ValueError(f"the speed must be one of {known}, got {speed:g}")
        self._recording = recording
        self._speed = speed
        self._playing = True
        self._ahead: deque[Record] = deque()  # what comes next, a page at most
        self._by_operators: set[str] = set()  # ids of the messages that operators wrote, in what was looked at
        self._skipped = self._said = self._jumped_to = 0
        self._seq = self._at = 0  # of the last record that is shown
        self._passed = 0.0  # recorded microseconds since then
        self._at_end = False  # waiting for more, with everything shown

    @property
    def seq(self) -> int:
        """The last record that is shown; 0 before the first."""
        return self._seq

    @property
    def jumped_to(self) -> int:
        """The record up to which the last jump went: nobody saw what it passed over happen."""
        return self._jumped_to

    @property
    def now(self) -> int:
        """The recorded time, in microseconds since the epoch, UTC, so that ages are those of then; 0 before it."""
        return self._at + int(self._passed)

    def standing(self) -> Standing:
        """Say where this is."""
        return Standing(
            playing=self._playing,
            speed=self._speed,
            now=self.now,
            seq=self._seq,
            total=self._recording.last_seq(),
            skipped=self._skipped if self._said else 0,
            complete=self._recording.complete(),
        )

    def advance(self, elapsed: int) -> None:
        """Let time pass, and show what is due.

        Args:
            elapsed: real microseconds since the last call, 0 or more.
        """
        if not self._playing:
            return
        self._said = max(0, self._said - elapsed)
        left = elapsed * self._speed  # exact: every speed is a power of two
        while (record := self._next()) is not None:
            wait = self._gap(record) - self._passed
            if wait > left:
                self._passed += left
                return
            left -= wait
            self._show(record)
        self._at_end = True

    def toggle(self) -> None:
        """Pause, or go on playing."""
        self._playing = not self._playing

    def faster(self) -> None:
        """Play twice as fast; the fastest stays."""
        self._speed = min(self._speed * 2, SPEEDS[-1])

    def slower(self) -> None:
        """Play half as fast; the slowest stays."""
        self._speed = max(self._speed / 2, SPEEDS[0])

    def restart(self) -> None:
        """Go back before the first record, and play from there."""
        self._skipped = self._said = self._jumped_to = 0
        self._playing = True
        self._place(0, 0)

    def skip_to(self, seq: int) -> None:
        """Show everything up to a seq at once, or all there is where it ends before that; it goes on as it was.

        Args:
            seq: the last record to show; one that is shown already changes nothing.
        """
        last = None
        for record in self._scan():
            if record.seq > seq:
                break
            last = record
        if last is not None:
            self._jump(last)

    def step(self) -> Record | None:
        """Show the next thing that happened, and everything before it, and pause.

        A piece of streamed text or reasoning is no step: up to 25 a second come from every run, and whoever steps
        wants to see the next thing that happened, not the next half of a word. Where nothing but such pieces is
        left, the step goes to the end.

        Returns:
            The last record that is shown now, or ``None`` at the end, where nothing changes.
        """
        last = None
        for record in self._scan():
            last = record
            if not isinstance(record.event, e.Delta):
                break
        return self._pause_at(last)

    def next_message(self) -> Record | None:
        """Show everything up to the next thing that an operator's message did, and pause.

        That is its acceptance, its delivery, or that it came back unread, whichever comes next. With a delivery
        comes the entry of the history that the message became: by itself it would only end the wait.

        Returns:
            The record of it, or ``None`` where there is none left, and nothing changes.
        """
        scan = self._scan()
        found = next(filter(self._is_mail_of_operators, scan), None)
        entry = next(scan, None) if found is not None else None
        self._pause_at(entry if _is_entry_of(found, entry) else found)
        return found

    def next_error(self) -> Record | None:
        """Show everything up to the next thing that went wrong, and pause.

        Returns:
            The record of it, or ``None`` where there is none left, and nothing changes.
        """
        return self._pause_at(next(filter(_is_error, self._scan()), None))

    def _place(self, seq: int, at: int) -> None:
        self._seq, self._at, self._passed, self._at_end = seq, at, 0.0, False
        self._ahead.clear()

    def _next(self) -> Record | None:
        if not self._ahead:
            self._ahead.extend(self._recording.page(self._seq, PAGE))
        return self._ahead[0] if self._ahead else None

    def _gap(self, record: Record) -> int:
        """Give the recorded time that passes before the next record is shown."""
        if self._at_end or not self._seq:
            return 0
        return min(max(0, record.at - self._at), IDLE)

    def _show(self, record: Record) -> None:
        left_out = record.at - self._at - IDLE
        if left_out > 0 and self._seq and not self._at_end:
            self._skipped, self._said = left_out, SAID
        self._note(record)
        self._ahead.popleft()
        self._seq, self._at, self._passed, self._at_end = record.seq, record.at, 0.0, False

    def _scan(self) -> Iterator[Record]:
        """Give what follows, page by page, without showing it."""
        after = self._seq
        while page := self._recording.page(after, PAGE):
            for record in page:
                self._note(record)
                yield record
            after = page[-1].seq

    def _note(self, record: Record) -> None:
        event = record.event
        if isinstance(event, e.MessageQueued) and event.sender.kind is SenderKind.OPERATOR:
            self._by_operators.add(event.message_id)

    def _is_mail_of_operators(self, record: Record) -> bool:
        event = record.event
        moved = e.MessageQueued | e.MessageDelivered | e.MessageReturned | e.MessageExpired | e.MessageWithdrawn
        return isinstance(event, moved) and event.message_id in self._by_operators

    def _pause_at(self, record: Record | None) -> Record | None:
        if record is not None:
            self._jump(record)
            self._playing = False
        return record

    def _jump(self, record: Record) -> None:
        self._place(record.seq, record.at)
        self._jumped_to, self._said = record.seq, 0


def _is_entry_of(delivery: Record | None, entry: Record | None) -> bool:
    if delivery is None or entry is None:
        return False
    match delivery.event, entry.event:
        case e.MessageDelivered(run_id=run_id, history_index=index), e.HistoryAppended() as appended:
            return (appended.run_id, appended.index) == (run_id, index)
        case _:
            return False


def _is_error(record: Record) -> bool:
    match record.event:
        case e.RunFinished(outcome=Outcome.ERROR | Outcome.LOST) | e.TurnFinished(outcome=Outcome.ERROR):
            return True
        case e.ToolReturned(is_error=True) | e.NoticeRaised(level=e.NoticeLevel.ERROR):
            return True
        case e.ControlRefused() | e.RunBlocked():
            return True
        case _:
            return False
