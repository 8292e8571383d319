"""Reads the timestamp of a log line, in the formats that services really write."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
_ISO = re.compile(
    r"(?P<year>\d{4})[-/](?P<month>\d\d)[-/](?P<day>\d\d)[T ](?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
    r"(?:[.,](?P<fraction>\d{1,9}))?\s?(?P<zone>Z\b|UTC\b|[+-]\d\d:?\d\d\b)?",
    re.ASCII,
)
_ACCESS = re.compile(
    r"\[(?P<day>\d\d)/(?P<name>[A-Za-z]{3})/(?P<year>\d{4}):(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
    r"(?:\.(?P<fraction>\d{1,9}))?(?: (?P<zone>[+-]\d{4}))?\]",
    re.ASCII,
)
_SYSLOG = re.compile(
    r"^(?:<\d{1,3}>)?(?P<name>[A-Z][a-z]{2}) {1,2}(?P<day>\d{1,2}) "
    r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?(?P<zone>)",
    re.ASCII,
)
_LEAD = 200  # a timestamp stands near the start of its line
NO_YEAR = 1904  # a leap year, so that every date of a year-less format exists


def strip_instant(line: str) -> str:
    """Give the line without its timestamp, when it has one near its start."""
    head = line[:_LEAD]
    for form in (_ISO, _SYSLOG, _ACCESS):
        if found := form.search(head):
            return f"{line[: found.start()]}{line[found.end() :]}"
    return line


@lru_cache(maxsize=8192)
def parse_instant(line: str, year: int | None = None) -> datetime | None:
    """Read the instant of a log line, in UTC; a time without a zone counts as UTC.

    Args:
        line: the line.
        year: the year for formats that have none; without it, ``NO_YEAR``.

    Returns:
        The instant, or ``None`` where there is none, or none that a calendar has.
    """
    head = line[:_LEAD]
    found = _ISO.search(head) or _SYSLOG.search(head) or _ACCESS.search(head)
    if found is None:
        return None
    part = found.groupdict()
    month = int(part["month"]) if "month" in part else _MONTHS.get(part["name"].lower(), 0)
    fraction = int((part["fraction"] or "0").ljust(6, "0")[:6])
    try:
        at = datetime(
            int(part["year"]) if "year" in part else year or NO_YEAR,
            month, int(part["day"]), int(part["hour"]), int(part["minute"]), int(part["second"]), fraction,
            _zone(part["zone"]),
        )  # fmt: skip
        return at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def usual_year(lines: Iterable[str]) -> int | None:
    """Give the year that most of the lines carry, or ``None`` if no line carries one."""
    years: Counter[int] = Counter()
    for line in lines:
        head = line[:_LEAD]
        if found := _ISO.search(head) or _ACCESS.search(head):
            years[int(found["year"])] += 1
    return years.most_common(1)[0][0] if years else None


def show_instant(at: datetime) -> str:
    """Write an instant as ISO 8601 in UTC, to the millisecond; without a year that was not in the file."""
    text = f"{at:%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"
    return text if at.year == NO_YEAR else f"{at.year:04d}-{text}"


def _zone(text: str | None) -> timezone:
    if not text or text[0] not in "+-":
        return UTC
    hours, minutes = int(text[1:3]), int(text[-2:])
    shift = timedelta(hours=hours, minutes=minutes)
    return timezone(shift if text[0] == "+" else -shift)
