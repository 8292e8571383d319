"""Turns lines into evidence: signatures of errors, how often and since when, and what begins together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from dashboard.host.demo.instants import parse_instant, strip_instant, usual_year
from dashboard.host.demo.results import Hit, uncut

ERRORS = (
    r"(?<![\w-])(?:error|fatal|critical|panic|severe|emerg|traceback|[a-z]\w*(?:error|exception)|exception)(?![\w-])"
    r"|\btime[ds]?[ -]?out\b|\brefused\b|exhausted|\bdenied\b|(?<![\w-])fail(?:ed|ure|ing|s)?(?![\w-])"
    r'|too many|unreachable|" 5\d\d '
)
CHANGES = (
    r"\b(?:deploy|rollout|rolled|release[ds]?|upgrade[ds]?|downgrade|install(?:ed)?|reload(?:ed)?|restart(?:ed)?"
    r"|migrat\w+|rollback|removed?|settings|config\w*)\b"
)
WINDOW = timedelta(seconds=60)
BURST = 3  # so many within the window are a beginning; fewer are a trickle
_LIMIT = 160

_ACCESS = re.compile(r'"(?P<verb>[A-Z]{3,8}) (?P<path>[^ "?]*)[^"]*" (?P<status>[1-5]\d\d) ', re.ASCII)
_NOISE = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b", re.ASCII), "<ip>"),
    (re.compile(r"\b(?:0x[0-9a-f]+|(?=[a-f]*\d)[0-9a-f]{8,})\b", re.IGNORECASE | re.ASCII), "<id>"),
    (re.compile(r"(?:(?<=[\s=:(\[,])|^)/[\w.%/-]*\d[\w.%/-]*", re.ASCII), "<path>"),
    (re.compile(r"\d+(?:[.,]\d+)*"), "<n>"),
)
_KEYED = re.compile(r"\b(?:trace|trace_id|request_id|req|id|span|path)=\S+")
_SPACES = re.compile(r"\s+")
_HOLE = re.compile(r"<(?:id|ip|n|path)>")


@dataclass(frozen=True, slots=True)
class Signature:
    """One kind of error line in one file.

    Args:
        file: where it is.
        text: the line without what varies.
        count: how many lines of it are known.
        exact: whether that is all of them; else it is at least so many.
        first: the first one.
        onset: the first of a burst (three within a minute), or ``None``.
        first_at: the instant of the first one.
        onset_at: the instant of the onset.
    """

    file: str
    text: str
    count: int
    exact: bool
    first: Hit
    onset: Hit | None
    first_at: datetime | None
    onset_at: datetime | None

    @property
    def start(self) -> Hit:
        """The line to cite: where the burst begins, else the first one."""
        return self.onset or self.first

    @property
    def start_at(self) -> datetime | None:
        """The instant of ``start``."""
        return self.onset_at if self.onset else self.first_at


@lru_cache(maxsize=8192)
def signature_of(line: str) -> str:
    """Give what a line says without its time, ids, addresses and numbers, at most 160 characters."""
    if access := _ACCESS.search(line):
        path = _NOISE[0][0].sub("<id>", access["path"])
        return f"HTTP {access['status']} to {access['verb']} requests" if path else f"HTTP {access['status']}"
    text = _KEYED.sub("", strip_instant(uncut(line)))
    for form, mark in _NOISE:
        text = form.sub(mark, text)
    return _SPACES.sub(" ", text).strip()[:_LIMIT].strip() or "(nothing but a time)"


def phrase_of(signature: str, line: str) -> str:
    """Give a regular expression for the lines of a signature, or "" where it has too few fixed words for one.

    Args:
        signature: as ``signature_of`` gives it.
        line: one of its lines.
    """
    if access := _ACCESS.search(line):
        return f'"{access["verb"]} [^"]*" {access["status"]} '
    pieces = [piece.split() for piece in _HOLE.split(signature)]
    fixed = [r"\s+".join(map(re.escape, words)) for words in pieces if words]
    for pattern in (".*".join(fixed[:5]), max(fixed, key=len, default="")):
        if len(pattern) >= 8 and len(pattern) <= 400 and re.search(pattern, line):
            return pattern
    return ""


def signatures(
    hits: Iterable[Hit],
    whole: Mapping[str, bool] | None = None,
    counts: Mapping[tuple[str, str], int] | None = None,
) -> tuple[Signature, ...]:
    """Group error lines into signatures, the most frequent first, then the earliest.

    Args:
        hits: lines of any files, in any order, each once or more.
        whole: by file, whether these are all its matching lines.
        counts: by file and signature, a count that was taken for itself.
    """
    lines = sorted({(hit.file, hit.line): hit for hit in hits}.values(), key=lambda hit: (hit.file, hit.line))
    year = usual_year(hit.text for hit in lines)
    groups: dict[tuple[str, str], list[Hit]] = {}
    for hit in lines:
        groups.setdefault((hit.file, signature_of(hit.text)), []).append(hit)
    found = []
    for (file, text), group in groups.items():
        times = [parse_instant(hit.text, year) for hit in group]
        onset = _onset(times)
        counted = (counts or {}).get((file, text))
        found.append(
            Signature(
                file,
                text,
                max(counted or 0, len(group)),
                counted is not None or (whole or {}).get(file, False),
                group[0],
                None if onset is None else group[onset],
                times[0],
                None if onset is None else times[onset],
            )
        )
    return tuple(sorted(found, key=rank))


def rank(signature: Signature) -> tuple[int, float, str, int]:
    """Order signatures: the most frequent first, then the earliest."""
    at = signature.start_at
    return -signature.count, at.timestamp() if at else float("inf"), signature.file, signature.first.line


def _onset(times: Sequence[datetime | None]) -> int | None:
    known = [(at, place) for place, at in enumerate(times) if at is not None]
    span = BURST - 1
    for (at, place), (later, _) in zip(known, known[span:], strict=False):
        if timedelta() <= later - at <= WINDOW:
            return place
    return None
