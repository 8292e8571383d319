"""What the layers promise, checked in a fresh interpreter; and that what the README shows is what there is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HEAVY = ("pydantic", "pydantic_ai", "dashboard.agent", "dashboard.models", "dashboard.host")


def fresh(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def test_the_console_never_loads_the_model_stack(tmp_path: Path) -> None:
    """Everything that `dashboard attach` and `demo` load on their way to a drawn console."""
    code = f"""
import asyncio, sys
from dashboard.cli.commands import main
import dashboard.cli.launch
from dashboard.journal.home import make_session_folder
from dashboard.journal.session import JournalHostSession, JournalOperatorSession
from dashboard.ui.app import ConsoleApp

async def draw():
    folder = make_session_folder("20260101-000000-aaaa")
    host = JournalHostSession(folder)
    session = JournalOperatorSession(folder, "ana")
    async with ConsoleApp(session).run_test() as pilot:
        await pilot.press("question_mark", "escape")
    session.close()
    await host.close("done")

asyncio.run(draw())
loaded = [name for name in sys.modules if name.startswith({HEAVY!r})]
assert not loaded, loaded
print("console drawn")
"""
    assert "console drawn" in fresh(code, DASHBOARD_HOME=str(tmp_path))


def test_importing_the_package_loads_nothing_of_it() -> None:
    code = "import sys, dashboard; print([name for name in sys.modules if name.startswith('dashboard.')])"
    assert fresh(code).strip() == "[]"


def test_the_core_loads_neither_a_database_nor_a_screen() -> None:
    code = """
import importlib, pkgutil, sys, dashboard.core
for module in pkgutil.iter_modules(dashboard.core.__path__):
    importlib.import_module(f"dashboard.core.{module.name}")
print([name for name in ("apsw", "sqlite3", "textual", "rich", "asyncio", "click") if name in sys.modules])
"""
    assert fresh(code).strip() == "[]"


def test_the_screenshots_are_what_the_console_draws_now(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dashboard", "screenshots", str(tmp_path)],
        env={**os.environ, "TZ": "Asia/Tokyo", "DASHBOARD_GLYPHS": "ascii"},  # neither may show
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    drawn = {path.name: path.read_bytes() for path in tmp_path.glob("*.svg")}
    kept = {path.name: path.read_bytes() for path in (ROOT / "screenshots").glob("*.svg")}
    assert len(kept) >= 3
    assert drawn.keys() == kept.keys()
    stale = [name for name in kept if drawn[name] != kept[name]]
    differ = next((line for name in stale for line in first_difference(kept[name], drawn[name])), "")
    advice = "run `make screenshots`, and look at them"
    assert not stale, f"{', '.join(stale)} no longer show the console: {advice}; the first difference is\n{differ}"


def first_difference(kept: bytes, drawn: bytes) -> list[str]:
    both = zip(kept.decode().splitlines(), drawn.decode().splitlines(), strict=False)
    return [f"- {was[:400]}\n+ {now[:400]}" for was, now in both if was != now][:1]


@pytest.mark.parametrize("document", ["README.md", "CHANGELOG.md"])
def test_every_file_that_a_document_links_is_there(document: str) -> None:
    import re

    text = (ROOT / document).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if not link.startswith("http")]
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_module_is_short_enough_to_have_one_subject() -> None:
    lengths = {
        path: len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "dashboard").rglob("*.py")
    }
    assert {path.name: length for path, length in lengths.items() if length > 400} == {}


def test_every_style_sheet_is_there_and_named() -> None:
    from dashboard.ui.stylesheets import stylesheets

    assert sorted(Path(sheet).name for sheet in stylesheets()) == sorted(
        path.name for path in (ROOT / "css").iterdir()
    )
