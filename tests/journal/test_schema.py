"""Which files are opened as a journal, and which are refused and left as they are."""

from __future__ import annotations

import stat
from pathlib import Path

import apsw
import pytest

from dashboard.core.errors import JournalError
from dashboard.journal import schema


def test_a_journal_is_private_to_its_user(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    schema.create(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_journal_is_never_made_over_another(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    schema.create(path).close()
    with pytest.raises(JournalError, match="is there already"):
        schema.create(path)


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to have a header" * 20, b""])
def test_a_foreign_file_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(content)
    with pytest.raises(JournalError, match="left as it is"):
        schema.connect(path)
    assert path.read_bytes() == content


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    with pytest.raises(JournalError, match="not a journal of this program"):
        schema.connect(path)


def test_a_newer_format_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    connection = schema.create(path)
    connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    connection.close()
    with pytest.raises(JournalError, match="newer version.*pip install --upgrade"):
        schema.connect(path)


def test_an_old_sqlite_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal.db"
    schema.create(path).close()
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(JournalError, match="3.51.2.*pip install --upgrade apsw"):
        schema.connect(path)
