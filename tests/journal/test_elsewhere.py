"""Mail that came back goes on to somebody else: with its text, as a message of its own, and on the record."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from dashboard.core.errors import SendRefusedError
from dashboard.core.events import MessageForwarded, RunStarted
from dashboard.core.mail import Boundary, BoundaryKind
from dashboard.core.messages import MessageState, Preset, Refusal, ReturnReason
from dashboard.core.outcomes import Outcome, RunEnd
from dashboard.core.projection import Projection
from dashboard.core.sessions import Destination, HostState
from dashboard.journal.home import make_session_folder
from dashboard.journal.session import JournalHostSession, JournalOperatorSession
from tests.conftest import FakeClock
from tests.journal.test_session import die

FINAL = Boundary(BoundaryKind.FINAL, turn=1, round=2, history_index=2)


async def hosted(name: str, title: str, clock: FakeClock, *runs: str) -> JournalHostSession:
    host = JournalHostSession(make_session_folder(name), clock)
    await host.start("0", title, ())
    for run_id in runs:
        host.emit(RunStarted(run_id=run_id, label=f"subagent-{run_id}", ordinal=1, task="t", max_iterations=9))
    await asyncio.to_thread(host.inbox.runs)
    return host


@pytest.fixture
async def host(clock: FakeClock) -> AsyncIterator[JournalHostSession]:
    host = await hosted("20260102-000000-aaaa", "mine", clock, "a", "b")
    yield host
    die(host)


@pytest.fixture
async def console(host: JournalHostSession, clock: FakeClock) -> AsyncIterator[JournalOperatorSession]:
    session = JournalOperatorSession(host.folder, "ana", clock)
    yield session
    session.close()


async def come_back(host: JournalHostSession, console: JournalOperatorSession, body: str) -> str:
    """Give the id of a message whose run ended before it read it."""
    receipt = await console.send("subagent-a#1", console.compose(body, Preset.FOLLOWUP))
    await host.inbox.open_run("a").finish(FINAL, RunEnd(Outcome.ERROR))
    return receipt.message_id


async def test_its_own_session_comes_first_and_only_runs_that_read_are_offered(
    host: JournalHostSession, console: JournalOperatorSession, clock: FakeClock
) -> None:
    other = await hosted("20260101-000000-bbbb", "another", clock, "c")
    over = await hosted("20260103-000000-cccc", "over", clock, "d")
    await over.close("done")
    host.emit(
        RunStarted(run_id="deaf", label="subagent-deaf", ordinal=1, task="t", max_iterations=9, reading=False)
    )
    await come_back(host, console, "text")
    found = [(one.title, one.name, one.short) for one in await console.destinations()]
    assert found == [("mine", "subagent-b#1", "b#1"), ("another", "subagent-c#1", "c#1")]
    die(other)


async def test_the_text_goes_on_as_a_message_of_its_own_and_both_journals_say_so(
    host: JournalHostSession, console: JournalOperatorSession, clock: FakeClock
) -> None:
    other = await hosted("20260101-000000-bbbb", "another", clock, "c")
    message_id = await come_back(host, console, "check worker.log")
    to = (await console.destinations())[-1]
    receipt = await console.forward(message_id, to)
    (arrived,) = other.inbox.messages()
    assert (arrived.id, arrived.body, arrived.lane) == (
        receipt.message_id,
        "check worker.log",
        Preset.FOLLOWUP.lane,
    )
    assert arrived.sender.name == "ana"
    projection = Projection()
    projection.fold(console.read(0, 1_000))
    (sent,) = projection.messages[message_id].forwarded
    assert sent == MessageForwarded(
        message_id=message_id, to="subagent-c#1", session_id="20260101-000000-bbbb", as_id=receipt.message_id,
        by="ana", run_id="a",
    )  # fmt: skip
    assert projection.messages[message_id].reason is ReturnReason.RUN_ENDED
    die(other)


async def test_another_run_of_the_same_session_will_do(
    host: JournalHostSession, console: JournalOperatorSession
) -> None:
    message_id = await come_back(host, console, "text")
    (to,) = await console.destinations()
    await console.forward(message_id, to)
    assert [(message.to, message.state) for message in host.inbox.messages()] == [
        ("subagent-a#1", MessageState.UNDELIVERABLE),
        ("subagent-b#1", MessageState.QUEUED),
    ]


async def test_what_waits_or_was_read_is_not_sent_on(
    host: JournalHostSession, console: JournalOperatorSession
) -> None:
    to = (await console.destinations())[-1]
    receipt = await console.send("subagent-a#1", console.compose("text", Preset.STEER))
    with pytest.raises(SendRefusedError, match="waits still") as refused:
        await console.forward(receipt.message_id, to)
    assert refused.value.refusal is Refusal.TOO_LATE
    await host.inbox.open_run("a").take(Boundary(BoundaryKind.AFTER_TOOLS, 1, 1, 2))
    with pytest.raises(SendRefusedError, match="was read"):
        await console.forward(receipt.message_id, to)
    with pytest.raises(SendRefusedError, match="no message msg_0"):
        await console.forward("msg_0", to)


async def test_a_destination_that_has_ended_meanwhile_refuses_and_nothing_is_recorded(
    host: JournalHostSession, console: JournalOperatorSession
) -> None:
    message_id = await come_back(host, console, "text")
    (to,) = await console.destinations()
    await host.inbox.open_run("b").finish(FINAL, RunEnd(Outcome.ERROR))
    with pytest.raises(SendRefusedError, match="has ended"):
        await console.forward(message_id, to)
    projection = Projection()
    projection.fold(console.read(0, 1_000))
    assert projection.messages[message_id].forwarded == []


async def test_mail_of_a_session_whose_host_died_goes_to_one_that_lives(clock: FakeClock) -> None:
    dead = await hosted("20260102-000000-dddd", "dead", clock, "a")
    lives = await hosted("20260101-000000-bbbb", "another", clock, "c")
    session = JournalOperatorSession(dead.folder, "ana", clock)
    receipt = await session.send("subagent-a#1", session.compose("save me", Preset.STEER))
    die(dead)
    while session.probe().state is not HostState.LOST:
        await asyncio.sleep(0)
    (to,) = await session.destinations()
    assert to == Destination("20260101-000000-bbbb", "another", "c", "subagent-c#1", "c#1")
    await session.forward(receipt.message_id, to)
    assert [message.body for message in lives.inbox.messages()] == ["save me"]
    session.close()
    die(lives)
