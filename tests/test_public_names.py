"""The library as a user has it: names that load when used, what each promises, and the README's program."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dashboard
from dashboard.core.semantics import RULES

ROOT = Path(__file__).parent.parent
RULE = re.compile(r"\b[PATH]\d{1,2}\b")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def program() -> str:
    """The README's program."""
    section = README.split("## In your own program", 1)[1]
    return section.split("```python\n", 1)[1].split("```", 1)[0]


def members() -> Iterator[tuple[str, object]]:
    """Every public name, and every public method of a public class."""
    for name in dashboard.__all__:
        value = getattr(dashboard, name)
        yield name, value
        if inspect.isclass(value):
            for key, member in inspect.getmembers(value):
                ours = callable(member) and str(getattr(member, "__module__", "")).startswith("dashboard")
                if not key.startswith("_") and (ours or isinstance(member, property)):
                    yield f"{name}.{key}", member


def test_every_public_name_is_there_and_listed() -> None:
    assert set(dashboard.__all__) <= set(dir(dashboard))
    assert {"Agent", "Inbox", "QueueInbox", "RoutedInbox", "Session", "make_subagent_tool", "tool"} <= set(
        dashboard.__all__
    )
    with pytest.raises(AttributeError, match="no attribute 'Agnet'"):
        _ = dashboard.Agnet


@pytest.mark.parametrize("name", dashboard.__all__)
def test_a_public_name_says_what_it_promises_and_where_that_comes_from(name: str) -> None:
    said = inspect.getdoc(getattr(dashboard, name)) or ""
    assert RULE.search(said) or "Source:" in said, f"{name} cites neither a rule nor a source"


@pytest.mark.parametrize(("name", "member"), list(members()), ids=[name for name, _ in members()])
def test_every_public_method_names_its_arguments(name: str, member: object) -> None:
    said = inspect.getdoc(member) or ""
    assert said, f"{name} has no docstring"
    if inspect.isfunction(member):
        taken = [key for key in inspect.signature(member).parameters if key not in ("self", "function")]
        missing = [key for key in taken if not re.search(rf"^\s*{key}:", said, re.MULTILINE)]
        elsewhere = "which tells the arguments" in said
        assert not missing or elsewhere or len(taken) <= 1, f"{name} does not say what {', '.join(missing)} is"


def test_every_rule_that_is_cited_is_a_rule() -> None:
    cited = {
        rule
        for path in (*(ROOT / "dashboard").rglob("*.py"), *(ROOT / "tests").rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if "(" in line or '"""' in line
        for rule in re.findall(r"(?:\(|, |; )([PATH]\d{1,2})(?=[,;):. ])", line)
    }
    assert cited - set(RULES) == set()
    assert {rule[0] for rule in cited} == set("PATH")


def test_the_readmes_program_is_ten_lines_and_runs_as_it_stands(tmp_path: Path) -> None:
    code = program()
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) <= 12
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
