"""What each run said: the pieces add up to what was stored, and the history has no gap."""

from __future__ import annotations

from dataclasses import dataclass, field

from dashboard.core import events as e
from dashboard.core.history import Assistant
from dashboard.core.records import Record, run_of
from dashboard.journal.checking.report import Tell, at_seq

# what names a run and is not its own doing: it may come before its start, and after its end
OF_OTHERS = (
    e.MessageQueued | e.MessageBound | e.MessageReturned | e.MessageExpired | e.MessageWithdrawn | e.MessageEdited
    | e.MessageHeld | e.MessagePromoted | e.MessageForwarded | e.ControlRequested | e.ControlApplied
    | e.ControlRefused | e.NoticeRaised | e.Unknown
)  # fmt: skip


@dataclass(slots=True)
class _Run:
    name: str
    length: int = 0  # of its history
    ended: int | None = None  # the seq of its end
    round: int = 0
    streams: bool = False  # whether it shows its text as it comes: a loop that is not ours need not
    text: list[str] = field(default_factory=list)  # what streamed in the round that is open
    reasoning: list[str] = field(default_factory=list)

    def begin(self, round_: int) -> None:
        """Begin a round: what streamed in one that was cut off was never stored, and is nobody's fault."""
        self.round = round_
        self.text.clear()
        self.reasoning.clear()


class TextCheck:
    """Follows every run; it holds no more text than that of the rounds that are open.

    Args:
        tell: called with what is wrong, and where.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._runs: dict[str, _Run] = {}

    def take(self, record: Record) -> None:
        """Take the next event."""
        event = record.event
        if isinstance(event, e.RunStarted):
            if event.run_id in self._runs:
                self._tell(f"{event.run_id} starts a second time", at_seq(record.seq))
            self._runs[event.run_id] = _Run(f"{event.label}#{event.ordinal}")
            return
        run_id = run_of(event)
        if run_id is None or isinstance(event, OF_OTHERS):
            return
        run = self._runs.get(run_id)
        if run is None:
            self._tell(f"{type(event).__name__} of a run that never started ({run_id})", at_seq(record.seq))
            return
        if run.ended is not None:
            what = f"{run.name} goes on after its end in event {run.ended}: {type(event).__name__}"
            self._tell(what, at_seq(record.seq))
        self._take(run, event, record.seq)

    def _take(self, run: _Run, event: object, seq: int) -> None:
        match event:
            case e.TextDelta() | e.ReasoningDelta():
                if event.round != run.round:
                    run.begin(event.round)
                run.streams = True
                (run.text if isinstance(event, e.TextDelta) else run.reasoning).append(event.text)
            case e.RoundStarted():
                run.begin(event.round)
            case e.HistoryAppended():
                self._check_entry(run, event, seq)
            case e.RunFinished():
                run.ended = seq
            case _:
                pass

    def _check_entry(self, run: _Run, event: e.HistoryAppended, seq: int) -> None:
        if event.index != run.length:
            what = f"an entry at {event.index} of the history of {run.name}, where {run.length} is the next"
            self._tell(what, at_seq(seq))
        run.length = event.index + 1
        entry = event.entry
        if not isinstance(entry, Assistant):
            return
        for kind, pieces, stored in (
            ("text", run.text, entry.content),
            ("reasoning", run.reasoning, entry.reasoning),
        ):
            streamed = "".join(pieces)
            pieces.clear()
            if run.streams and streamed != stored:
                self._tell(
                    f"the {kind} that {run.name} streamed in round {run.round} does not add up to what was stored"
                    f" ({len(streamed):,} characters, and {len(stored):,})",
                    at_seq(seq),
                )
