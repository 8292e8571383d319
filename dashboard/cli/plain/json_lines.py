"""A session as JSON lines, for programs: pure ASCII, so that nothing in it can steer a terminal either."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from dashboard.core.records import Record, encode


def json_line(record: Record) -> str:
    """Give an event as one line: ``seq``, ``at`` (microseconds, UTC), ``time`` (ISO 8601), ``event`` as stored.

    Args:
        record: the event in its place.
    """
    payload = encode(record.event)
    try:
        event: Any = json.loads(payload)
    except (ValueError, RecursionError):
        event = {"type": "unreadable", "payload": payload.decode("utf-8", "backslashreplace")}
    return as_json({"seq": record.seq, "at": record.at, "time": iso_time(record.at), "event": event})


def as_json(value: object) -> str:
    """Give a value as one line of JSON."""
    return json.dumps(value, ensure_ascii=True, separators=(", ", ": "))


def iso_time(at: int) -> str:
    """Give an instant in microseconds since the epoch as ISO 8601, UTC."""
    return datetime.fromtimestamp(at / 1_000_000, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
