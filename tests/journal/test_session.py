"""The two faces of a session over one journal: what one writes, the other reads; and a host that dies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from dashboard.core.errors import HostError, JournalError, SendRefusedError
from dashboard.core.events import (
    ControlAction,
    ControlApplied,
    KnownEvent,
    MessageQueued,
    MessageReturned,
    RunFinished,
    RunStarted,
    SessionClosed,
    Unknown,
)
from dashboard.core.mail import Boundary, BoundaryKind
from dashboard.core.messages import Edit, MessageState, Preset, Refusal, ReturnReason, Withdraw
from dashboard.core.outcomes import Outcome, RunEnd
from dashboard.core.projection import Projection
from dashboard.core.records import Record
from dashboard.core.sessions import Control, HostState
from dashboard.journal.catalog import host_started, sessions
from dashboard.journal.home import make_session_folder
from dashboard.journal.session import JournalHostSession, JournalOperatorSession
from tests.conftest import FakeClock

AFTER_TOOLS = Boundary(BoundaryKind.AFTER_TOOLS, turn=1, round=2, history_index=2)


@pytest.fixture
def folder() -> Path:
    return make_session_folder("20260101-000000-aaaa")


@pytest.fixture
def host(folder: Path, clock: FakeClock) -> Iterator[JournalHostSession]:
    host = JournalHostSession(folder, clock)
    yield host
    die(host)


@contextmanager
def console(folder: Path, clock: FakeClock, name: str = "ana") -> Iterator[JournalOperatorSession]:
    session = JournalOperatorSession(folder, name, clock)
    try:
        yield session
    finally:
        session.close()


def die(host: JournalHostSession) -> None:
    """What the kernel does for a process that was killed: its lock is gone, and nothing was said."""
    host._writer.close()
    host._tail.close()
    host._lock.release()


async def found_lost(session: JournalOperatorSession) -> None:
    """Probe as a console does, until the reaping that the first look asked for is done."""
    while session.probe().state is not HostState.LOST:
        await asyncio.sleep(0)


async def written(host: JournalHostSession) -> None:
    """Wait for a transaction: what was emitted before it is on disk."""
    await asyncio.to_thread(host.inbox.runs)


def started(run_id: str, label: str = "subagent-a", ordinal: int = 1) -> RunStarted:
    return RunStarted(run_id=run_id, label=label, ordinal=ordinal, task="t", max_iterations=10)


def events(session: JournalOperatorSession) -> list[KnownEvent | Unknown]:
    return [record.event for record in session._tail.read(0, 10_000)]


async def test_a_message_goes_from_a_console_to_the_run_and_its_receipt_comes_back(
    folder: Path, clock: FakeClock, host: JournalHostSession
) -> None:
    await host.start("0", "title", ())
    host.emit(started("run_1"))
    mail = host.inbox.open_run("run_1")
    await written(host)
    assert await mail.take(AFTER_TOOLS) == ()
    with console(folder, clock) as session:
        receipt = await session.send("subagent-a#1", session.compose("hello", Preset.STEER))
        assert receipt.state is MessageState.QUEUED
        (delivered,) = await mail.take(AFTER_TOOLS)
        assert (delivered.text, delivered.message_id) == ("hello", receipt.message_id)


async def test_a_repeated_send_after_a_lost_answer_is_safe(
    folder: Path, clock: FakeClock, host: JournalHostSession
) -> None:
    await host.start("0", "title", ())
    host.emit(started("run_1"))
    mail = host.inbox.open_run("run_1")
    with console(folder, clock) as session:
        message = session.compose("hello", Preset.STEER)
        await written(host)
        await session.send("run_1", message)
        await session.send("run_1", message)
        assert len(await mail.take(AFTER_TOOLS)) == 1


async def test_a_read_gives_what_is_new_in_order_and_nothing_twice(
    folder: Path, clock: FakeClock, host: JournalHostSession
) -> None:
    await host.start("0", "title", ("subagent-a",))
    with console(folder, clock) as session:
        first = session.read(0, 100)
        assert [record.seq for record in first] == [1]
        assert session.read(1, 100) == []
        host.emit(started("run_1"))
        await written(host)
        assert [type(record.event) for record in session.read(1, 100)] == [RunStarted]


async def test_a_read_that_was_cut_short_goes_on_without_a_further_change(
    folder: Path, clock: FakeClock, host: JournalHostSession
) -> None:
    await host.start("0", "title", ())
    for number in range(5):
        host.emit(started(f"run_{number}", ordinal=number + 1))
    await written(host)
    with console(folder, clock) as session:
        seen = [record.seq for after in (0, 2, 4) for record in session.read(after, 2)]
    assert seen == [1, 2, 3, 4, 5, 6]


async def test_a_read_that_fails_loses_no_news(
    folder: Path, clock: FakeClock, host: JournalHostSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    await host.start("0", "title", ())

    def busy(after: int, limit: int) -> list[Record]:
        raise apsw.BusyError("database is locked")

    with console(folder, clock) as session:
        with monkeypatch.context() as patch:
            patch.setattr(session._tail, "read", busy)
            with pytest.raises(JournalError, match="cannot be read"):
                session.read(0, 100)
        assert [record.seq for record in session.read(0, 100)] == [1]


async def test_two_operators_messages_carry_their_own_names(
    folder: Path, clock: FakeClock, host: JournalHostSession
) -> None:
    with console(folder, clock, "ana") as ana, console(folder, clock, "bo") as bo:
        assert ana.compose("x", Preset.STEER).sender.name == "ana"
        assert bo.compose("x", Preset.STEER).sender.name == "bo"


async def test_an_operator_amends_what_waits_and_is_told_when_it_is_too_late(
    folder: Path, clock: FakeClock, host: JournalHostSession
) -> None:
    await host.start("0", "title", ())
    host.emit(started("run_1"))
    with console(folder, clock) as session:
        receipt = await session.send("run_1", session.compose("hello", Preset.STEER))
        assert (await session.amend(receipt.message_id, Edit("goodbye"))).state is MessageState.QUEUED
        (delivered,) = await host.inbox.open_run("run_1").take(AFTER_TOOLS)
        assert delivered.text == "goodbye"
        with pytest.raises(SendRefusedError, match="was read in round 2"):
            await session.amend(receipt.message_id, Withdraw())


async def test_a_broadcast_goes_to_those_it_was_composed_for_and_an_ended_one_stops_no_other(
    folder: Path, clock: FakeClock, host: JournalHostSession
) -> None:
    await host.start("0", "title", ())
    with console(folder, clock) as session:
        host.emit(started("run_1", ordinal=1))
        host.emit(started("run_2", ordinal=2))
        await written(host)
        projection = Projection()
        projection.fold(session.read(0, 100))
        batch = session.compose_batch("all of you: stop", Preset.STEER, list(projection.runs.values()))
        assert [part.name for part in batch] == ["subagent-a#1", "subagent-a#2"]
        host.emit(started("run_3", ordinal=3))
        host.emit(RunFinished(run_id="run_2", outcome=Outcome.ANSWERED))
        await written(host)
        one, two = await session.broadcast(batch)
        assert (one.refusal, two.refusal) == (None, Refusal.RUN_ENDED)
        queued = [event for event in events(session) if isinstance(event, MessageQueued)]
        assert [(event.run_id, event.batch_id) for event in queued] == [("run_1", batch[0].message.batch_id)]


async def test_what_an_operator_asks_for_is_there_until_the_host_has_done_it(
    folder: Path, clock: FakeClock, host: JournalHostSession
) -> None:
    await host.start("0", "title", ())
    with console(folder, clock) as session:
        control_id = await session.request(ControlAction.STOP_SESSION)
    (control,) = await host.controls()
    assert (control.id, control.action) == (control_id, ControlAction.STOP_SESSION)
    host.emit(ControlApplied(control_id=control.id, action=ControlAction.STOP_SESSION))
    await written(host)
    assert await host.controls() == []


async def test_a_control_comes_with_all_that_was_asked(
    folder: Path, clock: FakeClock, host: JournalHostSession
) -> None:
    await host.start("0", "title", ())
    with console(folder, clock) as session:
        control_id = await session.request(
            ControlAction.DENY, "run_1", approval_id="approval_1", reason="not on this machine"
        )
    assert await host.controls() == [
        Control(control_id, ControlAction.DENY, "run_1", "ana", "approval_1", "not on this machine", 2)
    ]


async def test_an_action_of_a_newer_console_comes_with_its_name(
    folder: Path, clock: FakeClock, host: JournalHostSession
) -> None:
    await host.start("0", "title", ())
    payload = '{"type":"ControlRequested","control_id":"ctl_1","action":"teleport","by":"bo"}'
    with console(folder, clock) as session:
        store = session._tail.store
        store.connection.execute("PRAGMA query_only = OFF")
        with store.transaction():
            store.append(Unknown("ControlRequested", payload), clock())
            store.connection.execute(
                "INSERT INTO control (id, place, action, run_id, requested_by, state)"
                " VALUES ('ctl_1', 2, 'teleport', NULL, 'bo', 'requested')"
            )
    assert await host.controls() == [Control("ctl_1", "teleport", None, "bo", seq=2)]


def test_the_hosts_bus_is_known_as_its_inboxs(host: JournalHostSession) -> None:
    assert host.emit == host.inbox.emit


async def test_a_console_says_that_it_is_there(folder: Path, clock: FakeClock, host: JournalHostSession) -> None:
    await host.start("0", "title", ())
    assert host.console_seen_at() == 0
    with console(folder, clock) as session:
        session.probe()
    assert host.console_seen_at() == clock()


class TestTheHostsLife:
    async def test_a_second_host_is_refused(
        self, folder: Path, clock: FakeClock, host: JournalHostSession
    ) -> None:
        with pytest.raises(HostError, match="another host process runs"):
            JournalHostSession(folder, clock)

    async def test_a_host_never_takes_over_an_old_journal(self, folder: Path, clock: FakeClock) -> None:
        die(JournalHostSession(folder, clock))
        with pytest.raises(JournalError, match="is there already"):
            JournalHostSession(folder, clock)

    async def test_the_hand_shake_is_seen_once_the_host_has_started(
        self, folder: Path, clock: FakeClock, host: JournalHostSession
    ) -> None:
        assert not host_started(folder)
        await host.start("0", "title", ())
        assert host_started(folder)

    async def test_a_host_that_beats_runs_and_one_that_does_not_is_not_responding(
        self, folder: Path, clock: FakeClock, host: JournalHostSession
    ) -> None:
        await host.start("0", "title", ())
        with console(folder, clock) as session:
            assert session.probe().state is HostState.RUNNING
            clock.tick(6)
            assert session.probe().state is HostState.NOT_RESPONDING
            host.beat()
            await written(host)
            assert session.probe().state is HostState.RUNNING

    async def test_whoever_finds_the_host_dead_ends_its_runs_as_lost_and_returns_their_mail(
        self, folder: Path, clock: FakeClock
    ) -> None:
        host = JournalHostSession(folder, clock)
        await host.start("0", "title", ("subagent-b",))
        host.emit(started("run_1"))
        await written(host)
        with console(folder, clock) as session:
            queued = await session.send("run_1", session.compose("are you there?", Preset.STEER))
            unbound = await session.send("subagent-b", session.compose("and you?", Preset.STEER))
            die(host)
            await found_lost(session)
            told = events(session)
            assert [event.outcome for event in told if isinstance(event, RunFinished)] == [Outcome.LOST]
            assert {(event.message_id, event.reason) for event in told if isinstance(event, MessageReturned)} == {
                (queued.message_id, ReturnReason.HOST_LOST),
                (unbound.message_id, ReturnReason.HOST_LOST),
            }
            before = len(told)
            for address in ("run_1", "subagent-b"):
                with pytest.raises(SendRefusedError) as refused:
                    await session.send(address, session.compose("too late", Preset.STEER))
                assert refused.value.refusal is Refusal.RUN_ENDED
        with console(folder, clock, "bo") as another:
            assert another.probe().state is HostState.LOST
            assert len(events(another)) == before

    async def test_what_a_foreign_loop_of_a_dead_host_had_taken_is_in_doubt(
        self, folder: Path, clock: FakeClock
    ) -> None:
        host = JournalHostSession(folder, clock)
        await host.start("0", "title", ())
        drain = host.inbox.reader("crew")
        taken = host.inbox.steer("crew", "taken")
        assert drain() == ["taken"]
        die(host)
        with console(folder, clock) as session:
            await found_lost(session)
            returned = [event for event in events(session) if isinstance(event, MessageReturned)]
            assert [(event.message_id, event.reason) for event in returned] == [
                (taken.message_id, ReturnReason.IN_DOUBT)
            ]

    async def test_the_close_of_a_session_ends_the_foreign_runs_that_live(
        self, folder: Path, clock: FakeClock
    ) -> None:
        host = JournalHostSession(folder, clock)
        await host.start("0", "title", ())
        drain = host.inbox.reader("crew")
        host.inbox.steer("crew", "taken")
        assert drain() == ["taken"]
        await host.close("all done")
        assert drain() == []
        with console(folder, clock) as session:
            told = events(session)
        assert [type(event) for event in told[-3:]] == [RunFinished, MessageReturned, SessionClosed]

    async def test_a_closed_session_is_over_and_not_lost(self, folder: Path, clock: FakeClock) -> None:
        host = JournalHostSession(folder, clock)
        await host.start("0", "title", ())
        host.emit(started("run_1"))
        await host.inbox.open_run("run_1").finish(AFTER_TOOLS, RunEnd(Outcome.ANSWERED, "done"))
        await host.close("all done")
        with console(folder, clock) as session:
            assert session.probe().state is HostState.CLOSED
            assert events(session)[-1] == SessionClosed(reason="all done")
            with pytest.raises(SendRefusedError) as refused:
                await session.send("run_1", session.compose("too late", Preset.STEER))
            assert refused.value.refusal is Refusal.RUN_ENDED


async def test_the_list_of_sessions_tells_how_each_stands(clock: FakeClock) -> None:
    running = make_session_folder("20260103-000000-cccc")
    hosts = {
        name: JournalHostSession(folder, clock)
        for name, folder in {
            "closed": make_session_folder("20260101-000000-aaaa"),
            "lost": make_session_folder("20260102-000000-bbbb"),
            "running": running,
        }.items()
    }
    for name, host in hosts.items():
        await host.start("0", name, ())
        host.emit(started("run_1"))
        await written(host)
    with console(running, clock) as session:
        await session.send("run_1", session.compose("hello", Preset.STEER))
    await hosts["closed"].close("done")
    die(hosts["lost"])
    found = [(summary.title, summary.state, summary.live, summary.pending) for summary in sessions(clock)]
    assert found == [
        ("running", HostState.RUNNING, 1, 1),
        ("lost", HostState.LOST, 0, 0),  # whoever looks is the reaper
        ("closed", HostState.CLOSED, 1, 0),
    ]
    die(hosts["running"])
