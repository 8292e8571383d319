"""Recordings as a test writes them, and what a plain look through them finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from hypothesis import strategies as st

from dashboard.core import events as e
from dashboard.core.messages import Lane, ReturnReason, Sender, SenderKind
from dashboard.core.outcomes import Outcome
from dashboard.core.records import Record

START = 1_800_000_000_000_000
ANA, WRITER = Sender(SenderKind.OPERATOR, "ana"), Sender(SenderKind.AGENT, "main", "m")


class FakeRecording:
    """Records that were made up, given in pages that are never full."""

    def __init__(self, records: Sequence[Record], complete: bool = True) -> None:
        self.records = list(records)
        self.ended = complete
        self.longest = 0  # the most that was ever asked for at once

    def page(self, after: int, limit: int) -> list[Record]:
        self.longest = max(self.longest, limit)
        return self.records[after : after + min(limit, 3)]

    def last_seq(self) -> int:
        return len(self.records)

    def complete(self) -> bool:
        return self.ended


def started(run_id: str, label: str = "main", ordinal: int = 1, parent: str | None = None) -> e.RunStarted:
    return e.RunStarted(
        run_id=run_id, label=label, ordinal=ordinal, task="t", max_iterations=10, parent_run_id=parent
    )


def delta(text: str = "a") -> e.TextDelta:
    return e.TextDelta(run_id="r", round=1, text=text)


def queued(message_id: str, sender: Sender = ANA, run_id: str = "r", to: str = "main") -> e.MessageQueued:
    return e.MessageQueued(
        message_id=message_id, to=to, body="look at worker.log", lane=Lane.NEXT_STEP, wake=True, sender=sender,
        composed_at=START, run_id=run_id,
    )  # fmt: skip


def delivered(message_id: str | None, index: int = 1, run_id: str = "r") -> e.MessageDelivered:
    return e.MessageDelivered(run_id=run_id, turn=1, round=1, history_index=index, message_id=message_id)


WRONG: tuple[e.KnownEvent, ...] = (
    e.RunFinished(run_id="r", outcome=Outcome.ERROR),
    e.RunFinished(run_id="r", outcome=Outcome.LOST),
    e.TurnFinished(run_id="r", turn=1, answer="", outcome=Outcome.ERROR, error="overloaded"),
    e.ToolReturned(run_id="r", round=1, tool_call_id="c", text="t", is_error=True),
    e.NoticeRaised(level=e.NoticeLevel.ERROR, text="t"),
    e.ControlRefused(control_id="k", reason="it has ended"),
    e.RunBlocked(run_id="r", on="journal"),
)
FINE: tuple[e.KnownEvent, ...] = (
    e.RunFinished(run_id="r", outcome=Outcome.ANSWERED),
    e.RunFinished(run_id="r", outcome=Outcome.CANCELLED, error="stopped by ana"),
    e.TurnFinished(run_id="r", turn=1, answer="", outcome=Outcome.CANCELLED, error="stopped by ana"),
    e.ToolReturned(run_id="r", round=1, tool_call_id="c", text="t"),
    e.NoticeRaised(level=e.NoticeLevel.WARNING, text="t"),
    e.RoundStarted(run_id="r", turn=1, round=1, step=1, max_iterations=9),
)
MAIL: tuple[e.KnownEvent, ...] = (
    queued("theirs"), queued("agents", WRITER), delivered("theirs"), delivered("agents"), delivered(None),
    e.MessageReturned(message_id="theirs", reason=ReturnReason.RUN_ENDED), e.MessageExpired(message_id="theirs"),
    e.MessageReturned(message_id="agents", reason=ReturnReason.RUN_ENDED),
    e.MessageWithdrawn(message_id="theirs", by="ana"), e.MessageHeld(message_id="theirs", held=True, by="ana"),
)  # fmt: skip
DELTAS: tuple[e.KnownEvent, ...] = (delta(), e.ReasoningDelta(run_id="r", round=1, text="b"))

gaps = st.one_of(st.integers(0, 3_000_000), st.integers(-5_000_000, 900_000_000))
any_event = st.sampled_from((*WRONG, *FINE, *MAIL, *DELTAS, *DELTAS))


def record(events: Sequence[e.KnownEvent | e.Unknown], gaps: Sequence[int]) -> list[Record]:
    """Give events as they would stand in a journal, each so many microseconds behind the one before."""
    instants = accumulate(gaps[1 : len(events)], initial=START)
    return [Record(seq, at, event) for seq, (at, event) in enumerate(zip(instants, events, strict=False), 1)]


@st.composite
def recordings(draw: st.DrawFn, longest: int = 25, gaps: st.SearchStrategy[int] = gaps) -> list[Record]:
    """Draw records of every kind, with gaps short, long and negative."""
    events = draw(st.lists(any_event, max_size=longest))
    return record(events, draw(st.lists(gaps, min_size=len(events), max_size=len(events))))


def wrong(records: Sequence[Record]) -> list[int]:
    """Give the seqs of all that went wrong, by a look at each event alone."""
    return [found.seq for found in records if found.event in WRONG]


def moves(records: Sequence[Record]) -> list[int]:
    """Give the seqs at which an operator's message was accepted, read or given back."""
    return list(_moves(records))


def _moves(records: Sequence[Record]) -> Iterator[int]:
    known: set[str | None] = set()
    for found in records:
        match found.event:
            case e.MessageQueued(sender=Sender(kind=SenderKind.OPERATOR)) as accepted:
                known.add(accepted.message_id)
                yield found.seq
            case e.MessageDelivered() | e.MessageReturned() | e.MessageExpired() | e.MessageWithdrawn() as moved:
                if moved.message_id in known:
                    yield found.seq
