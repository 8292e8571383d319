"""The writer: makes one report of the answers it was given, and writes it into the session's folder."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from dashboard.core.history import ToolCall
from dashboard.core.sanitize import sanitize, sanitize_line
from dashboard.host.demo.desk import PlanDropped, Returns, Saying, Specialist, Work, sentence
from dashboard.host.demo.reasoning import Case, conclusion, confidence, consider, named_setting
from dashboard.host.demo.results import read_excerpt
from dashboard.host.demo.rows import Kind, Row, counted, plain, quote, read_rows
from dashboard.host.toolbox import shown_name
from dashboard.models.scripted import call

REPORT = "incident-report"
_ANSWER = re.compile(r"Answer of (?P<who>[\w.#-]{1,80}):")
_END = "End of the answer."
_LEAD = re.compile(r"Operator's lead (?P<quote>\".*\"):")
_SHOWN = 14


class Writer(Specialist):
    """Writes the incident report from the answers in its task."""

    def __init__(self, task: str, tools: frozenset[str]) -> None:
        super().__init__(task, tools)
        self.answers = _answers(task)
        self.given = read_rows(task)
        self.case = consider(self.given)
        self.known = list(dict.fromkeys(row.file for row in self.given))
        self.checked = ""
        self.written = ""
        self.reported = 0

    def work(self) -> Work:
        """Check the line that carries the summary, then write; the report is never dropped."""
        text = f"I have {counted(len(self.answers), 'answer')} with {counted(len(self.given), 'cited line')} "
        text += f"from {counted(len(self.known), 'file')}."
        try:
            text = yield from self._check(text)
        except PlanDropped:
            text = "The check is left out at the operator's wish."
        yield from self.follow("writing the report", drop=False)
        if not self.offers("write_report"):
            return
        said = f"{text} Now I put all answers into one order of time and write the report: summary, timeline, "
        said += "evidence for each file, and what stays open."
        self.reported = len(self.findings)
        returns = yield from self.ask(
            "writing the report", said, _writing(self.report()),
            reasoning="Only what is cited goes in. What nobody looked at goes under open questions.",
        )  # fmt: skip
        self._wrote(returns)

    def answer(self) -> str:
        """Where the report is, what it says, and what an operator's leads showed."""
        case = consider((*self.given, *self.rows))
        lines = [
            self.written or "The report was not written.",
            conclusion(case),
            f"Confidence: {confidence(case)}.",
        ]
        for place, finding in enumerate(self.findings):
            lines += ["", f"Operator's lead {quote(finding.lead.message, 200)}:", *finding.lines]
            if self.written and place >= self.reported:
                lines.append("This came after the report was written, so it is not in it.")
        return "\n".join(lines)

    def _check(self, text: str) -> Saying:
        errors = [row for row in self.given if row.kind is Kind.ERRORS]
        pivot = (self.case.changes or self.case.chain or tuple(errors[:1]) or (None,))[0]
        if pivot is None or not self.offers("read_file"):
            return text
        said = f"{text} The summary will rest on {pivot.cite}, so I read that line myself before I write it down."
        returns = yield from self.ask(
            f"reading {pivot.cite}", said, call("read_file", path=pivot.file, start=pivot.line, lines=1),
            reasoning="What the summary rests on has to stand in the file, word for word.",
        )  # fmt: skip
        hits = [hit for result in returns for hit in read_excerpt(result.content)]
        same = bool(hits) and plain(hits[0].text) == pivot.text
        self.checked = f"{pivot.cite} {'was read again and says so' if same else 'could not be confirmed'}."
        return self.checked

    def report(self) -> str:
        """The report, in Markdown, from the answers and from what an operator's leads showed here."""
        rows = (*self.given, *self.rows)
        case = consider(rows)
        parts = [
            "# Incident report",
            "",
            "## Summary",
            "",
            *_cause(case),
            conclusion(case),
            "",
            f"Confidence: {confidence(case)}.",
        ]
        if self.checked:
            parts.append(f"The line that this rests on: {self.checked}")
        parts += ["", "## Timeline (UTC)", "", *_timeline(rows, case)]
        parts += ["", "## Evidence by file", "", *_by_file(rows)]
        parts += self._leads()
        parts += ["", "## Open questions", "", *(f"- {line}" for line in self._open(case, rows))]
        return "\n".join(parts) + "\n"

    def _leads(self) -> list[str]:
        found = [(who, title, lines) for who, text in self.answers for title, lines in _told_leads(text)]
        found += [("the writer", quote(one.lead.message, 200), list(one.lines)) for one in self.findings]
        if not found:
            return []
        parts = ["", "## Operator leads"]
        for who, title, lines in found:
            parts += ["", f"### {_safe(title)} (to {who})", ""]
            parts += [_bullet(line) for line in lines]
        return parts

    def _open(self, case: Case, rows: Iterable[Row]) -> list[str]:
        questions = []
        if case.first is None:
            questions.append(
                "Nothing begins suddenly in what was looked at: is there an incident in these files at all?"
            )
        elif not case.changes:
            questions.append(
                "What set it off? No change stands in the ten minutes before, in the files that were read."
            )
        else:
            change = case.changes[0]
            questions.append(
                f"Only the order in time speaks for {change.cite} as the cause: does undoing it end the errors?"
            )
        far = sorted(case.apart, key=lambda row: -row.count)[:3]
        for row in far:
            when = "is there from the first lines of its file on" if row.line <= 3 else "begins at another time"
            questions.append(f"{row.cite} ({row.times}) {when}; it was taken as a matter of its own.")
        if any(not row.exact for row in rows):
            questions.append('Counts with "at least" are of listed lines only.')
        for _, text in self.answers:
            for line in text.split("\n"):
                if line.startswith(("Not searched: ", "Dropped at the operator's wish: ")):
                    questions.append(_safe(line))
                elif line.startswith("- ") and "skipped" in line and " | " not in line:
                    questions.append(_safe(line[2:]))
        return questions

    def _wrote(self, returns: Returns) -> None:
        for result in returns:
            if result.name == "write_report":
                told = sentence(result.content)
                self.written = f"The report is in {told.removeprefix('wrote ')}"
                if result.failed:
                    self.written = f"The report was not written: {told}"


def _writing(text: str) -> ToolCall:
    return ToolCall("", "write_report", msgspec.json.encode({"name": REPORT, "text": text}).decode())


def _answers(task: str) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    who, lines = "", []  # type: tuple[str, list[str]]
    for line in task.split("\n"):
        if not who and (match := _ANSWER.fullmatch(line)):
            who, lines = match["who"], []
        elif who and line == _END:
            found.append((who, "\n".join(lines)))
            who = ""
        elif who:
            lines.append(line)
    return tuple(found)


def _told_leads(text: str) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    inside = False
    for line in text.split("\n"):
        if match := _LEAD.fullmatch(line):
            found.append((match["quote"], []))
            inside = True
        elif not line:
            inside = False
        elif inside:
            found[-1][1].append(line)
    return found


def _timeline(rows: Iterable[Row], case: Case) -> list[str]:
    chosen = {(row.file, row.line): row for row in (*case.changes, *case.chain)}
    errors = [row for row in rows if row.at and row.kind is Kind.ERRORS]
    for row in sorted(errors, key=lambda row: -row.count):
        if len(chosen) < _SHOWN:
            chosen.setdefault((row.file, row.line), row)
    timed = sorted(((row.at, row.cite, row) for row in chosen.values() if row.at), key=lambda item: item[:2])
    if not timed:
        return ["No line that was found has a timestamp, so there is no timeline."]
    return [
        f"- {str(row).split(' | ')[1]} `{row.cite}` {_mark(row, case)}{_code(row.text)}" for _, _, row in timed
    ]


def _mark(row: Row, case: Case) -> str:
    if row.kind is Kind.CHANGE:
        return "change: "
    if row == case.first:
        return f"**first burst** ({row.times}): "
    return f"{'begins' if row.sudden else 'first seen'} ({row.times}): "


def _by_file(rows: Iterable[Row]) -> list[str]:
    files: dict[str, list[Row]] = {}
    for row in rows:
        if row not in files.setdefault(row.file, []):
            files[row.file].append(row)
    if not files:
        return ["No line was cited."]
    parts: list[str] = []
    for file in sorted(files):
        if parts:
            parts.append("")
        parts += [f"### {_safe(shown_name(file))}", ""]
        for row in sorted(files[file], key=lambda row: row.line):
            what = {Kind.ERRORS: row.times, Kind.CHANGE: "change", Kind.SETTING: "setting"}[row.kind]
            parts.append(f"- `{row.cite}` {what}: {_code(row.text)}")
    return parts


def _cause(case: Case) -> list[str]:
    if case.first is None or not case.changes:
        return []
    change, setting = case.changes[0], named_setting(case)
    which = f", which brought {setting.text}, now in {setting.cite}" if setting else ""
    return [f"**Likely cause:** the change at {change.clock} ({change.cite}){which}.", ""]


def _bullet(line: str) -> str:
    found = read_rows(line)
    if found:
        what = found[0].times if found[0].kind is Kind.ERRORS else found[0].kind
        return f"- `{found[0].cite}` {what}: {_code(found[0].text)}"
    return f"- {_safe(line)}"


def _code(text: str) -> str:
    shown = sanitize_line(text.replace("`", "'"), 240)
    return f"`{shown}`" if shown.strip() else "(empty)"


def _safe(text: str) -> str:
    return sanitize(text).replace("<", "&lt;")
