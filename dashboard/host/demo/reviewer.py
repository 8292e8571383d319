"""The reviewer: reads each cited line again, and looks at what else happens in the minute of the finding."""

from __future__ import annotations

from datetime import datetime, timedelta

from dashboard.host.demo.desk import Specialist, Work, sentence
from dashboard.host.demo.evidence import ERRORS, WINDOW
from dashboard.host.demo.results import Hit, read_excerpt, read_matches
from dashboard.host.demo.rows import Kind, Row, counted, listed, plain, quote, read_rows
from dashboard.host.toolbox import shown_name
from dashboard.models.scripted import call

_MOST = 9


class Reviewer(Specialist):
    """Checks the rows of a claim against the files."""

    def __init__(self, task: str, tools: frozenset[str]) -> None:
        super().__init__(task, tools)
        self.claims = read_rows(task)[:_MOST]
        self.known = list(dict.fromkeys(row.file for row in self.claims))
        self.seen: dict[tuple[str, int], Hit] = {}
        self.missing: dict[tuple[str, int], str] = {}
        self.since = ""
        self.before: dict[str, int] = {}
        self.after: dict[str, int] = {}

    def work(self) -> Work:
        """Read every cited line, then search the minute of the beginning."""
        if not self.claims:
            return
        text = (
            f"I check {counted(len(self.claims), 'citation')} in {listed(self.known)}: each line is read again, "
        )
        text += "as it stands in the file, before I look at what happens around it."
        returns = yield from self.ask(
            "reading the cited lines", text,
            *(call("read_file", path=row.file, start=row.line, lines=1) for row in self.claims),
            reasoning="A citation counts only if the line says it. I read the lines, not the claim.",
        )  # fmt: skip
        for row, result in zip(self.claims, returns, strict=False):
            if result.failed:
                self.missing[row.file, row.line] = sentence(result.content)
            self.seen.update({(hit.file, hit.line): hit for hit in read_excerpt(result.content)})
        start = min((row.at for row in self.claims if row.at and row.kind is Kind.ERRORS), default=None)
        if start is None:
            return
        good = sum(self._holds(row) for row in self.claims)
        self.since = f"{start:%H:%M:%S}"
        text = f"{good} of {len(self.claims)} lines say what is claimed. The errors are said to "
        text += f"begin at {start:%H:%M:%S}, so I count the errors of every file in the minutes before and after."
        returns = yield from self.ask(
            "comparing the minutes around the beginning", text,
            *(call("grep", pattern=_minute(begin), path=".", max_matches=1) for begin in (start - WINDOW, start)),
            reasoning="If it is one incident, other files rise in the same minute; noise is there before as well.",
        )  # fmt: skip
        for counts, result in zip((self.before, self.after), returns, strict=False):
            matches = read_matches(result.content)
            counts.update(matches.counts or [(hit.file, matches.total) for hit in matches.hits[:1]])

    def answer(self) -> str:
        """A verdict for each citation, and what else moves in that minute."""
        if not self.claims:
            return "\n".join(
                ["There is no citation in what I was given, so there is nothing to check.", *self._leads()]
            )
        lines = [f"Checked {counted(len(self.claims), 'citation')}:"]
        lines += [f"* {row.cite} {self._verdict(row)}" for row in self.claims]
        good = sum(self._holds(row) for row in self.claims)
        rising = [name for name, number in self.after.items() if number > 2 * self.before.get(name, 0) + 2]
        if self.since:
            both = sorted({*self.before, *self.after})[:10]
            told = [f"{shown_name(name)} {self.before.get(name, 0)} -> {self.after.get(name, 0)}" for name in both]
            lines.append(
                f"Error lines, minute before {self.since} -> minute after: {', '.join(told) or 'none at all'}."
            )
        whole = good == len(self.claims)
        wide = len(rising) > 1
        verdict = "the citations hold" if whole else f"{good} of {len(self.claims)} citations hold"
        together = f"and {listed(rising)} rise together in that minute"
        order = together if wide else "but no two files rise together in that minute"
        lines.append(
            f"Verdict: {verdict}, {order}. Order in time is shown; that one causes the other is not proved."
        )
        return "\n".join([*lines, *self._leads()])

    def _holds(self, row: Row) -> bool:
        hit = self.seen.get((row.file, row.line))
        if hit is None:
            return False
        if row.kind is Kind.SETTING:
            key, _, values = row.text.partition(": ")
            after = values.partition(" -> ")[2].partition(" (")[0]
            return key.rsplit(".", 1)[-1] in hit.text and (
                after in hit.text or after in ("absent", "(hidden)", "empty")
            )
        return plain(hit.text) == row.text

    def _verdict(self, row: Row) -> str:
        if self._holds(row):
            return f"holds: {quote(row.text, 90)}"
        if why := self.missing.get((row.file, row.line)):
            return f"does not hold: {why}"
        hit = self.seen.get((row.file, row.line))
        return f"does not hold: the line says {quote(plain(hit.text), 90)}" if hit else "was not read"

    def _leads(self) -> list[str]:
        lines = []
        for finding in self.findings:
            lines += ["", f"Operator's lead {quote(finding.lead.message, 200)}:", *finding.lines]
        return lines


def _minute(begin: datetime) -> str:
    """Give a regular expression for error lines in the minute from this second on, whatever the date's format."""
    seconds = [begin + timedelta(seconds=step) for step in range(60)]
    minutes: dict[str, list[str]] = {}
    for at in seconds:
        minutes.setdefault(f"{at:%H:%M}", []).append(f"{at:%S}")
    times = "|".join(f"{minute}:(?:{'|'.join(these)})" for minute, these in minutes.items())
    return rf"^.{{0,80}}?\b(?:{times})\b.*(?:{ERRORS})"
