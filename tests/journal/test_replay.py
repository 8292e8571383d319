"""A recorded session in the hands of a console: it reads what playback has come to, and can change nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.core.errors import JournalError, ReplayError
from dashboard.core.events import ControlAction, KnownEvent, NoticeLevel, NoticeRaised
from dashboard.core.messages import Hold, Preset
from dashboard.core.projection import Projection
from dashboard.core.sessions import Destination, HostState, OperatorSession, Played, ReplayedSession
from dashboard.journal.home import make_session_folder
from dashboard.journal.replay import STALL, ReplaySession
from dashboard.journal.session import JournalHostSession, JournalOperatorSession
from tests.conftest import FakeClock
from tests.core.recordings import queued, started

SECOND = 1_000_000


def trace(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.fixture
def folder(clock: FakeClock) -> Path:
    """A session of six events, a second apart, that is over."""
    host = JournalHostSession(make_session_folder("20260101-000000-aaaa"), clock, inline=True)
    events: list[KnownEvent] = [started("r")]
    events.extend(NoticeRaised(level=NoticeLevel.NOTE, text=f"{at}") for at in range(4))
    for event in events:
        host.emit(event)
        clock.tick(1)
    host.emit(queued("m"))
    host._writer.close()
    host._tail.close()
    host._lock.release()
    return host.folder


@pytest.fixture
def steady() -> FakeClock:
    return FakeClock(0)


@pytest.fixture
def session(folder: Path, steady: FakeClock) -> Iterator[ReplaySession]:
    replayed = ReplaySession(folder, "ana", clock=steady)
    yield replayed
    replayed.close()


def seqs(session: OperatorSession, after: int = 0, limit: int = 100) -> list[int]:
    return [record.seq for record in session.read(after, limit)]


def test_it_is_told_from_a_live_session_by_its_playback_alone(session: ReplaySession, folder: Path) -> None:
    replayed: ReplayedSession = session
    assert isinstance(replayed, Played)
    live = JournalOperatorSession(folder, "ana", inline=True)
    assert not isinstance(live, Played)
    live.close()


def test_it_gives_what_is_due_as_time_passes_and_the_time_of_then(
    session: ReplaySession, steady: FakeClock, clock: FakeClock
) -> None:
    start = clock() - 5 * SECOND
    assert seqs(session) == [1]
    assert session.now() == start
    steady.tick(1)
    assert seqs(session, after=1) == [2]
    steady.tick(0.5)
    assert seqs(session, after=2) == []
    assert session.now() == start + SECOND * 3 // 2


def test_it_gives_no_more_than_it_is_asked_for(session: ReplaySession) -> None:
    session.playback.skip_to(6)
    assert seqs(session, limit=2) == [1, 2]
    assert seqs(session, after=2, limit=3) == [3, 4, 5]
    assert seqs(session, after=5, limit=3) == [6]


def test_while_nobody_looks_at_it_hardly_any_time_passes(session: ReplaySession, steady: FakeClock) -> None:
    seqs(session)
    steady.tick(3_600)  # the terminal was stopped, or the machine was asleep
    assert seqs(session) == [1, *range(2, 2 + STALL // SECOND)]


def test_it_starts_where_it_is_told_and_at_that_speed(folder: Path, steady: FakeClock) -> None:
    session = ReplaySession(folder, "ana", speed=4, start=3, clock=steady)
    assert seqs(session) == [1, 2, 3]
    steady.tick(0.5)
    assert seqs(session) == [1, 2, 3, 4, 5]
    session.close()


def test_a_jump_goes_to_what_is_in_the_journal(session: ReplaySession) -> None:
    found = session.playback.next_message()
    assert found is not None
    assert found.seq == 6
    assert seqs(session) == [1, 2, 3, 4, 5, 6]


async def test_whatever_would_write_is_refused_and_the_session_is_as_it_was(
    session: ReplaySession, folder: Path, steady: FakeClock
) -> None:
    before = trace(folder)
    message = session.compose("hello", Preset.STEER)
    projection = Projection()
    projection.fold(session.read(0, 100))
    batch = session.compose_batch("hello", Preset.FOLLOWUP, list(projection.runs.values()))
    assert [part.name for part in batch] == ["main"]
    assert await session.destinations() == []
    for attempt in (
        session.send("main", message),
        session.broadcast(batch),
        session.amend("m", Hold()),
        session.request(ControlAction.STOP_SESSION),
        session.forward("m", Destination(session.session_id, "", "r", "main", "main")),
    ):
        with pytest.raises(ReplayError, match=r"^this is a replay: nothing is sent$"):
            await attempt
    for _ in range(10):
        assert session.probe().state is HostState.REPLAY
        steady.tick(1)
        session.read(0, 100)
    session.playback.restart()
    session.read(0, 100)
    assert trace(folder) == before  # no console's presence, no log, no lock
    session.close()
    assert trace(folder) == before


def test_a_session_that_lives_is_played_so_far_and_goes_on_growing(clock: FakeClock, steady: FakeClock) -> None:
    host = JournalHostSession(make_session_folder("20260101-000000-bbbb"), clock, inline=True)
    host.emit(started("r"))
    session = ReplaySession(host.folder, "ana", clock=steady)
    assert seqs(session) == [1]
    assert not session.playback.standing().complete
    clock.tick(60)
    host.emit(NoticeRaised(level=NoticeLevel.NOTE, text="more"))
    assert seqs(session, after=1) == [2]
    assert int(host._tail.store.value("SELECT count(*) FROM console")) == 0
    session.close()
    host._writer.close()
    host._tail.close()
    host._lock.release()


def test_what_is_no_session_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="there is no journal"):
        ReplaySession(tmp_path, "ana")


def test_a_speed_that_there_is_not_is_said_at_once(folder: Path) -> None:
    with pytest.raises(ValueError, match="got 5"):
        ReplaySession(folder, "ana", speed=5)
