"""A command that looks at a session finds a dead host's runs lost at once, and its mail back with its text."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dashboard.core.errors import JournalError
from dashboard.core.events import RunFinished, RunStarted
from dashboard.core.messages import MessageState, Preset, ReturnReason
from dashboard.core.projection import Projection
from dashboard.core.sessions import HostState
from dashboard.core.views import RunState
from dashboard.journal.catalog import summarize
from dashboard.journal.home import make_session_folder
from dashboard.journal.reaping import look, readable
from dashboard.journal.session import JournalHostSession, JournalOperatorSession
from tests.conftest import FakeClock
from tests.journal.test_session import die

STARTED = RunStarted(run_id="r", label="main", ordinal=1, task="t", max_iterations=9)


@pytest.fixture
async def dead(clock: FakeClock) -> Path:
    """A session whose host died with a run that had mail, ten minutes after the run had last done anything."""
    host = JournalHostSession(make_session_folder("20260101-000000-aaaa"), clock)
    await host.start("0", "title", ())
    host.emit(STARTED)
    await asyncio.to_thread(host.inbox.runs)
    clock.tick(600)
    session = JournalOperatorSession(host.folder, "ana", clock)
    await session.send("main", session.compose("unread", Preset.STEER))
    session.close()
    host.beat()
    await asyncio.to_thread(host.inbox.runs)
    die(host)
    clock.tick(3_600)
    return host.folder


def projection(folder: Path) -> Projection:
    folded = Projection()
    with readable(folder) as store:
        folded.fold(store.records(0, 10_000))
    return folded


def test_whoever_looks_ends_the_runs_and_returns_their_mail_with_its_text(dead: Path, clock: FakeClock) -> None:
    assert look(dead, clock).state is HostState.LOST
    told = projection(dead)
    assert told.runs["r"].state is RunState.LOST
    (message,) = told.messages.values()
    assert (message.state, message.reason, message.body) == (
        MessageState.UNDELIVERABLE, ReturnReason.HOST_LOST, "unread",
    )  # fmt: skip


def test_a_lost_run_keeps_its_last_activity_whenever_it_was_found(dead: Path, clock: FakeClock) -> None:
    look(dead, clock)
    run = projection(dead).runs["r"]
    assert run.last_at == run.started_at  # neither the mail to it nor its being found is its own doing
    assert run.ended_at - run.last_at == 4_200_000_000


def test_the_list_says_when_the_host_was_last_alive(dead: Path, clock: FakeClock) -> None:
    summary = summarize(dead, clock)
    assert (summary.state, summary.live, summary.pending, summary.returned) == (HostState.LOST, 0, 0, 1)
    assert clock() - summary.last_at == 3_600_000_000


def test_looking_again_changes_nothing(dead: Path, clock: FakeClock) -> None:
    look(dead, clock)
    before = projection(dead).seq
    assert look(dead, clock).state is HostState.LOST
    assert projection(dead).seq == before


def test_a_host_that_died_before_it_had_said_anything_is_lost(clock: FakeClock) -> None:
    host = JournalHostSession(make_session_folder("20260101-000000-aaaa"), clock)
    die(host)
    assert look(host.folder, clock).state is HostState.LOST
    assert summarize(host.folder, clock).runs == 0


async def test_a_living_host_is_not_reaped_however_long_it_is_silent(clock: FakeClock) -> None:
    host = JournalHostSession(make_session_folder("20260101-000000-aaaa"), clock)
    await host.start("0", "title", ())
    host.emit(STARTED)
    await asyncio.to_thread(host.inbox.runs)
    assert look(host.folder, clock).state is HostState.RUNNING
    clock.tick(60)
    assert look(host.folder, clock).state is HostState.NOT_RESPONDING
    with readable(host.folder) as store:
        assert not [record for record in store.records(0, 100) if isinstance(record.event, RunFinished)]
    die(host)


def test_a_closed_session_is_closed_and_its_file_is_left_alone(clock: FakeClock) -> None:
    host = JournalHostSession(make_session_folder("20260101-000000-aaaa"), clock)
    asyncio.run(host.close("done"))
    before = (host.folder / "journal.db").read_bytes()
    assert look(host.folder, clock).state is HostState.CLOSED
    assert (host.folder / "journal.db").read_bytes() == before


def test_a_dead_host_whose_runs_cannot_be_ended_is_told_and_still_listed(
    dead: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    import apsw

    def full(*_: object) -> int:
        raise apsw.FullError("database or disk is full")

    monkeypatch.setattr("dashboard.journal.reaping.mailroom.reap", full)
    with pytest.raises(JournalError, match="its runs could not be ended: database or disk is full"):
        look(dead, clock)
    summary = summarize(dead, clock)
    assert (summary.state, summary.live, summary.pending) == (HostState.LOST, 1, 1)
    assert "could not be ended" in summary.problem
