"""How a specialist works: its plan is a generator that is replayed over the history, so that it keeps no state.

A plan reads as a straight line: it yields a turn and gets back what the turn's calls returned. What an operator
wrote meanwhile is followed before the next turn of the plan, in order, each message once.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from dashboard.core.history import Assistant, ToolCall, ToolResult, User
from dashboard.core.sanitize import sanitize_line
from dashboard.host.demo.evidence import CHANGES, ERRORS, Signature, signature_of, signatures
from dashboard.host.demo.instants import usual_year
from dashboard.host.demo.obey import Lead, nearest, read_lead
from dashboard.host.demo.reasoning import consider
from dashboard.host.demo.results import Hit, read_excerpt, read_listing, read_matches
from dashboard.host.demo.rows import Row, change_row, counted, error_row, listed, plain, quote
from dashboard.host.toolbox import shown_name
from dashboard.models.base import ModelRequest
from dashboard.models.scripted import Script, call


@dataclass(frozen=True, slots=True)
class Turn:
    """What a specialist says and asks for in one round. Without calls it is its answer."""

    text: str
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Return:
    """What came back for one call."""

    name: str
    arguments: dict[str, Any]
    content: str
    failed: bool

    @property
    def path(self) -> str:
        """The path that the call was about."""
        return str(self.arguments.get("path", "."))


@dataclass(frozen=True, slots=True)
class Heard:
    """What a turn brought: the returns of its calls in order, and what operators wrote meanwhile."""

    returns: tuple[Return, ...]
    remarks: tuple[str, ...]


_USUAL = frozenset(("list_dir", "grep", "read_file", "subagent", "write_report"))  # replayed once tools are off
Returns = tuple[Return, ...]
Work = Generator[Turn, Heard, None]
Asking = Generator[Turn, Heard, Returns]
Saying = Generator[Turn, Heard, str]


class PlanDropped(Exception):  # noqa: N818 - a turn of the work, not a failure
    """An operator wants something else instead of the rest of the plan."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What following a lead showed.

    Args:
        lead: the operator's lead.
        lines: sentences and rows for the answer.
    """

    lead: Lead
    lines: tuple[str, ...]


class Specialist:
    """The part that every specialist shares: what it was asked, what it knows, and obeying the operator.

    Args:
        task: the first entry of its history.
        tools: the names of the tools on offer.
    """

    def __init__(self, task: str, tools: frozenset[str]) -> None:
        self.task = task
        self.tools = tools
        self.known: list[str] = []
        self.errors: dict[tuple[str, int], Hit] = {}
        self.changes: dict[tuple[str, int], Hit] = {}
        self.complete: dict[str, bool] = {}
        self.counts: dict[tuple[str, str], int] = {}
        self.answered = False
        self.findings: list[Finding] = []
        self.remarks: list[str] = []
        self.dropped = ""
        self._waiting: list[Lead] = []
        self._to_note: list[str] = []

    def work(self) -> Work:
        """The plan, up to the answer."""
        raise NotImplementedError

    def answer(self) -> str:
        """The answer, from what is known so far."""
        raise NotImplementedError

    def whole(self) -> Work:
        """The plan, the answer, and an answer to whatever an operator writes after it."""
        try:
            yield from self.work()
            yield from self.follow("the answer")
        except PlanDropped:
            yield from self.follow("the answer", drop=False)
        while True:
            text = self._noted(self.answer())
            self.answered = True
            heard = yield Turn(text, self.closing())
            self.hear(heard.remarks)
            yield from self.follow("", drop=False)

    def closing(self) -> str:
        """What it thinks before it answers."""
        return "The plan is done. I answer with what the results show and say what they do not."

    def hear(self, remarks: Iterable[str]) -> None:
        """Take in what operators wrote."""
        for remark in remarks:
            lead = read_lead(remark, self.known)
            self.remarks.append(remark)
            (self._waiting if lead.names_something else self._to_note).append(
                lead if lead.names_something else remark  # type: ignore[arg-type]
            )

    def ask(self, title: str, text: str, *calls: ToolCall, reasoning: str = "") -> Asking:
        """Do one turn of the plan, after whatever an operator wants first.

        Args:
            title: what the turn does, for "instead of ...".
            text: what to say.
            calls: what to call.
            reasoning: what to think.

        Raises:
            PlanDropped: an operator wants the rest of the plan dropped.
        """
        yield from self.follow(title)
        heard = yield Turn(self._noted(text), reasoning, calls)
        self.hear(heard.remarks)
        return heard.returns

    def follow(self, title: str, drop: bool = True) -> Work:
        """Look at whatever operators asked for and was not looked at yet.

        Args:
            title: what comes next in the plan, "" after the answer.
            drop: whether a message may drop the rest of the plan.

        Raises:
            PlanDropped: one does.
        """
        dropped = False
        while self._waiting:
            lead = self._waiting.pop(0)
            dropped = dropped or lead.drops
            if lead.drops and title and not self.dropped and drop:
                self.dropped = title
            yield from self._pursue(lead, title)
        if dropped and drop:
            raise PlanDropped

    def offers(self, tool: str) -> bool:
        """Whether a tool may be called."""
        return tool in self.tools

    def take(self, returns: Returns) -> None:
        """Remember the lines that searches for errors and for changes returned, and how many there are."""
        for result in returns:
            pattern = str(result.arguments.get("pattern", ""))
            if result.name == "list_dir" and not result.failed:
                folder = "" if result.path in (".", "") else f"{result.path.rstrip('/')}/"
                names = (f"{folder}{entry.name}" for entry in read_listing(result.content) if entry.readable)
                self.known.extend(name for name in names if name not in self.known)
            if result.name != "grep" or result.failed:
                continue
            matches = read_matches(result.content)
            if pattern == CHANGES:
                self.changes.update({(hit.file, hit.line): hit for hit in matches.hits})
            elif ERRORS in pattern:
                self.errors.update({(hit.file, hit.line): hit for hit in matches.hits})
                for file in {hit.file for hit in matches.hits}:
                    self.complete[file] = self.complete.get(file, False) or (matches.whole and pattern == ERRORS)

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The signatures of all error lines so far."""
        return signatures(self.errors.values(), self.complete, self.counts)

    @property
    def rows(self) -> tuple[Row, ...]:
        """The evidence so far, the errors by count."""
        hits = (*self.errors.values(), *self.changes.values())
        year = usual_year(hit.text for hit in hits)
        changes = sorted(self.changes.values(), key=lambda hit: (hit.file, hit.line))
        found = signatures(hits, self.complete, self.counts) if self.changes else self.signatures
        kept = {(hit.file, signature_of(hit.text)) for hit in self.errors.values()}
        return (
            *(error_row(one) for one in found if (one.file, one.text) in kept),
            *(change_row(hit, year) for hit in changes),
        )

    def _noted(self, text: str) -> str:
        if not self._to_note:
            return text
        notes = " ".join(f"Noted from the operator: {quote(remark, 120)}." for remark in self._to_note)
        self._to_note.clear()
        stays = "what was found stays as it is" if self.answered else "the plan stays"
        return f"{notes} It names no file, folder or word to look for, so {stays}.\n\n{text}"

    def _pursue(self, lead: Lead, title: str) -> Generator[Turn, Heard, None]:
        if not self.offers("grep"):
            line = f"I have no tool to look at files, so {lead.about} was not looked at."
            self.findings.append(Finding(lead, (line,)))
            return
        order = f", instead of {title}" if lead.drops and title else f", before {title}" if title else ""
        text = self._noted(f"The operator asks for {lead.about}: looking there now{order}.")
        words = [re.escape(word) for word in lead.words] or [ERRORS]
        calls = tuple(call("grep", pattern=word, path=path) for path in lead.paths or (".",) for word in words)[:6]
        heard = yield Turn(text, f"The operator wrote {quote(lead.message, 160)}. That comes first.", calls)
        self.hear(heard.remarks)
        lines, closer = self._weigh(lead, heard.returns)
        if closer is not None and self.offers("read_file"):
            start = max(closer.line - 4, 1)
            told = " ".join(line for line in lines if not line.startswith("- "))
            text = f"{told} I read the lines around {closer.cite} and look for changes in that file."
            heard = yield Turn(
                self._noted(text), "One line alone can mislead; its neighbours say what came before.",
                (call("read_file", path=closer.file, start=start, lines=12),
                 call("grep", pattern=CHANGES, path=closer.file, max_matches=60)),
            )  # fmt: skip
            self.hear(heard.remarks)
            self.take(heard.returns)
            lines += self._around(closer, heard.returns)
        self.findings.append(Finding(lead, tuple(lines)))

    def _weigh(self, lead: Lead, returns: Returns) -> tuple[list[str], Hit | None]:
        lines: list[str] = []
        closer: Hit | None = None
        self.take(returns)
        for number, result in enumerate(returns):
            word = lead.words[number % len(lead.words)] if lead.words else ""
            what = quote(word) if word else "the error pattern"
            place = "The folder" if result.path == "." else shown_name(result.path)
            if result.failed:
                lines.append(f"{place}: {sentence(result.content)}{self._close_names(result)}")
                continue
            matches = read_matches(result.content)
            notes = [f"{place}: {sentence(note)}" for note in matches.notes if note.startswith("skipped")]
            if not matches.hits:
                lines += [f"{place}: no line matches {what}.", *notes]
                continue
            head = "" if matches.whole else f", the first {len(matches.hits)} of them listed"
            files = f" in {counted(matches.files, 'file')}" if matches.files > 1 else ""
            verb = "matches" if matches.total == 1 else "match"
            lines.append(f"{place}: {counted(matches.total, 'line')} {verb} {what}{files}{head}.")
            files_whole = {hit.file: matches.whole for hit in matches.hits}
            found = [error_row(one) for one in signatures(matches.hits, files_whole, self.counts)]
            chain = consider(found).chain
            early = (
                chain[0]
                if chain
                else min(found, key=lambda one: (one.at is None, one.at or 0, one.file, one.line))
            )
            shown = [early, *(one for one in found[:3] if one is not early)]
            lines += [str(one) for one in shown]
            if closer is None:
                closer = next(
                    (hit for hit in matches.hits if (hit.file, hit.line) == (early.file, early.line)), None
                )
        return lines, closer

    def _around(self, hit: Hit, returns: Returns) -> list[str]:
        lines = []
        for result in returns:
            if result.name == "read_file" and not result.failed:
                before = [
                    near for near in read_excerpt(result.content) if near.line < hit.line and near.text.strip()
                ]
                lines += (
                    [f"Just before it: {quote(plain(before[-1].text))} ({before[-1].cite})."] if before else []
                )
        chosen = [row for row in self.rows if row.file == hit.file]
        return [*lines, *(str(row) for row in consider(chosen).changes[:4])]

    def _close_names(self, result: Return) -> str:
        close = nearest(result.path, [name for name in self.known if name != result.path])
        return f" Close names here: {listed(close)}." if close else ""


def sentence(text: str, limit: int = 200) -> str:
    """Make what a tool said one sentence, safe to show."""
    return f"{sanitize_line(text, limit).rstrip('.')}."


def script(kind: type[Specialist]) -> Script:
    """Give the script of a specialist: it replays the plan over the history and says its next turn.

    Args:
        kind: the specialist.
    """

    def reply(request: ModelRequest) -> Assistant:
        entries = request.history
        task = next((entry.content for entry in entries if isinstance(entry, User)), "")
        specialist = kind(task, frozenset(tool.name for tool in request.tools) or _USUAL)
        work = specialist.whole()
        turn = next(work)
        first = next((place for place, entry in enumerate(entries) if isinstance(entry, User)), len(entries))
        rest = list(entries[first + 1 :])
        early = [
            entry.content for entry in _before_reply(rest) if isinstance(entry, User) and entry.provenance is None
        ]
        if early:
            specialist = kind(task, specialist.tools)
            specialist.hear(early)
            work = specialist.whole()
            turn = next(work)
        for place, entry in enumerate(rest):
            if not isinstance(entry, Assistant):
                continue
            heard = _heard(entry, rest[place + 1 :])
            if turn.calls and not entry.tool_calls:
                specialist.hear(heard.remarks)  # cut short, or told to wrap up: this turn is still to be done
            else:
                turn = work.send(heard)
        if turn.calls and not request.tools:
            return Assistant(specialist.answer(), "No tools are on offer any more, so I answer with what I have.")
        return Assistant(turn.text, turn.reasoning, turn.calls)

    return reply


def _before_reply(entries: list[Any]) -> list[Any]:
    place = next((place for place, entry in enumerate(entries) if isinstance(entry, Assistant)), len(entries))
    return entries[:place]


def _heard(entry: Assistant, after: list[Any]) -> Heard:
    until = _before_reply(after)
    results = {entry.call_id: entry for entry in until if isinstance(entry, ToolResult)}
    returns = []
    for asked in entry.tool_calls:
        result = results.get(asked.id)
        content = result.content if result else "no result"
        returns.append(Return(asked.name, _arguments(asked), content, result is None or result.is_error))
    remarks = tuple(entry.content for entry in until if isinstance(entry, User) and entry.provenance is None)
    return Heard(tuple(returns), remarks)


def _arguments(asked: ToolCall) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(asked.arguments)
    except msgspec.DecodeError:
        return {}
    return value if isinstance(value, dict) else {}
