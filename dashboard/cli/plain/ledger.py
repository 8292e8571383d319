"""The mail of a session and the fate of each message, in plain words or as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dashboard.cli.plain.json_lines import as_json, iso_time
from dashboard.core.messages import MessageState, SenderKind
from dashboard.core.projection import Projection
from dashboard.core.sanitize import sanitize, sanitize_line
from dashboard.core.views import MessageView
from dashboard.ui.receipts import fate_words
from dashboard.ui.wording import clock_time, done_by

UNREAD = (MessageState.UNDELIVERABLE, MessageState.EXPIRED)


def ledger_lines(messages: Iterable[MessageView], projection: Projection) -> Iterator[str]:
    """Give each message: its fate first, then whose it is, then its text behind a margin.

    Args:
        messages: which, in order.
        projection: the runs that they are for.
    """
    for message in messages:
        _, words = fate_words(message, projection.runs.get(message.run_id or ""))
        how = message.preset.words if message.preset else f"{message.lane}, without waking"
        kind = "operator" if message.sender.kind is SenderKind.OPERATOR else "agent"
        yield f"{clock_time(message.queued_at)} {words}"
        yield (
            f"    {message.message_id} from {kind} {sanitize_line(message.sender.name, 40)}, {how},"
            f" composed {clock_time(message.composed_at)}"
        )
        for sent in message.forwarded:
            to = f"{sanitize_line(sent.to, 60)} of {sanitize_line(sent.session_id, 40)}"
            yield f"    {done_by('sent on', sent.by)} to {to}, as {sanitize_line(sent.as_id, 60)}"
        yield from (f"    > {line}" for line in sanitize(message.body).strip("\n").split("\n"))


def ledger_json(messages: Iterable[MessageView]) -> Iterator[str]:
    """Give each message as a line of JSON. Times are ISO 8601, UTC; ``ended`` is null while it waits."""
    for message in messages:
        yield as_json(
            {
                "id": message.message_id,
                "state": str(message.state),
                "to": message.to,
                "run_id": message.run_id,
                "from": {"kind": str(message.sender.kind), "name": message.sender.name},
                "how": str(message.preset) if message.preset else None,
                "lane": str(message.lane),
                "wake": message.wake,
                "body": message.body,
                "composed": iso_time(message.composed_at),
                "queued": iso_time(message.queued_at),
                "ended": iso_time(message.ended_at) if message.ended_at else None,
                "round": message.round or None,
                "reason": str(message.reason) if message.reason else None,
                "held": message.held,
                "edited": message.edited,
                "batch_id": message.batch_id,
                "sent_on": [
                    {"to": sent.to, "session": sent.session_id, "id": sent.as_id, "by": sent.by}
                    for sent in message.forwarded
                ],
            }
        )
