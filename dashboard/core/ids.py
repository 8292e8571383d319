"""Ids that sort by the time they were made: 48 bits of milliseconds, then 80 bits of entropy (as in ULID)."""

from __future__ import annotations

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: nothing that reads as something else
ENTROPY_BYTES = 10


def sortable_id(prefix: str, at: int, entropy: bytes) -> str:
    """Make an id that is unique, and sorts by time among ids of its prefix.

    Args:
        prefix: what the id names, such as ``run`` or ``msg``.
        at: the instant, in microseconds since the epoch (UTC), 0 or later.
        entropy: ``ENTROPY_BYTES`` random bytes; the caller brings them, so that this stays pure.

    Returns:
        ``<prefix>_`` and 26 characters of Crockford's base 32.
    """
    if len(entropy) != ENTROPY_BYTES:
        raise ValueError(f"entropy must be {ENTROPY_BYTES} bytes, got {len(entropy)}")
    number = (at // 1000) << 80 | int.from_bytes(entropy)
    digits = [_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5)]
    return f"{prefix}_{''.join(digits)}"
