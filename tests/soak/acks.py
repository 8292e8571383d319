"""What the consoles were told, one line each: a line is there only if its answer was had."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path

import msgspec

NAME = "acks"


class Kind(StrEnum):
    """What an answer was to."""

    SENT = "sent"
    WITHDRAWN = "withdrawn"
    EDITED = "edited"
    HELD = "held"
    RELEASED = "released"
    PROMOTED = "promoted"


class Ack(msgspec.Struct, frozen=True):
    """One answer that a console had.

    Args:
        kind: what it was to.
        message_id: the message.
        body: its text, where that was sent or edited.
    """

    kind: Kind
    message_id: str
    body: str = ""


class AckBook:
    """Writes answers down, each in one piece, so that a kill leaves a line or none.

    Args:
        folder: the session's folder, where all its consoles write into one file.
    """

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / NAME, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(self, kind: Kind, message_id: str, body: str = "") -> None:
        """Write one answer down."""
        os.write(self._file, msgspec.json.encode(Ack(kind, message_id, body)) + b"\n")


def read_acks(folder: Path) -> list[Ack]:
    """Give every answer that was written down so far."""
    file = folder / NAME
    lines = file.read_bytes().splitlines() if file.exists() else []
    return [msgspec.json.decode(line, type=Ack) for line in lines]
