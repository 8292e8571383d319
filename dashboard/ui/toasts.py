"""What a fold brought that an operator should be told at once, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from dashboard.core.changes import Changes, Refused
from dashboard.core.deeds import deed
from dashboard.core.events import NoticeLevel
from dashboard.core.views import RunView


def toasts(
    changes: Changes, runs: Mapping[str, RunView], operator: str, is_news: Callable[[int, int], bool]
) -> Iterator[tuple[str, str]]:
    """Give each text with its severity: ``error`` or ``warning``.

    Args:
        changes: what the fold brought.
        runs: the runs by id.
        operator: who looks.
        is_news: whether what has this seq and this instant (microseconds since the epoch, UTC) is new to them.
    """
    for told in changes.notices:
        notice = told.event
        if notice.level is not NoticeLevel.NOTE and is_news(told.seq, told.at):
            run = runs.get(notice.run_id or "")
            who = f"{run.name}: " if run else ""
            yield who + notice.text, "error" if notice.level is NoticeLevel.ERROR else "warning"
    for failed in changes.failed_turns:
        if is_news(failed.seq, failed.at):
            run = runs.get(failed.event.run_id)
            yield f"{run.name if run else 'a run'}: the turn failed: {failed.event.error}", "error"
    for refused in changes.refused:
        if is_news(refused.answer.seq, refused.answer.at):
            yield refusal_words(refused, runs, operator), "warning"


def refusal_words(refused: Refused, runs: Mapping[str, RunView], operator: str) -> str:
    """Say what the host was asked for and did not do, and why.

    Args:
        refused: the request and the answer.
        runs: the runs by id.
        operator: who looks; a request of anyone else's is said to be theirs.
    """
    asked, reason = refused.asked, refused.answer.event.reason
    if asked is None:
        return f"The host refused a request: {reason}"
    run = runs.get(asked.run_id or "")
    asked_for = deed(asked.action, run.name if run else "a run")
    whose = "" if asked.by == operator else f", which {asked.by or 'somebody'} asked for"
    return f"The host did not {asked_for}{whose}: {reason}"
