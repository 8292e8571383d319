"""Timing beside a baseline: both alternate in one run, so that a noisy machine disturbs both alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

ROUNDS = 7


def alternated(baseline: Callable[[], int], subject: Callable[[], int]) -> tuple[float, float]:
    """Time two pieces of work in turn.

    Args:
        baseline: does something, and says how many units of it.
        subject: the same for what is measured.

    Returns:
        The median seconds per unit of each.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for work, taken in zip((baseline, subject), times, strict=True):
            began = time.perf_counter()
            units = work()
            taken.append((time.perf_counter() - began) / units)
    return statistics.median(times[0]), statistics.median(times[1])


def percentiles(times: Sequence[float]) -> tuple[float, float]:
    """Give the median and the 99th percentile of some times."""
    ordered = sorted(times)
    return statistics.median(ordered), ordered[min(len(ordered) - 1, round(len(ordered) * 0.99))]


def report(what: str, baseline: tuple[str, float], subject: tuple[str, float]) -> None:
    """Print one figure beside its baseline, and their ratio."""
    (base_name, base), (name, measured) = baseline, subject
    print(f"{what:<34} {name} {micro(measured):>10}   {base_name} {micro(base):>10}   {measured / base:6.2f}x")


def micro(seconds: float) -> str:
    """Give a time in microseconds."""
    return f"{seconds * 1e6:,.1f} µs"
