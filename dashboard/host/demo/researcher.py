"""The researcher: searches its files for errors, ranks what it finds, looks at what came before, and concludes."""

from __future__ import annotations

import re

from dashboard.host.demo.desk import Returns, Saying, Specialist, Work, sentence
from dashboard.host.demo.evidence import CHANGES, ERRORS, phrase_of
from dashboard.host.demo.reasoning import conclusion, confidence, consider, told_settings
from dashboard.host.demo.results import read_excerpt, read_matches, unprinted
from dashboard.host.demo.rows import Kind, Row, counted, error_row, listed, plain, quote
from dashboard.host.demo.settings import Difference, differences, is_settings, versions
from dashboard.host.toolbox import shown_name
from dashboard.models.scripted import call

REVIEW = "have a reviewer check your finding"
_FILE = re.compile(r"- (?P<name>.+?)(?: \((?P<size>[0-9,]{1,20}) bytes(?:, [0-9,]{1,20} lines?)?\))?")
_ALSO = "Also there, not yours: "
_TELLTALE = re.compile(
    r"deploy|release|rollout|change|audit|history|dpkg|apt|install|upgrade|migrat", re.IGNORECASE
)
_MOST = 12
_THOUGHTS = (
    "Count before reading: the largest file first. What is loudest there may be a symptom only.",
    "One file is one view. The next one shows whether it moves at the same time, or before.",
    "The quieter files last, all at once: the first sign of trouble is often a few lines in one of them.",
)


class Researcher(Specialist):
    """Works on the files that its task lists, one a line."""

    def __init__(self, task: str, tools: frozenset[str]) -> None:
        super().__init__(task, tools)
        self.files: list[str] = []
        for line in task.split("\n"):
            if found := _FILE.fullmatch(line):
                self.files.append(unprinted(found["name"]))
            elif line.startswith(_ALSO):
                self.known += [unprinted(name) for name in line.removeprefix(_ALSO).split(", ") if name]
        self.known += self.files
        self.searched: list[str] = []
        self.troubles: list[str] = []
        self.differences: list[Difference] = []
        self.compared: list[str] = []
        self.review = ""

    def work(self) -> Work:
        """Search, narrow, look at changes and at the beginning, have it checked."""
        if not self.files:
            yield from self._look_around()
        logs = [name for name in self.files if not is_settings(name)][:_MOST]
        said = f"I have {counted(len(self.files), 'file')}: {listed(self.files)}."
        for batch in (logs[:1], logs[1:2], logs[2:]):
            if batch:
                said = yield from self._search(batch, said)
        said = yield from self._narrow(said)
        said = yield from self._changes(said)
        said = yield from self._beginning(said)
        if REVIEW in self.task and self.offers("subagent"):
            yield from self._review(said)

    def answer(self) -> str:
        """What was found: a conclusion, its evidence as rows, and what an operator's leads showed."""
        rows = self._evidence()
        case = consider(rows)
        leads = (path for finding in self.findings for path in finding.lead.paths)
        looked = listed(dict.fromkeys((*self.searched, *self.compared, *leads))) or "no file"
        parts = [f"Findings for {looked}.", "", conclusion(case), f"Confidence: {confidence(case)}."]
        errors = [row for row in rows if row.kind is Kind.ERRORS]
        parts += _section("Errors, by count", self._told(errors, case.chain))
        parts += _section("Changes before", case.changes[:8])
        parts += _section("Settings that differ", case.settings[:8])
        parts += _section("Review", self.review.split("\n") if self.review else ())
        for finding in self.findings:
            parts += _section(f"Operator's lead {quote(finding.lead.message, 200)}", finding.lines)
        if self.dropped:
            parts += ["", f"Dropped at the operator's wish: {self.dropped}, and what came after it."]
        missed = [name for name in self.files if name not in self.searched and not is_settings(name)]
        if missed:
            parts += ["", f"Not searched: {listed(missed)}."]
        parts += _section("Could not be used", [f"- {trouble}" for trouble in self.troubles[:8]])
        return "\n".join(parts)

    def _look_around(self) -> Work:
        text = "My task names no files, so I first look at what the folder holds and take the text files in it."
        returns = yield from self.ask("listing the folder", text, call("list_dir", path="."))
        self.take(returns)
        self.files = self.known[:8]

    def _search(self, batch: list[str], said: str) -> Saying:
        names = listed(batch)
        text = f"{said} I search {names} for errors, timeouts, refusals and exhaustion."
        returns = yield from self.ask(
            f"searching {names}", text, *(call("grep", pattern=ERRORS, path=name) for name in batch),
            reasoning=_THOUGHTS[min(len(self.searched), len(_THOUGHTS) - 1)],
        )  # fmt: skip
        self.take(returns)
        told = [self._result(result.path, returns, place) for place, result in enumerate(returns)]
        return " ".join(told[:4])

    def _result(self, name: str, returns: Returns, place: int) -> str:
        result = returns[place]
        if result.failed:
            self.troubles.append(sentence(result.content))
            return f"{sentence(result.content)}"
        self.searched.append(name)
        matches = read_matches(result.content)
        self.troubles += [sentence(note) for note in matches.notes if note.startswith(("skipped", "stopped"))]
        own = [error_row(one) for one in self.signatures if one.file == name]
        if not own:
            return f"{shown_name(name)}: no line matches."
        top = own[0]
        shown = "" if matches.whole else f" ({len(matches.hits)} listed)"
        since = f", from {top.clock}" if top.at else ""
        loud = f"most often {quote(top.text, 70)}{since} ({top.cite})"
        return f"{shown_name(name)}: {counted(matches.total, 'line')}{shown}, {loud}."

    def _narrow(self, said: str) -> Saying:
        """Count the loud signatures of files with more matches than were listed, and look past them."""
        calls, asked = [], []
        for name in [name for name in self.searched if self.complete.get(name) is False][:3]:
            loud = [(one, phrase_of(one.text, one.first.text)) for one in self.signatures if one.file == name]
            loud = [(one, phrase) for one, phrase in loud[:2] if phrase and one.count > 9]
            for one, phrase in loud:
                asked.append((name, one.text))
                calls.append(call("grep", pattern=phrase, path=name, max_matches=1))
            if loud:
                rest = f"^(?!.*(?:{'|'.join(phrase for _, phrase in loud)})).*(?:{ERRORS})"
                if len(rest) <= 1000:
                    calls.append(call("grep", pattern=rest, path=name))
        if not calls:
            return said
        names = listed(dict.fromkeys(name for name, _ in asked))
        text = f"{said} Loud lines hide others: I count the loudest of {names} and search again without them."
        reasoning = (
            "Only the first matches are listed, so counts from the list would be too low. I take them apart."
        )
        returns = yield from self.ask(
            f"looking past the loudest lines of {names}", text, *calls, reasoning=reasoning
        )
        self.take(returns)
        patterns = iter(asked)
        for result in returns:
            if result.failed or result.arguments.get("max_matches") != 1:
                continue
            if key := next(patterns, None):
                self.counts[key] = read_matches(result.content).total
        top = [error_row(one) for one in self.signatures[:2]]
        return " ".join(f"{row.cite} is the start of {counted(row.count, 'line')} like it." for row in top)

    def _changes(self, said: str) -> Saying:
        """Read settings in two versions, and the logs that tell of changes."""
        pairs = versions(self.files)[:2]
        telling = [name for name in self.searched if _TELLTALE.search(name)][:3]
        calls = [call("read_file", path=name, start=1, lines=200) for pair in pairs for name in pair]
        calls += [call("grep", pattern=CHANGES, path=name) for name in telling]
        if not calls:
            return said
        names = listed([*(name for pair in pairs for name in pair), *telling])
        text = f"{said} Errors seldom begin by themselves, so I look at what changed: {names}."
        returns = yield from self.ask(
            f"reading {names}", text, *calls, reasoning="A change shortly before is a suspect."
        )
        self.take(returns)
        excerpts = {result.path: read_excerpt(result.content) for result in returns if result.name == "read_file"}
        for before, after in pairs:
            if excerpts.get(before) and excerpts.get(after):
                self.differences += differences(excerpts[before], excerpts[after])
                self.compared += [before, after]
        case = consider(self._evidence())
        told = [f"{row.text}, at {row.cite}" for row in told_settings(case.settings)[:2]]
        if case.changes:
            told.insert(
                0, f"{case.changes[0].cite} says at {case.changes[0].clock}: {plain(case.changes[0].text, 90)}"
            )
        return f"{'. '.join(told)}." if told else f"{names}: nothing there stands shortly before a beginning."

    def _beginning(self, said: str) -> Saying:
        """Read the lines around the first burst, and what that file says of changes."""
        case = consider(self._evidence())
        errors = [row for row in self._evidence() if row.kind is Kind.ERRORS]
        start = case.first or (errors[0] if errors else None)
        if start is None:
            return said
        why = "the earliest sudden beginning" if case.first else "the most frequent kind"
        text = f"{said} I read around {start.cite}, {why}, to see what stands just before it."
        calls = [call("read_file", path=start.file, start=max(start.line - 6, 1), lines=14)]
        if not any(hit.file == start.file for hit in self.changes.values()):
            calls.append(call("grep", pattern=CHANGES, path=start.file, max_matches=60))
        reasoning = "The first error of a burst is nearer to the cause than the loudest one."
        returns = yield from self.ask(f"reading around {start.cite}", text, *calls, reasoning=reasoning)
        self.take(returns)
        around = [hit for result in returns if result.name == "read_file" for hit in read_excerpt(result.content)]
        before = [hit for hit in around if hit.line < start.line and hit.text.strip()]
        return f"Just before it: {quote(plain(before[-1].text), 90)} ({before[-1].cite})." if before else ""

    def _review(self, said: str) -> Work:
        yield from self.follow("the review")  # what an operator's lead shows is for the reviewer as well
        rows = self._evidence()
        case = consider(rows)
        heads = {row.file: row for row in reversed(case.chain)}
        chain = [*heads.values(), *(row for row in case.chain if row not in heads.values())]
        claimed = [*case.changes[:2], *told_settings(case.settings)[:2], *chain[:5]] or list(rows[:4])
        if not claimed:
            return
        task = "\n".join(
            ["Check this finding: does each line say what is claimed, and what else happens in that minute?", "",
             f"Claim: {conclusion(case)}", "", *map(str, claimed)]
        )  # fmt: skip
        text = f"{said} I have {counted(len(claimed), 'citation')} for my finding and ask a reviewer "
        text += "to check each of them."
        returns = yield from self.ask(
            "the review", text.strip(), call("subagent", agent_type="reviewer", task=task),
            reasoning="A second reader finds what I would like to overlook.",
        )  # fmt: skip
        for result in returns:
            if result.name == "subagent":
                self.review = result.content if not result.failed else f"No review: {sentence(result.content)}"

    def _evidence(self) -> tuple[Row, ...]:
        return (*self.rows, *(found.row for found in self.differences))

    def _told(self, errors: list[Row], chain: tuple[Row, ...]) -> list[Row]:
        """The rows to hand on: those of the chain, and the most frequent three of each file."""
        per_file: dict[str, int] = {}
        told = []
        for row in errors:
            per_file[row.file] = per_file.get(row.file, 0) + 1
            if row in chain or per_file[row.file] <= 3:
                told.append(row)
        return told[:24]


def _section(title: str, lines: object) -> list[str]:
    rows = [str(line) for line in lines]  # type: ignore[attr-defined]
    return ["", f"{title}:", *rows] if rows else []
