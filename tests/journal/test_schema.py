"""Which files are opened as a journal, and which are refused and left as they are."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import apsw
import msgspec
import pytest

from dashboard.core.errors import JournalError
from dashboard.core.events import MessageReturned
from dashboard.core.messages import Edit, Hold, Lane, Message, MessageState, Promote
from dashboard.journal import failpoints, home, mailroom, migrations, schema
from dashboard.journal.recording import connect_to_look
from dashboard.journal.store import Store
from dashboard.journal.tail import Tail
from tests.conftest import FakeClock
from tests.journal.conftest import ANA, Desk

KEPT = Path(__file__).parent / "kept"


def test_a_journal_is_private_to_its_user(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    schema.create(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_journal_is_never_made_over_another(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    schema.create(path).close()
    with pytest.raises(JournalError, match="is there already"):
        schema.create(path)


class TestCreation:
    """A journal is there whole or not at all, wherever its process is ended."""

    def test_leaves_the_journal_alone(self, tmp_path: Path) -> None:
        schema.create(tmp_path / "journal.db").close()
        assert [file.name for file in tmp_path.glob("journal.db*")] == ["journal.db"]

    def test_takes_no_harm_from_what_one_that_was_cut_off_has_left(self, tmp_path: Path) -> None:
        for left in ("journal.db.making", "journal.db.making-wal", "journal.db.making-shm"):
            (tmp_path / left).write_bytes(b"half of a journal")
        schema.create(tmp_path / "journal.db").close()
        assert [file.name for file in tmp_path.glob("journal.db*")] == ["journal.db"]

    def test_that_was_cut_off_has_made_no_session(self) -> None:
        folder = home.make_session_folder("20260101-000000-aaaa")
        (folder / "journal.db.making").write_bytes(b"half of a journal")
        assert home.session_folders() == []

    @pytest.mark.parametrize("links", [True, False])
    def test_never_takes_the_place_of_a_file_that_comes_meanwhile(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
    ) -> None:
        path = tmp_path / "journal.db"
        if not links:
            monkeypatch.setattr(os, "link", no_links)
            path.write_bytes(b"somebody else's")
        else:
            monkeypatch.setattr(failpoints, "at", lambda point: path.write_bytes(b"somebody else's"))
        with pytest.raises(JournalError, match="is there already"):
            schema.create(path)
        assert path.read_bytes() == b"somebody else's"

    def test_works_where_files_cannot_be_linked(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "link", no_links)
        schema.create(tmp_path / "journal.db").close()
        assert [file.name for file in tmp_path.glob("journal.db*")] == ["journal.db"]
        schema.connect(tmp_path / "journal.db").close()


def no_links(made: Path, path: Path) -> None:
    raise PermissionError(1, "Operation not permitted")


IS_HELD = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)  # what a SQLite that reads holds shared
    except BlockingIOError:
        print("held")
"""


def test_opening_a_journal_again_lets_go_of_nothing_that_this_process_holds_on_it(tmp_path: Path) -> None:
    """A plain close of the file would: then another process may write where this one reads."""
    path = tmp_path / "journal.db"
    first = schema.create(path)
    first.execute("SELECT count(*) FROM event").fetchall()
    schema.connect(path).close()
    connect_to_look(path, shared=True).close()
    done = subprocess.run(
        [sys.executable, "-c", IS_HELD, str(path)], check=True, timeout=60, capture_output=True, text=True
    )
    assert done.stdout == "held\n"
    first.close()


def test_every_connection_keeps_what_the_tables_demand(tmp_path: Path) -> None:
    schema.create(tmp_path / "journal.db").close()
    connection = schema.connect(tmp_path / "journal.db")
    found = [connection.pragma(name) for name in ("journal_mode", "foreign_keys", "trusted_schema")]
    assert found == ["wal", 1, 0]
    assert connection.pragma("journal_size_limit") == schema.LOG_KEPT
    connection.close()


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


def shape(connection: apsw.Connection) -> list[object]:
    """The tables, their columns in order, and the indexes."""
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
    columns = [connection.execute(f"PRAGMA table_info({name})").fetchall() for (name,) in tables]
    indexes = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' ORDER BY name"
    ).fetchall()
    return [tables, columns, indexes]


class TestAJournalOfFormat1:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return Path(shutil.copy(KEPT / "format-1.db", tmp_path / "journal.db"))

    @pytest.fixture
    def desk(self, path: Path, clock: FakeClock) -> Iterator[Desk]:
        store = Store(schema.connect(path))
        yield Desk(store, clock)
        store.connection.close()

    def test_it_gets_the_shape_of_a_new_one(self, path: Path, tmp_path: Path) -> None:
        connection, new = schema.connect(path), schema.create(tmp_path / "new.db")
        assert connection.pragma("user_version") == schema.VERSION
        assert shape(connection) == shape(new)
        connection.close()
        new.close()

    def test_all_its_events_and_all_its_mail_are_there(self, desk: Desk) -> None:
        assert len(desk.ledger.records(0, 100)) == 18
        found = [(message.id, message.state, message.reason, message.to) for message in desk.ledger.messages()]
        assert found == [
            ("msg_001", MessageState.DELIVERED, None, "subagent-researcher#1"),
            ("msg_002", MessageState.EXPIRED, None, "subagent-researcher#1"),
            ("msg_003", MessageState.UNDELIVERABLE, "run_ended", "subagent-researcher#1"),
            ("msg_004", MessageState.QUEUED, None, "main"),
            ("msg_005", MessageState.QUEUED, None, "main"),
            ("msg_006", MessageState.UNBOUND, None, "subagent-writer"),
        ]
        read = desk.stored("msg_001")
        assert (read.body, read.round, read.accepted, read.place, read.sender) == ("read this", 2, 7, 7, ANA)
        assert not any(message.held or message.taken or message.batch_id for message in desk.ledger.messages())

    def test_what_waits_in_it_can_be_read_and_amended(self, desk: Desk) -> None:
        desk.amend("msg_005", Promote())
        desk.amend("msg_005", Edit("and this now"))
        desk.amend("msg_006", Hold())
        assert desk.take("run_main") == ["still waiting", "and this now"]
        promoted = desk.stored("msg_005")
        assert (promoted.lane, promoted.accepted, promoted.original.body) == (Lane.NEXT_STEP, 14, "and this later")
        desk.start("run_w", "subagent-writer")
        assert desk.stored("msg_006").held

    def test_a_retry_of_what_was_sent_before_is_known(self, desk: Desk) -> None:
        stored = desk.stored("msg_004").original
        desk.amend("msg_004", Edit("changed"))
        assert desk.send("main", stored).state is MessageState.QUEUED
        assert len(desk.ledger.messages()) == 6

    def test_what_was_accepted_before_the_upgrade_is_older_than_a_request_after_it(self, desk: Desk) -> None:
        with desk.ledger.transaction():
            mailroom.cancel_turn(desk.ledger, "run_main", None, 14, desk.clock())
        assert [event.message_id for event in desk.events(MessageReturned)] == ["msg_003", "msg_004"]

    def test_a_process_of_format_1_that_has_it_open_goes_on_writing(self, path: Path, desk: Desk) -> None:
        old = apsw.Connection(str(path))
        message = Message("msg_007", "from an old console", Lane.NEXT_STEP, True, ANA, 1)
        old.execute("INSERT INTO event (seq, at, run_id, version, payload) VALUES (19, 1, 'run_main', 1, '{}')")
        old.execute(
            "INSERT INTO message (id, place, address, label, run_id, lane, wake, state, expires_at, sender_kind,"
            " message, body_bytes) VALUES ('msg_007', 19, 'main', 'main', 'run_main', 'next_step', 1, 'queued',"
            " NULL, 'operator', ?, 19)",
            (msgspec.json.encode(message),),
        )
        old.close()
        assert desk.stored("msg_007").accepted == 19
        assert desk.take("run_main") == ["still waiting", "from an old console"]

    def test_a_host_of_format_1_reads_an_edit(self, path: Path, desk: Desk) -> None:
        desk.amend("msg_004", Edit("changed"))
        old = apsw.Connection(str(path))
        (row,) = old.execute("SELECT message, body_bytes FROM message WHERE id = 'msg_004'")
        old.close()
        assert (msgspec.json.decode(row[0], type=Message).body, row[1]) == ("changed", 7)

    def test_several_processes_upgrade_it_once(self, path: Path) -> None:
        def opened(_: int) -> int:
            connection = schema.connect(path)
            version: int = connection.pragma("user_version")
            connection.close()
            return version

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(opened, range(8))) == [schema.VERSION] * 8

    def test_an_upgrade_that_fails_leaves_format_1(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patch:
            patch.setitem(migrations.STEPS, 1, migrations.FROM_1 + "SELECT no_such_function();")
            with pytest.raises(JournalError, match="cannot be read as a journal"):
                schema.connect(path)
        old = apsw.Connection(str(path))
        assert old.pragma("user_version") == 1
        assert "held" not in {row[1] for row in old.execute("PRAGMA table_info(message)")}
        old.close()
        schema.connect(path).close()

    def test_a_reader_opens_it_too(self, path: Path) -> None:
        tail = Tail(path)
        assert len(tail.read(0, 100)) == 18
        tail.close()


class TestMigrating:
    """Any number of steps, each whole or not at all."""

    STEPS: ClassVar = {
        1: "CREATE TABLE two (x)",
        2: "CREATE TABLE three (x)",
        3: "CREATE TABLE four (x); SELECT no_such_function()",
        4: "CREATE TABLE five (x)",
    }

    @pytest.fixture
    def connection(self, tmp_path: Path) -> Iterator[apsw.Connection]:
        connection = apsw.Connection(str(tmp_path / "journal.db"))
        connection.execute("PRAGMA user_version = 1")
        yield connection
        connection.close()

    def tables(self, connection: apsw.Connection) -> list[str]:
        return [name for (name,) in connection.execute("SELECT name FROM sqlite_schema ORDER BY rowid")]

    def test_the_steps_are_taken_in_order_from_the_format_that_is_there(self, connection: apsw.Connection) -> None:
        migrations.migrate(connection, 3, self.STEPS)
        assert (connection.pragma("user_version"), self.tables(connection)) == (3, ["two", "three"])
        migrations.migrate(connection, 3, self.STEPS)
        assert (connection.pragma("user_version"), self.tables(connection)) == (3, ["two", "three"])

    def test_a_step_that_fails_leaves_those_before_it_and_nothing_of_its_own(
        self, connection: apsw.Connection
    ) -> None:
        with pytest.raises(apsw.SQLError, match="no such function"):
            migrations.migrate(connection, 5, self.STEPS)
        assert (connection.pragma("user_version"), self.tables(connection)) == (3, ["two", "three"])
        assert not connection.in_transaction
        migrations.migrate(connection, 5, {**self.STEPS, 3: "CREATE TABLE four (x)"})
        assert self.tables(connection) == ["two", "three", "four", "five"]

    def test_there_is_a_step_from_every_older_format(self) -> None:
        assert list(migrations.STEPS) == list(range(1, schema.VERSION))


def test_whether_anything_wakes_is_answered_by_the_index_alone(tmp_path: Path) -> None:
    store = Store(schema.create(tmp_path / "journal.db"))
    plans: list[str] = []
    connection = store.connection

    def explain(cursor: apsw.Cursor, statement: str, bindings: object) -> bool:
        cursor.connection.exec_trace = None
        plans.extend(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", bindings))  # type: ignore[arg-type]
        return True

    looks: list[Callable[[], object]] = [
        lambda: store.wakes("run_1", 1),
        lambda: store.wakes("run_1", 1, Lane.NEXT_STEP),
        lambda: store.count_open("run_1"),
    ]
    for look in looks:
        connection.exec_trace = explain
        look()
    assert len(plans) == len(looks)
    assert all("USING COVERING INDEX message_open" in plan for plan in plans), plans
    connection.close()
