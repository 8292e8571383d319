"""The library as a user has it: names that load when used, and what each promises."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import dashboard
from dashboard.core.semantics import RULES

ROOT = Path(__file__).parent.parent
RULE = re.compile(r"\b[PATH]\d{1,2}\b")


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
