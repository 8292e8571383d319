"""What has to be true after any kill: held against the journal, and against what the consoles were told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

from dashboard.core.messages import ReturnReason
from dashboard.core.outcomes import Outcome
from dashboard.journal.checking import check
from dashboard.journal.reaping import readable
from dashboard.journal.store import Store
from tests.soak.acks import Ack, Kind, read_acks
from tests.soak.story import Story

LOST = (ReturnReason.HOST_LOST, ReturnReason.IN_DOUBT)
_PAGE = 5_000


@dataclass(slots=True)
class Figures:
    """What was seen of a session when it was looked at last."""

    acknowledged: int = 0
    amendments_acknowledged: int = 0
    accepted: int = 0
    delivered: int = 0
    returned: int = 0
    withdrawn: int = 0
    runs: int = 0
    runs_lost: int = 0
    deltas: int = 0
    events: int = 0

    def add(self, other: Figures) -> None:
        """Add those of another session."""
        for one in fields(Figures):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


def examine(folder: Path, *, over: bool) -> tuple[Figures, list[str]]:
    """Look at a session; gives its figures, and what is wrong with it.

    Args:
        folder: the session's folder.
        over: whether its host has ended, and somebody has looked since: then nothing may wait any more.
    """
    acks = read_acks(folder)  # before the journal: whatever was answered until now is in there
    report = check(folder)
    faults = [f"check: {fault.where}: {fault.what}" for fault in report.faults]
    story = Story()
    with readable(folder) as store:
        while records := store.records(story.seq, _PAGE):
            story.take(records)
        if over:
            faults.extend(_left_open(story, store))
    if story.gaps:
        faults.append(f"there are gaps before {story.gaps}")
    faults.extend(_not_kept(story, acks))
    faults.extend(_doubled(story))
    faults.extend(_out_of_order(story))
    ends = Counter(how for hows in story.ends.values() for how in hows)
    lost = sum(outcome is Outcome.LOST for outcome, _ in story.outcomes.values())
    figures = Figures(
        acknowledged=sum(ack.kind is Kind.SENT for ack in acks),
        amendments_acknowledged=sum(ack.kind is not Kind.SENT for ack in acks),
        accepted=len(story.accepted),
        delivered=ends["delivered"],
        returned=ends["returned"],
        withdrawn=ends["withdrawn"],
        runs=len(story.live) + len(story.outcomes),
        runs_lost=lost,
        deltas=story.deltas,
        events=story.seq,
    )
    return figures, faults


def _not_kept(story: Story, acks: list[Ack]) -> Iterator[str]:
    """Whatever a console was told has to be so."""
    for ack in acks:
        accepted = story.accepted.get(ack.message_id)
        if accepted is None:
            yield f"{ack.message_id} was acknowledged and is not there"
            continue
        match ack.kind:
            case Kind.SENT:
                kept = accepted.body == ack.body
            case Kind.EDITED:
                kept = (ack.message_id, ack.body) in story.edits
            case Kind.WITHDRAWN:
                kept = story.ends.get(ack.message_id) == ["withdrawn"]
            case Kind.HELD | Kind.RELEASED:
                kept = ack.kind in story.moved.get(ack.message_id, ())
            case Kind.PROMOTED:  # of a steer it changes nothing, and nothing is told
                kept = accepted.lane == "next_step" or "promoted" in story.moved.get(ack.message_id, ())
        if not kept:
            yield f"{ack.message_id} was acknowledged as {ack.kind} ({ack.body!r}) and is not"


def _doubled(story: Story) -> Iterator[str]:
    """Each message comes to one end, and what was read stands once in the history of who read it (A1, A2)."""
    for message_id, hows in story.ends.items():
        if len(hows) > 1:
            yield f"{message_id} came to {len(hows)} ends: {', '.join(hows)}"
    for delivery in story.read:
        message_id = delivery.message_id or ""
        times = story.histories.get(delivery.run_id, Counter())[story.bodies[message_id]]
        if times != 1:
            yield f"{message_id} stands {times} times in the history of {delivery.run_id}"
    read = {delivery.message_id for delivery in story.read}
    unread = {(story.accepted[message_id].run_id, body) for message_id, body in story.bodies.items()
              if message_id not in read}  # fmt: skip
    for run_id, history in story.histories.items():
        for body in history:
            if (run_id, body) in unread:
                yield f"{body!r} stands in the history of {run_id}, and no delivery tells that"


def _out_of_order(story: Story) -> Iterator[str]:
    """First in, first out: per sender, lane and run, of what nobody held or promoted (A4)."""
    last: dict[tuple[str, str, str], int] = {}
    for delivery in story.read:
        message = story.accepted[delivery.message_id or ""]
        if message.message_id in story.moved:
            continue
        number = int(message.body.split()[1])
        key = delivery.run_id, message.sender.name, message.lane
        if number <= last.get(key, 0):
            yield f"{message.body!r} was read by {delivery.run_id} after number {last[key]}"
        last[key] = number


def _left_open(story: Story, store: Store) -> Iterator[str]:
    """Once a session is over nothing lives or waits, and the text of what came back can be read (A1)."""
    if store.over is None:
        yield "it is not over"
    for run_id, label in story.live.items():
        yield f"{label} ({run_id}) is not over"
    for message_id in story.open:
        yield f"{message_id} still waits"
    for message_id, reason, seq in story.returned:
        stored = store.message(message_id)
        if stored is None or stored.body != story.bodies[message_id]:
            yield f"the text of {message_id} cannot be read"
        elif stored.run_id is not None and not story.closed:
            outcome, ended = story.outcomes.get(stored.run_id, (None, 0))
            if outcome is Outcome.LOST and seq > ended and reason not in LOST:
                yield f"{message_id} came back as {reason} from a run that was lost"
