"""What the README shows is what there is: its program, its roster, and every command with every option."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from dashboard.cli.commands import main
from dashboard.host.roster_file import load_roster

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
SECTIONS = README.split("\n## ")


def section(title: str) -> str:
    return next(part for part in SECTIONS if part.startswith(title))


def fenced(text: str, language: str) -> str:
    return text.split(f"```{language}\n", 1)[1].split("```", 1)[0]


def commands() -> list[str]:
    """Every command of the tables, as it is written there, the alternatives of a row apart."""
    rows = re.findall(r"^\| (`.+?`(?:, `.+?`)*) \|", section("Commands"), re.MULTILINE)
    return [text.replace("\\|", "|") for row in rows for text in re.findall(r"`(dashboard .+?)`", row)]


def command(words: list[str]) -> tuple[click.Command, list[str]]:
    """Follow words into the groups; gives the command, and what follows it."""
    found: click.Command = main
    while words and isinstance(found, click.Group):
        if words[0] in found.commands:
            found = found.commands[words.pop(0)]
        elif found.params and words[0].isupper():
            words.pop(0)  # the argument of the group itself
        else:
            break
    return found, words


def test_its_program_is_ten_lines_and_runs_as_it_stands(tmp_path: Path) -> None:
    code = fenced(section("In your own program"), "python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 12
    script = tmp_path / "program.py"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "DASHBOARD_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "The disk was full.\n", "")


def test_its_roster_can_be_hosted_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "my_models.py").write_text(
        "class Client:\n    def stream(self, request): ...\n\nclient = Client()\n"
    )
    (tmp_path / "my_tools.py").write_text('def deploys(since: str) -> str:\n    """Tell."""\n    return since\n')
    file = tmp_path / "roster.toml"
    file.write_text(fenced(section("A roster of your own"), "toml"), encoding="utf-8")
    roster = load_roster(file, "why?", tmp_path)
    assert (roster.title, roster.labels) == ("nightly triage", ("subagent-researcher",))


@pytest.mark.parametrize("written", commands())
def test_every_command_that_it_names_is_there_with_every_option(written: str) -> None:
    found, rest = command(written.split()[1:])
    assert found is not main, f"there is no such command: {written}"
    options = {name for parameter in found.params for name in (*parameter.opts, *parameter.secondary_opts)}
    named = set(re.findall(r"(?<![\w-])--?[a-z]+", " ".join(rest)))
    assert named <= options, f"{written}: {', '.join(sorted(named - options))}"


def test_every_command_is_named_in_it() -> None:
    told = {command(written.split()[1:])[0].name for written in commands()}
    own = {name for name, value in main.commands.items() if not value.hidden}
    assert own - told == {"screenshots"}  # for those who work on it


def test_every_exit_status_is_told() -> None:
    from dashboard.cli.shared import Exit

    text = " ".join(section("Commands").split())
    assert all(f"{status.value} for " in text for status in Exit)
