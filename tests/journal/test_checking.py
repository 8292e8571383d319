"""A good journal has no fault; one that was tampered with has that fault named, with the place where it is."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from dashboard.agent import Agent, Runtime, make_subagent_tool, run_agent
from dashboard.agent.tools import tool
from dashboard.core.errors import JournalError
from dashboard.core.events import ControlAction, ControlApplied, NoticeLevel, NoticeRaised, RunStarted
from dashboard.core.history import Assistant
from dashboard.core.messages import Lane, Preset
from dashboard.core.outcomes import Outcome
from dashboard.journal import schema
from dashboard.journal.checking import Fault, Report, check
from dashboard.journal.checking.report import MOST_FAULTS, Findings
from dashboard.journal.home import make_session_folder
from dashboard.journal.reaping import look
from dashboard.journal.session import JournalHostSession, JournalOperatorSession
from dashboard.models.base import ModelRequest
from dashboard.models.scripted import ScriptedModel, call
from tests.conftest import FakeClock
from tests.journal.test_session import die

KEPT = Path(__file__).parent / "kept"


async def play(clock: FakeClock) -> Path:
    """Make a session with a bit of everything, whose host lives no more and was not looked at since."""
    host = JournalHostSession(make_session_folder("20260101-000000-aaaa"), clock, inline=True)
    session = JournalOperatorSession(host.folder, "ana", clock, inline=True)
    inbox = host.inbox
    await host.start("0", "title", ("subagent-writer", "subagent-nobody"))
    await session.send("subagent-writer", session.compose("for the next writer", Preset.STEER))
    await session.send("subagent-nobody", session.compose("for nobody", Preset.STEER))

    @tool
    async def act() -> str:
        """Write to the run that calls this, in every way."""
        inbox.steer("main", "first")
        inbox.steer("main", "second")
        held = inbox.steer("main", "held for a while").message_id
        inbox.hold(held)
        inbox.release(held)
        inbox.edit(inbox.inject("main", "not this").message_id, "but this")
        inbox.promote(inbox.followup("main", "promoted").message_id)
        inbox.followup("main", "a follow-up")
        inbox.withdraw(inbox.steer("main", "withdrawn").message_id)
        inbox.send("main", "stale", Lane.NEXT_STEP, True, clock() - 1)
        return "done"

    def script(request: ModelRequest) -> Assistant:
        if request.label == "main" and len(request.history) == 1:
            calls = (call("act"), call("subagent", agent_type="writer", task="write"))
            return Assistant("let me see", "hm, well", calls)
        return Assistant(f"answer {len(request.history)}", "hm")

    model = ScriptedModel(script)
    spawn = make_subagent_tool(model, agent_types={"writer": {}}, inbox=inbox)
    runtime = Runtime(emit=host.emit, next_ordinal=inbox.next_ordinal, clock=clock)
    await run_agent(Agent(model, tools=[act, spawn], name="main", inbox=inbox), "p", runtime)
    await run_agent(Agent(model, name="deaf"), "p", runtime)
    drain = inbox.reader("crew")
    inbox.steer("crew", "taken and read")
    assert drain() == ["taken and read"]
    inbox.end_run(next(run.run_id for run in inbox.runs() if run.label == "crew"), Outcome.ANSWERED)
    host.emit(NoticeRaised(level=NoticeLevel.NOTE, text="by the way"))
    host.emit(RunStarted(run_id="run_live", label="idler", ordinal=1, task="t", max_iterations=9))
    await session.send("run_live", session.compose("waits", Preset.STEER))
    done = await session.request(ControlAction.PAUSE, "run_live")
    host.emit(ControlApplied(control_id=done, action=ControlAction.PAUSE, run_id="run_live"))
    await session.request(ControlAction.RESUME, "run_live")
    session.close()
    die(host)
    return host.folder


class Bench:
    """A journal that is tampered with: nothing here goes through the rules."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._connection = apsw.Connection(str(folder / "journal.db"))

    def sql(self, statement: str, *bindings: object) -> list[Any]:
        return self._connection.execute(statement, bindings).fetchall()

    def told(self, kind: str, **fields: object) -> tuple[int, dict[str, Any]]:
        """Give the first event of a type with these fields."""
        for seq, payload in self.sql("SELECT seq, payload FROM event ORDER BY seq"):
            event: dict[str, Any] = msgspec.json.decode(payload)
            if event["type"] == kind and all(event.get(name) == value for name, value in fields.items()):
                return seq, event
        raise AssertionError(f"no {kind} with {fields}")

    def message(self, body: str) -> str:
        """Give the id of a message by its text."""
        message_id: str = self.told("MessageQueued", body=body)[1]["message_id"]
        return message_id

    def rewrite(self, seq: int, **fields: object) -> None:
        """Change fields of an event."""
        ((payload,),) = self.sql("SELECT payload FROM event WHERE seq = ?", seq)
        changed = msgspec.json.encode(msgspec.json.decode(payload) | fields)
        self.sql("UPDATE event SET payload = ? WHERE seq = ?", changed, seq)

    def add(self, kind: str, **fields: object) -> None:
        """Put an event at the end, that nothing follows from."""
        payload = msgspec.json.encode({"type": kind, **fields})
        self.sql("INSERT INTO event SELECT max(seq) + 1, 1, ?, 1, ? FROM event", fields.get("run_id"), payload)

    def run(self, label: str) -> str:
        """Give the id of a run by its label."""
        ((run_id,),) = self.sql("SELECT run_id FROM run WHERE label = ?", label)
        return str(run_id)

    def check(self) -> Report:
        self._connection.close()
        return check(self.folder)


Damage = Callable[[Bench], object]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    home.chmod(0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DASHBOARD_HOME", str(home))
        return asyncio.run(play(FakeClock()))


@pytest.fixture
def bench(good: Path, tmp_path: Path) -> Bench:
    return Bench(Path(shutil.copytree(good, tmp_path / good.name)))


class TestAGoodJournal:
    def test_of_real_runs_has_no_fault_and_is_counted(self, bench: Bench) -> None:
        report = bench.check()
        assert (report.faults, report.notes, report.sound) == ((), (), True)
        assert (report.session_id, report.runs, report.messages, report.delivered) == (
            "20260101-000000-aaaa", 5, 12, 8,
        )  # fmt: skip
        assert report.events > 60

    def test_has_none_once_its_host_was_found_dead(self, bench: Bench, clock: FakeClock) -> None:
        assert look(bench.folder, clock).state.over
        assert bench.check().faults == ()

    async def test_has_none_once_it_was_closed(self, clock: FakeClock) -> None:
        host = JournalHostSession(make_session_folder("20260102-000000-bbbb"), clock, inline=True)
        await host.start("0", "title", ("subagent-writer",))
        host.inbox.steer("subagent-writer", "comes back")
        await host.close("done")
        assert check(host.folder).faults == ()

    def test_without_an_event_has_none(self, tmp_path: Path) -> None:
        schema.create(tmp_path / "journal.db").close()
        assert check(tmp_path) == Report(tmp_path.name)

    def test_of_format_1_is_checked_once_it_was_brought_to_this_one(self, tmp_path: Path) -> None:
        shutil.copy(KEPT / "format-1.db", tmp_path / "journal.db")
        before = (tmp_path / "journal.db").read_bytes()
        with pytest.raises(JournalError, match="is of format 1.*`dashboard sessions`"):
            check(tmp_path)
        assert (tmp_path / "journal.db").read_bytes() == before
        schema.connect(tmp_path / "journal.db").close()
        assert check(tmp_path).faults == ()


def change_delta(kind: str) -> Damage:
    return lambda bench: bench.rewrite(bench.told(kind)[0], text="something else")


def swap_two_that_were_read(bench: Bench) -> None:
    """As if the second had been read first, in every table and event alike."""
    first, second = bench.message("first"), bench.message("second")
    (one, told), (two, also) = (
        bench.told("MessageDelivered", message_id=first),
        bench.told("MessageDelivered", message_id=second),
    )
    bench.rewrite(one, message_id=second)
    bench.rewrite(two, message_id=first)
    for text, event in (("second", told), ("first", also)):
        (seq, _) = bench.told("HistoryAppended", run_id=event["run_id"], index=event["history_index"])
        bench.rewrite(seq, entry={"role": "user", "content": text})
    rows = {message_id: rest for message_id, *rest in bench.sql("SELECT * FROM delivery")}
    bench.sql("DELETE FROM delivery WHERE message_id IN (?, ?)", first, second)
    for message_id, rest in ((first, rows[second]), (second, rows[first])):
        bench.sql("INSERT INTO delivery VALUES (?, ?, ?, ?, ?)", message_id, *rest)


def lose_from_the_history(bench: Bench) -> None:
    _, delivered = bench.told("MessageDelivered", message_id=bench.message("a follow-up"))
    seq, _ = bench.told("HistoryAppended", run_id=delivered["run_id"], index=delivered["history_index"])
    bench.rewrite(seq, index=delivered["history_index"] + 100)


def put_another_text_into_the_history(bench: Bench) -> None:
    _, delivered = bench.told("MessageDelivered", message_id=bench.message("first"))
    seq, _ = bench.told("HistoryAppended", run_id=delivered["run_id"], index=delivered["history_index"])
    bench.rewrite(seq, entry={"role": "user", "content": "forged"})


def change_the_text_of_a_row(bench: Bench) -> None:
    message_id = bench.message("waits")
    ((stored,),) = bench.sql("SELECT message FROM message WHERE id = ?", message_id)
    forged = msgspec.json.encode(msgspec.json.decode(stored) | {"body": "forgd"})
    bench.sql("UPDATE message SET message = ? WHERE id = ?", forged, message_id)


def end_a_run_and_leave_its_mail(bench: Bench) -> None:
    bench.add("RunFinished", run_id="run_live", outcome="answered")
    bench.sql("UPDATE run SET live = 0 WHERE run_id = 'run_live'")


def forget_a_message(bench: Bench) -> None:
    bench.sql("DELETE FROM message WHERE id = ?", bench.message("waits"))


def forget_one_that_was_read(bench: Bench) -> None:
    bench.sql("DELETE FROM message WHERE id = ?", bench.message("first"))


def invent_a_message(bench: Bench) -> None:
    bench.sql("CREATE TEMP TABLE copy AS SELECT * FROM message WHERE id = ?", bench.message("waits"))
    bench.sql("UPDATE copy SET id = 'msg_invented'")
    bench.sql("INSERT INTO message SELECT * FROM copy")


def accept_again(bench: Bench, **changed: object) -> None:
    _, event = bench.told("MessageQueued", body="waits")
    bench.add(**{"kind": "MessageQueued", **event, **changed, "type": "MessageQueued"})


def end_the_session(bench: Bench) -> None:
    bench.sql("INSERT INTO meta VALUES ('over', 'its host was lost')")


def row(change: str, body: str = "waits") -> Damage:
    return lambda bench: bench.sql(f"UPDATE message SET {change} WHERE id = ?", bench.message(body))


def sql(statement: str) -> Damage:
    return lambda bench: bench.sql(statement)


def add(kind: str, run: str = "", message: str = "", **fields: object) -> Damage:
    def damage(bench: Bench) -> None:
        if run:
            fields["run_id"] = bench.run(run)
        if message:
            fields["message_id"] = bench.message(message)
        bench.add(kind, **fields)

    return damage


def payload_of_a_notice(value: str) -> Damage:
    def damage(bench: Bench) -> None:
        bench.sql(f"UPDATE event SET payload = {value} WHERE seq = ?", bench.told("NoticeRaised")[0])

    return damage


FAULTS: dict[str, tuple[Damage, str, str]] = {
    "a gap": (
        lambda bench: bench.sql("DELETE FROM event WHERE seq = ?", bench.told("NoticeRaised")[0]),
        "the events go from", "event",
    ),
    "bytes that are no event": (payload_of_a_notice("x'ff00'"), "it cannot be decoded", "event"),
    "an event without a type": (payload_of_a_notice("CAST('{}' AS BLOB)"), "it cannot be decoded", "event"),
    "an event that is no bytes": (payload_of_a_notice("'{}'"), "it is no bytes", "event"),
    "an event under another run": (
        lambda bench: bench.sql(
            "UPDATE event SET run_id = 'r' WHERE seq = ?", bench.told("TurnStarted")[0]
        ),
        "and is kept as one of r", "event",
    ),
    "text that does not add up": (change_delta("TextDelta"), "the text that main#1 streamed in round 1", "event"),
    "reasoning that does not add up": (change_delta("ReasoningDelta"), "the reasoning that main#1", "event"),
    "text that is missing": (
        lambda bench: bench.rewrite(bench.told("TextDelta")[0], type="NoticeRaised", level="note"),
        "does not add up to what was stored (6 characters, and 10)", "event",
    ),
    "a history with a gap": (lose_from_the_history, "of the history of main#1, where", "event"),
    "a run that starts twice": (
        add("RunStarted", run="main", label="main", ordinal=1, task="t", max_iterations=1),
        "starts a second time", "event",
    ),
    "a run that ends twice": (add("RunFinished", run="main", outcome="error"), "goes on after its end", "event"),
    "a run that goes on after its end": (
        add("TurnStarted", run="main", turn=9), "main#1 goes on after its end in event", "event",
    ),
    "a run that never started": (add("TurnStarted", run_id="run_x", turn=1), "never started (run_x)", "event"),
    "another state": (row("state = 'withdrawn'"), "differ in its state", "msg_"),
    "another run": (row("run_id = 'run_x'"), "differ in its to, run_id", "msg_"),
    "another lane": (row("lane = 'next_turn'"), "differ in its lane", "msg_"),
    "another place": (row("place = place + 1000"), "differ in its place", "msg_"),
    "another acceptance": (row("accepted = 1"), "differ in its accepted", "msg_"),
    "another text": (change_the_text_of_a_row, "differ in its original, body", "msg_"),
    "held in the table alone": (row("held = 1"), "differ in its held", "msg_"),
    "taken in the table alone": (row("taken = 1"), "differ in its taken", "msg_"),
    "another reason": (row("reason = 'cancelled'"), "differ in its reason", "msg_"),
    "another state of one that ended": (row("state = 'queued'", "withdrawn"), "differ in its state", "msg_"),
    "a wake that is not its own": (row("wake = 0"), "what its row is found by is not what it says", "msg_"),
    "a row that cannot be read": (row("message = x'00'"), "its row cannot be read", "msg_"),
    "a message that is not in the table": (forget_a_message, "it was accepted and is not in the table", "msg_"),
    "a message in the table alone": (invent_a_message, "no event has accepted", "msg_invented"),
    "a delivery of no message": (forget_one_that_was_read, "belongs to none of message", "journal.db"),
    "no row of a delivery": (
        lambda bench: bench.sql("DELETE FROM delivery WHERE message_id = ?", bench.message("first")),
        "differ in where it was delivered", "msg_",
    ),
    "another row of a delivery": (sql("UPDATE delivery SET round = 99"), "in where it was delivered", "msg_"),
    "a delivery in the table alone": (
        lambda bench: bench.sql(
            "INSERT INTO delivery VALUES (?, 'run_live', 1, 0, 1)", bench.message("withdrawn")
        ),
        "a delivery in the table that no event tells", "msg_",
    ),
    "a message that is read twice": (
        add("MessageDelivered", run="main", message="first", turn=1, round=9, history_index=99),
        "MessageDelivered, though it was delivered before", "msg_",
    ),
    "a message that is read and taken back": (
        add("MessageWithdrawn", message="first", by="ana"), "MessageWithdrawn, though it was delivered", "msg_",
    ),
    "what was read is not in the history": (lose_from_the_history, "and is not at", "msg_"),
    "another text is in the history": (put_another_text_into_the_history, "another text stands at", "msg_"),
    "the second before the first": (swap_two_that_were_read, "it was read before", "msg_"),
    "read while it was held": (
        lambda bench: bench.rewrite(bench.told("MessageHeld", held=False)[0], held=True),
        "it was read while it was held", "msg_",
    ),
    "read by another run": (
        lambda bench: bench.rewrite(
            bench.told("MessageQueued", body="first")[0], run_id=bench.run("subagent-writer")
        ),
        "it was for run_", "msg_",
    ),
    "a message that nobody accepted": (
        add("MessageWithdrawn", message_id="msg_x", by="ana"), "though it was never accepted", "msg_x",
    ),
    "a message that is accepted twice": (accept_again, "is accepted a second time", "event"),
    "a message for a run that has ended": (
        lambda bench: accept_again(bench, message_id="msg_late", run_id=bench.run("main")),
        "msg_late is accepted for run_", "event",
    ),
    "a message for a run that reads nothing": (
        lambda bench: accept_again(bench, message_id="msg_deaf", run_id=bench.run("deaf")),
        "which reads nothing", "event",
    ),
    "mail that waits for a run that has ended": (
        end_a_run_and_leave_its_mail, "it waits for run_live, which has ended", "msg_",
    ),
    "mail that waits in a session that is over": (end_the_session, "it waits (queued) in a session", "msg_"),
    "mail for a label in a session that is over": (end_the_session, "it waits (unbound) in a session", "msg_"),
    "a run that lives in a session that is over": (end_the_session, "it has no end, and the session", "run_live"),
    "a request in a session that is over": (end_the_session, "it has no answer, and the session", "ctl_"),
    "a close that the table does not know": (add("SessionClosed", reason="done"), "not kept as closed", "session"),
    "a run in the events alone": (sql("DELETE FROM run WHERE run_id = 'run_live'"), "about this run", "run_live"),
    "a run that lives in the table alone": (sql("UPDATE run SET live = 1"), "about this run", "run_"),
    "a label in the events alone": (
        sql("DELETE FROM label WHERE label = 'crew'"), "about these labels: crew", "labels",
    ),
    "another state of a request": (sql("UPDATE control SET state = 'refused'"), "about this request", "ctl_"),
    "a request that is answered twice": (
        lambda bench: bench.add(
            "ControlRefused", reason="no", control_id=bench.told("ControlApplied")[1]["control_id"]
        ),
        "it was refused, though it was applied before", "ctl_",
    ),
    "an answer that nobody asked for": (
        add("ControlRefused", control_id="ctl_x", reason="no"), "nobody had asked for it", "ctl_x",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("damage", "what", "where"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_named_with_its_place(bench: Bench, damage: Damage, what: str, where: str) -> None:
    damage(bench)
    report = bench.check()
    found = [fault for fault in report.faults if what in fault.what and where in fault.where]
    assert found, report.faults
    assert not report.sound


class TestWhatIsNoFault:
    def test_events_of_a_type_that_is_not_known_are_noted_and_counted(self, bench: Bench) -> None:
        seq, _ = bench.told("NoticeRaised")
        bench.rewrite(seq, type="SomethingNew")
        bench.add("SomethingNew", run_id="run_x")
        report = bench.check()
        assert report.faults == ()
        assert report.notes == (
            f"2 of a type or shape that this version does not know: SomethingNew, first in event {seq}",
        )

    def test_a_message_that_such_an_event_is_about_is_not_judged(self, bench: Bench) -> None:
        bench.add("MessageFrozen", message_id=bench.message("waits"))
        bench.sql("UPDATE message SET state = 'frozen' WHERE id = ?", bench.message("waits"))
        assert bench.check().faults == ()

    def test_a_request_that_such_an_event_makes_is_not_judged(self, bench: Bench) -> None:
        bench.add("ControlRequested", control_id="ctl_new", action="teleport", by="bo")
        bench.sql("INSERT INTO control VALUES ('ctl_new', 99, 'teleport', NULL, 'bo', 'requested')")
        assert bench.check().faults == ()

    def test_a_round_that_was_cut_off_before_its_entry(self, bench: Bench) -> None:
        bench.add("RoundStarted", run_id="run_live", turn=1, round=1, step=1, max_iterations=9)
        bench.add("TextDelta", run_id="run_live", round=1, text="I was about to")
        bench.add("RoundStarted", run_id="run_live", turn=1, round=2, step=1, max_iterations=9)
        bench.add("TextDelta", run_id="run_live", round=2, text="yes")
        bench.add("HistoryAppended", run_id="run_live", index=0, entry={"role": "assistant", "content": "yes"})
        assert bench.check().faults == ()

    def test_a_loop_that_is_not_ours_and_shows_nothing_as_it_comes(self, bench: Bench) -> None:
        bench.add("HistoryAppended", run_id="run_live", index=0, entry={"role": "assistant", "content": "yes"})
        assert bench.check().faults == ()

    def test_mail_of_another_bus_that_a_run_is_told_of_here(self, bench: Bench) -> None:
        bench.add("RunStarted", run_id="run_far", label="far", ordinal=1, task="", max_iterations=1, reading=False)
        bench.sql("INSERT INTO run SELECT 'run_far', 'far', 1, 0, 1, max(seq) FROM event")
        bench.sql("INSERT INTO label VALUES ('far')")
        bench.add("MessageDelivered", run_id="run_far", message_id="msg_far", turn=1, round=1, history_index=0)
        bench.add("HistoryAppended", run_id="run_far", index=0, entry={"role": "user", "content": "hello"})
        assert bench.check().faults == ()


def test_there_is_no_journal_to_check(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="there is no journal at"):
        check(tmp_path)


def test_many_faults_are_counted_and_not_all_kept() -> None:
    findings = Findings()
    for number in range(MOST_FAULTS + 7):
        findings.tell("it is so", str(number))
    assert (len(findings.faults), findings.more) == (MOST_FAULTS, 7)
    assert findings.faults[-1] == Fault("it is so", str(MOST_FAULTS - 1))
