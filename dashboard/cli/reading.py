"""Reading a session for people and programs: its ledger, and the whole of it as a document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dashboard.cli.addressing import runs_called
from dashboard.cli.folding import every_record, fold_all
from dashboard.cli.plain.document import document
from dashboard.cli.plain.json_lines import json_line
from dashboard.cli.plain.ledger import UNREAD, ledger_json, ledger_lines
from dashboard.core.projection import Projection
from dashboard.core.records import run_of
from dashboard.core.views import MessageView
from dashboard.journal.reaping import look, readable
from dashboard.journal.store import Store


def mail_lines(folder: Path, agent: str | None, which: str | None, *, as_json: bool) -> Iterator[str]:
    """Give the ledger of a session.

    Args:
        folder: the session's folder; its host is looked at first.
        agent: only the mail of this run or label; ``None`` for all.
        which: ``open``, ``returned``, or ``None`` for all.
        as_json: JSON lines instead of words.

    Raises:
        AddressError: no run of the session is called so.
        JournalError: the journal cannot be read.
    """
    look(folder)
    with readable(folder) as store:
        projection = fold_all(store.records)
        messages = [message for message in projection.messages.values() if _wanted(message, which)]
        if agent is not None:
            messages = _addressed(messages, agent, store)
    yield from ledger_json(messages) if as_json else ledger_lines(messages, projection)


def export_lines(folder: Path, agent: str | None, form: str) -> Iterator[str]:
    """Give a whole session, as it stands.

    Args:
        folder: the session's folder; its host is looked at first.
        agent: only this run, or the runs of this label; ``None`` for all.
        form: ``md``, or ``jsonl``.

    Raises:
        AddressError: no run of the session is called so.
        JournalError: the journal cannot be read.
    """
    look(folder)
    with readable(folder) as store:
        wanted = None if agent is None else {run.run_id for run in runs_called(agent, store.runs())}
        if form == "jsonl":
            for record in every_record(store.records):
                if wanted is None or run_of(record.event) in wanted:
                    yield json_line(record)
            return
        started_at = int(store.meta("started_at") or 0)
        projection: Projection = fold_all(store.records)
    shown = [run for run in projection.tree() if wanted is None or run.run_id in wanted]
    yield from document(folder.name, projection, shown, started_at)


def _wanted(message: MessageView, which: str | None) -> bool:
    match which:
        case "open":
            return message.state.open
        case "returned":
            return message.state in UNREAD
        case _:
            return True


def _addressed(messages: list[MessageView], agent: str, store: Store) -> list[MessageView]:
    """Give the messages of a run, or of a label: also those that still wait for its next run."""
    if agent in store.labels():
        runs = {run.run_id for run in store.runs() if run.label == agent}
        return [message for message in messages if message.run_id in runs or message.to == agent]
    runs = {run.run_id for run in runs_called(agent, store.runs())}
    return [message for message in messages if message.run_id in runs]
