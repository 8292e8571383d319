"""The root of the demo: splits the files between two researchers and has their answers written up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from dashboard.host.demo.desk import Returns, Specialist, Work, sentence
from dashboard.host.demo.researcher import REVIEW
from dashboard.host.demo.results import Named, read_listing
from dashboard.host.demo.rows import counted, listed, quote
from dashboard.host.demo.settings import is_settings
from dashboard.host.toolbox import shown_name
from dashboard.models.scripted import call

_INFRASTRUCTURE = re.compile(
    r"gateway|nginx|haproxy|envoy|proxy|ingress|\bdb\b|database|postgres|mysql|redis|cache|system|syslog|kern|dmesg"
    r"|daemon|auth|cron|network|disk|cert|dpkg|apt\b|boot",
    re.IGNORECASE,
)
_APPLICATION = re.compile(
    r"api|app|service|worker|web|deploy|release|settings|config|job|queue|server|client|main", re.IGNORECASE
)
_FOLDERS, _EACH = 4, 10


class Main(Specialist):
    """Delegates, and answers for the whole."""

    def __init__(self, task: str, tools: frozenset[str]) -> None:
        super().__init__(task, tools)
        self.files: list[Named] = []
        self.unusable: list[str] = []
        self.answers: list[tuple[str, str]] = []
        self.report = ""
        self.trouble = ""

    def work(self) -> Work:
        """List, delegate to two researchers in one turn, have the report written."""
        yield from self._list()
        groups = split(self.files)
        if not groups:
            return
        size = sum(entry.size for entry in self.files)
        text = f"There are {counted(len(self.files), 'text file')} with {size:,} bytes. "
        if len(groups) == 1:
            text += (
                f"One researcher gets {listed(entry.name for entry in groups[0][1])} and has the finding reviewed."
            )
        else:
            text += f"Two researchers work at once: one takes {listed(entry.name for entry in groups[0][1])}, "
            text += f"the other {listed(entry.name for entry in groups[1][1])}."
        tasks = [_task(side, group, self.files, place == 0) for place, (side, group) in enumerate(groups)]
        returns = yield from self.ask(
            "handing out the files", text,
            *(call("subagent", agent_type="researcher", task=task) for task in tasks),
            reasoning="The groups can be read at the same time, but a cause may lie across them.",
        )  # fmt: skip
        self._collect(returns)
        if not self.answers:
            self.trouble = "No researcher gave an answer, so there is nothing to write up. " + self.trouble
            return
        body = "\n\n".join(f"Answer of {who}:\n{text}\nEnd of the answer." for who, text in self.answers)
        said = f"{counted(len(self.answers), 'answer is', 'answers are')} back. {self._gist()} A writer "
        said += "puts them into one order of time and writes the report, with every claim cited."
        task = f"Write the incident report.\n\n{body}"
        returns = yield from self.ask(
            "the report", said, call("subagent", agent_type="writer", task=task),
            reasoning="Each answer sees its own files. Their common order shows only when they are merged.",
        )  # fmt: skip
        for result in returns:
            if result.name == "subagent":
                self.report = "" if result.failed else result.content
                self.trouble += f"The writer gave no report: {sentence(result.content)}" if result.failed else ""

    def answer(self) -> str:
        """What the report says and where it is, or why there is none; then what the operator's leads showed."""
        parts: list[str] = []
        if self.report:
            parts.append(self.report if not self.answered else self._again())
        elif not self.files:
            parts.append(self._nothing())
        else:
            parts.append(self.trouble or "There is no report: the plan was not done to its end.")
        if self.unusable:
            parts.append(f"Not usable as text: {listed(self.unusable)}.")
        latest = self.findings[-3:] if not self.answered else self.findings[-1:]
        parts += ["\n".join([f"Operator's lead {quote(one.lead.message, 200)}:", *one.lines]) for one in latest]
        return "\n\n".join(parts)

    def closing(self) -> str:
        """What it thinks before it answers."""
        return "I answer with what the results show; what nobody looked at I do not claim."

    def _list(self) -> Work:
        returns = yield from self.ask(
            "listing the folder",
            "I start with what is there: a listing of the folder, with sizes and line counts.",
            call("list_dir", path="."),
            reasoning="Before anything is handed out I need to know which files there are and how large they are.",
        )  # fmt: skip
        folders = self._take_listing(returns)
        if folders:
            text = f"{counted(len(self.files), 'text file lies', 'text files lie')} at the top, and there are "
            text += f"{counted(len(folders), 'folder')}. I look into {listed(folders[:_FOLDERS])} as well."
            calls = (call("list_dir", path=folder) for folder in folders[:_FOLDERS])
            returns = yield from self.ask("listing the folders below", text, *calls)
            deeper = self._take_listing(returns)
            self.unusable += [f"{folder}/ (not opened)" for folder in [*folders[_FOLDERS:], *deeper]]

    def _take_listing(self, returns: Returns) -> list[str]:
        folders = []
        for result in returns:
            if result.failed:
                self.unusable.append(sentence(result.content).rstrip("."))
                continue
            prefix = "" if result.path == "." else f"{result.path}/"
            for entry in read_listing(result.content):
                name = f"{prefix}{entry.name}"
                if entry.folder and _plain(entry):
                    folders.append(name)
                elif entry.readable and entry.size:
                    self.files.append(Named(name, entry.size, entry.lines, entry.state, folder=False))
                else:
                    why = entry.state or ("its name is not text" if entry.size else "empty")
                    self.unusable.append(f"{name} ({why})")
        self.take(returns)
        return [folder for folder in folders if not folder.rsplit("/", 1)[-1].startswith((".", "__"))]

    def _collect(self, returns: Returns) -> None:
        for place, result in enumerate((one for one in returns if one.name == "subagent"), 1):
            if result.failed:
                self.trouble += f"Researcher {place} gave no answer: {sentence(result.content)} "
            else:
                self.answers.append((f"researcher-{place}", result.content))

    def _gist(self) -> str:
        found = re.findall(r"^Confidence: (\w+)", "\n".join(text for _, text in self.answers), re.MULTILINE)
        return f"{self.trouble}Their confidence: {listed(found)}." if found else self.trouble

    def _nothing(self) -> str:
        if self.unusable:
            return (
                "There is no text file with anything in it here, so there is nothing to investigate and no report."
            )
        return "The folder is empty, so there is nothing to investigate and no report."

    def _again(self) -> str:
        where = self.report.split("\n", 1)[0]
        return f"What I know is in the report. {where}" if not self.findings else where


def split(files: Sequence[Named]) -> list[tuple[str, list[Named]]]:
    """Split files into an application and an infrastructure side by their names, else into halves by size.

    Args:
        files: text files; the largest ten of each side are taken.

    Returns:
        No group for no files, one for one file, else two, each with the words for its side.
    """
    ordered = sorted(files, key=lambda entry: (is_settings(entry.name), -entry.size, entry.name))
    if len(ordered) < 2:
        return [("the only file", ordered)] if ordered else []
    below = [entry for entry in ordered if _INFRASTRUCTURE.search(entry.name)]
    above = [entry for entry in ordered if entry not in below]
    named = sum(bool(_APPLICATION.search(entry.name)) for entry in above)
    if below and above and named * 2 >= len(above):
        return [("application side", above[:_EACH]), ("infrastructure side", below[:_EACH])]
    return [("first half by size", ordered[0::2][:_EACH]), ("second half by size", ordered[1::2][:_EACH])]


def _task(side: str, group: Sequence[Named], files: Iterable[Named], reviewed: bool) -> str:
    own = {entry.name for entry in group}
    rest = [shown_name(entry.name) for entry in files if entry.name not in own]
    lines = [f"Find out what went wrong, and when it began, from these files ({side}):"]
    for entry in group:
        count = f", {counted(entry.lines, 'line')}" if entry.lines is not None else ""
        lines.append(f"- {shown_name(entry.name)} ({entry.size} bytes{count})")
    if rest:
        lines.append(f"Also there, not yours: {', '.join(rest[:40])}")
    ask = f", and {REVIEW} before you answer" if reviewed else ""
    lines.append(f"Cite file and line for every claim{ask}.")
    return "\n".join(lines)


def _plain(entry: Named) -> bool:
    try:
        entry.name.encode()
    except UnicodeEncodeError:
        return False
    return entry.name not in (".", "..")
