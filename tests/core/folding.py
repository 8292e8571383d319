"""Events as a test writes them, and what a projection makes of them."""

from __future__ import annotations

from dashboard.core import events as e
from dashboard.core.history import Assistant, System, ToolResult, User
from dashboard.core.messages import Lane, Sender, SenderKind
from dashboard.core.projection import Projection
from dashboard.core.records import Record
from dashboard.core.transcript import ApprovalEntry, MessageEntry, TextEntry, ToolEntry

ANA = Sender(SenderKind.OPERATOR, "ana")


def fold(*events: e.KnownEvent | e.Unknown) -> Projection:
    projection = Projection()
    projection.fold(Record(seq, seq * 1_000_000, event) for seq, event in enumerate(events, 1))
    return projection


def start(run_id: str, label: str = "main", ordinal: int = 1, parent: str | None = None) -> e.RunStarted:
    return e.RunStarted(
        run_id=run_id, label=label, ordinal=ordinal, task="t", max_iterations=10, parent_run_id=parent
    )


def queued(message_id: str, run_id: str | None = "r", body: str = "hello") -> e.MessageQueued:
    return e.MessageQueued(
        message_id=message_id, to="main", body=body, lane=Lane.NEXT_STEP, wake=True, sender=ANA, composed_at=5,
        run_id=run_id,
    )  # fmt: skip


def called(name: str = "shell", call_id: str = "c1", run_id: str = "r") -> e.ToolCalled:
    return e.ToolCalled(run_id=run_id, round=1, tool_call_id=call_id, name=name, arguments="{}")


def asked(approval_id: str = "a1", call_id: str = "c1", run_id: str = "r") -> e.ApprovalRequested:
    return e.ApprovalRequested(
        run_id=run_id, approval_id=approval_id, tool_call_id=call_id, name="shell", arguments='{"command":"ls"}'
    )


def answered(
    answer: e.ApprovalAnswer, approval_id: str = "a1", by: str = "", reason: str = ""
) -> e.ApprovalAnswered:
    return e.ApprovalAnswered(run_id="r", approval_id=approval_id, answer=answer, by=by, reason=reason)


def said(run_id: str, index: int, entry: Assistant | User | System | ToolResult) -> e.HistoryAppended:
    return e.HistoryAppended(run_id=run_id, index=index, entry=entry)


def shown(projection: Projection, run_id: str = "r") -> list[tuple[str, str]]:
    kinds = []
    for entry in projection.runs[run_id].entries:
        match entry:
            case TextEntry():
                kinds.append((str(entry.kind), entry.text))
            case ToolEntry():
                kinds.append((entry.name, entry.result if entry.result is not None else "…"))
            case ApprovalEntry():
                kinds.append(("approval", str(entry.answer or "…")))
            case MessageEntry():
                kinds.append(("message", entry.text))
    return kinds
