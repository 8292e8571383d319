"""What happens to mail inside one transaction: accept, claim, end of run, and the reaping of a dead host.

The address is resolved at send (A5); a claim appends to the history and records the delivery in the same
transaction (A8); "is anything pending?" and "this run ends" are one transaction too (A9).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dashboard.core.errors import SendRefusedError
from dashboard.core.events import (
    HistoryAppended,
    MessageDelivered,
    MessageExpired,
    MessageQueued,
    NoticeLevel,
    NoticeRaised,
    RunFinished,
)
from dashboard.core.history import User
from dashboard.core.labels import ROOT_LABEL, Bound, Refused, RunRef, Unbound, resolve
from dashboard.core.mail import Boundary, BoundaryKind, Delivered
from dashboard.core.messages import (
    MAX_BODY_BYTES,
    MAX_OPEN_PER_RUN,
    MAX_TAKE_BYTES,
    MAX_TAKE_MESSAGES,
    Lane,
    Message,
    MessageState,
    Receipt,
    Refusal,
    ReturnReason,
    SenderKind,
)
from dashboard.core.outcomes import Outcome, RunEnd

if TYPE_CHECKING:
    from dashboard.journal.store import Store

_message = msgspec.json.Decoder(Message)
_COUNT_WAITING = "SELECT count(*) FROM message WHERE run_id = ? AND state = 'queued'"
_COUNT_UNBOUND = "SELECT count(*) FROM message WHERE label = ? AND state = 'unbound'"
_WAKING = (
    "SELECT 1 FROM message WHERE run_id = ? AND state = 'queued' AND lane = ? AND wake"
    " AND coalesce(expires_at, ?) >= ? LIMIT 1"
)
_LANE = (
    "SELECT id, message, body_bytes, sender_kind FROM message WHERE run_id = ? AND state = 'queued' AND lane = ?"
    " ORDER BY place"
)


def accept(store: Store, address: str, message: Message, at: int) -> Receipt:
    """Store a message for a run, or refuse it and store nothing.

    Args:
        store: inside a transaction.
        address: a run id, ``label#ordinal`` or a bare label.
        message: as its sender made it.
        at: now, in microseconds since the epoch, UTC.

    Returns:
        The receipt; for an id that is known with the same content, the first receipt (A3).

    Raises:
        SendRefusedError: empty, too large, full, unknown, ambiguous, run ended, not reading, or the id reused.
    """
    known = store.rows("SELECT address, message, run_id, state FROM message WHERE id = ?", message.id)
    if known:
        return _repeat(store, known[0], address, message)
    size = _check_body(message.body)
    over = store.meta("over")
    if over is not None:
        raise SendRefusedError(Refusal.RUN_ENDED, f"the session is over ({over}), and nothing in it reads mail")
    found = resolve(address, runs(store), _labels(store))
    if isinstance(found, Refused):
        fix = "Pick one of them" if found.candidates else ""
        raise SendRefusedError(found.refusal, found.what, found.candidates, fix)
    run_id = found.run.run_id if isinstance(found, Bound) else None
    label = found.run.label if isinstance(found, Bound) else found.label
    to = found.run.name if isinstance(found, Bound) else found.label
    state = MessageState.QUEUED if run_id else MessageState.UNBOUND
    _check_room(store, found, to)
    place = store.append(
        MessageQueued(
            message_id=message.id,
            to=to,
            body=message.body,
            lane=message.lane,
            wake=message.wake,
            sender=message.sender,
            composed_at=message.composed_at,
            run_id=run_id,
            expires_at=message.expires_at,
        ),
        at,
    )
    store.connection.execute(
        "INSERT INTO message (id, place, address, label, run_id, lane, wake, state, expires_at, sender_kind,"
        " message, body_bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            message.id, place, address, label, run_id, message.lane, message.wake, state, message.expires_at,
            message.sender.kind, msgspec.json.encode(message), size,
        ),
    )  # fmt: skip
    return Receipt(message.id, to, run_id, state)


def take(store: Store, run_id: str, boundary: Boundary, at: int) -> tuple[Delivered, ...]:
    """Claim what a boundary reads, and deliver it.

    At the end of a turn nothing is claimed unless a waking message extends it (T2); elsewhere ``next_step`` is,
    after ``next_turn`` where a turn opens (T1). One boundary takes at most 32 messages or 64 KiB (A14).
    """
    lanes = [Lane.NEXT_STEP]
    if boundary.kind is BoundaryKind.TURN_OPEN:
        lanes = [Lane.NEXT_TURN, Lane.NEXT_STEP]
    elif boundary.kind is BoundaryKind.FINAL and not _wakes(store, run_id, Lane.NEXT_STEP, at):
        return ()
    return _deliver(store, run_id, lanes, boundary, at)


def finish(store: Store, run_id: str, boundary: Boundary, end: RunEnd, at: int) -> tuple[Delivered, ...]:
    """End a run, unless its mail extends the turn, or opens another (T4).

    Returns:
        What was delivered instead of ending; empty once the run has ended and its open mail was returned.
    """
    if end.outcome is Outcome.ANSWERED:
        if _wakes(store, run_id, Lane.NEXT_STEP, at):
            return _deliver(store, run_id, [Lane.NEXT_STEP], boundary, at)
        if _wakes(store, run_id, Lane.NEXT_TURN, at):
            opened = msgspec.structs.replace(boundary, turn=boundary.turn + 1)
            taken = _deliver(store, run_id, [Lane.NEXT_TURN, Lane.NEXT_STEP], opened, at)
            return tuple(msgspec.structs.replace(delivered, opens_turn=True) for delivered in taken)
    store.append(RunFinished(run_id=run_id, outcome=end.outcome, answer=end.answer, error=end.error), at)
    return ()


def wakes(store: Store, run_id: str, at: int) -> bool:
    """Whether any open message starts an idle run (T3)."""
    return any(_wakes(store, run_id, lane, at) for lane in Lane)


def reap(store: Store, at: int) -> int:
    """End every live run as lost, once the host is known to be dead; its open mail comes back with that reason.

    Returns:
        How many runs were lost.
    """
    if store.meta("over") is not None:
        return 0  # someone was faster
    lost = [run for run in runs(store) if run.live]
    store.set_meta("over", "its host was lost")
    store.return_unbound(ReturnReason.HOST_LOST, at)
    for run in lost:
        store.append(RunFinished(run_id=run.run_id, outcome=Outcome.LOST, error="the host process died"), at)
    if lost:
        names = ", ".join(run.name for run in lost)
        text = f"the host process died; {len(lost)} of its runs are lost: {names}"
        store.append(NoticeRaised(level=NoticeLevel.NOTE, text=text), at)  # each console says it once, by itself
    return len(lost)


def runs(store: Store) -> list[RunRef]:
    """Give every run of the session, in the order in which they started."""
    rows = store.rows("SELECT run_id, label, ordinal, live, reading FROM run ORDER BY started")
    return [
        RunRef(run_id, label, ordinal, bool(live), bool(reading)) for run_id, label, ordinal, live, reading in rows
    ]


def _labels(store: Store) -> set[str]:
    return {label for (label,) in store.rows("SELECT label FROM label")} - {ROOT_LABEL}


def _repeat(store: Store, known: tuple[str, bytes, str | None, str], address: str, message: Message) -> Receipt:
    first_address, stored, run_id, state = known
    if first_address != address or _message.decode(stored) != message:
        raise SendRefusedError(
            Refusal.ID_REUSED, f"the id {message.id} was used for another message", fix="Send it under a new id"
        )
    run = next((run for run in runs(store) if run.run_id == run_id), None)
    return Receipt(message.id, run.name if run else first_address, run_id, MessageState(state))


def _check_body(body: str) -> int:
    size = len(body.encode("utf-8", "surrogatepass"))
    if not body.strip():
        raise SendRefusedError(Refusal.EMPTY, "there is nothing in the message but white space")
    if size > MAX_BODY_BYTES:
        raise SendRefusedError(
            Refusal.TOO_LARGE,
            f"the message is {size:,} bytes, and {MAX_BODY_BYTES:,} is the most",
            fix="Put the text into a file, and name the file",
        )
    return size


def _check_room(store: Store, found: Bound | Unbound, to: str) -> None:
    if isinstance(found, Bound):
        waiting = store.value(_COUNT_WAITING, found.run.run_id)
    else:
        waiting = store.value(_COUNT_UNBOUND, found.label)
    if waiting >= MAX_OPEN_PER_RUN:
        raise SendRefusedError(
            Refusal.FULL,
            f"{to} has {waiting:,} messages waiting, and {MAX_OPEN_PER_RUN:,} is the most",
            fix="Wait until it has read some",
        )


def _wakes(store: Store, run_id: str, lane: Lane, at: int) -> bool:
    return store.value(_WAKING, run_id, lane, at, at) is not None


def _deliver(store: Store, run_id: str, lanes: list[Lane], boundary: Boundary, at: int) -> tuple[Delivered, ...]:
    delivered: list[Delivered] = []
    room = MAX_TAKE_BYTES
    for lane in lanes:
        for message_id, stored, size, sender_kind in store.rows(_LANE, run_id, lane):
            message = _message.decode(stored)
            if message.expires_at is not None and message.expires_at < at:
                _expire(store, message, run_id, at)
                continue
            if len(delivered) == MAX_TAKE_MESSAGES or (delivered and size > room):
                return tuple(delivered)  # the rest stays queued, in its place, for the next boundary
            room -= size
            index = boundary.history_index + len(delivered)
            seq = store.append(
                MessageDelivered(
                    run_id=run_id,
                    turn=boundary.turn,
                    round=boundary.round,
                    history_index=index,
                    message_id=message_id,
                ),
                at,
            )
            store.append(HistoryAppended(run_id=run_id, index=index, entry=User(message.body)), at)
            store.connection.execute("UPDATE message SET state = 'delivered' WHERE id = ?", (message_id,))
            store.connection.execute(
                "INSERT INTO delivery (message_id, run_id, round, history_index, seq) VALUES (?, ?, ?, ?, ?)",
                (message_id, run_id, boundary.round, index, seq),
            )
            by_operator = sender_kind == SenderKind.OPERATOR
            delivered.append(Delivered(message.body, message.wake, by_operator and message.wake, message_id))
    return tuple(delivered)


def _expire(store: Store, message: Message, run_id: str, at: int) -> None:
    store.connection.execute("UPDATE message SET state = 'expired' WHERE id = ?", (message.id,))
    store.append(MessageExpired(message_id=message.id, run_id=run_id), at)
