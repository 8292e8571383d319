"""How events stand in a journal: in their order, and as bytes that a later version can read."""

from __future__ import annotations

from typing import Any

import msgspec

from dashboard.core.events import KnownEvent, Unknown

EVENT_VERSION = 1
_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[KnownEvent] = msgspec.json.Decoder(KnownEvent)


class Record(msgspec.Struct, frozen=True):
    """An event in its place: ``seq`` is the order, gap-free from 1; ``at`` is an instant in microseconds, UTC."""

    seq: int
    at: int
    event: KnownEvent | Unknown


def encode(event: KnownEvent | Unknown) -> bytes:
    """Give the bytes that the journal stores; an ``Unknown`` goes back as it came."""
    return event.payload.encode() if isinstance(event, Unknown) else _encoder.encode(event)


def decode(payload: bytes) -> KnownEvent | Unknown:
    """Read stored bytes; what does not fit a known type comes back as ``Unknown``, never as an error."""
    try:
        return _decoder.decode(payload)
    except (msgspec.DecodeError, RecursionError):  # a ValidationError is one of the first
        return _unknown(payload)


def run_of(event: KnownEvent | Unknown) -> str | None:
    """Give the run that an event belongs to, or ``None``."""
    run_id: str | None = getattr(event, "run_id", None)
    return run_id


def _unknown(payload: bytes) -> Unknown:
    text = payload.decode("utf-8", "replace")
    try:
        fields: Any = msgspec.json.decode(payload)
    except (msgspec.DecodeError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        return Unknown("unreadable", text)
    run_id = fields.get("run_id")
    return Unknown(str(fields.get("type", "untyped")), text, run_id if isinstance(run_id, str) else None)
