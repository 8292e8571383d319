"""Where a run's events go: every bus and every listener, each once."""

from __future__ import annotations

import logging

import pytest

from dashboard.agent.agent import Agent
from dashboard.agent.loop import run_agent
from dashboard.agent.telling import Telling
from dashboard.core.events import HistoryAppended, KnownEvent, MessageDelivered, RunFinished, TurnStarted
from dashboard.core.history import User
from dashboard.core.inbox import QueueInbox
from dashboard.core.outcomes import Outcome
from tests.agent.fakes import FakeInbox, FakeModel, Recorder, fake_runtime

EVENT = TurnStarted(run_id="run_1", turn=1)


def test_a_bus_that_is_given_twice_is_told_once_also_as_a_listener() -> None:
    told = Recorder()
    Telling([told, told], [told]).emit(EVENT)
    assert told.events == [EVENT]


def test_what_a_bus_has_recorded_itself_is_told_to_everyone_else() -> None:
    own, other, listener = Recorder(), Recorder(), Recorder()
    Telling([own, other], [listener]).recorded(EVENT, own)
    assert (own.events, other.events, listener.events) == ([], [EVENT], [EVENT])


def test_a_listener_that_fails_is_logged_once_and_ends_no_run(caplog: pytest.LogCaptureFixture) -> None:
    told = Recorder()

    def broken(event: KnownEvent) -> None:
        raise OSError("the pipe is gone")

    telling = Telling([], [broken, told])
    telling.emit(EVENT)
    telling.emit(EVENT)
    assert told.events == [EVENT, EVENT]
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


async def test_a_plain_readers_delivery_is_told_before_its_entry_and_at_the_same_index() -> None:
    told, inbox = Recorder(), QueueInbox()
    model = FakeModel(["A", "B"], during={1: lambda: inbox.send("x")})
    await run_agent(Agent(model, inbox=inbox), "p", fake_runtime(told))
    (delivered,) = told.of(MessageDelivered)
    at = told.events.index(delivered)
    run_id = delivered.run_id
    assert told.events[at : at + 2] == [
        MessageDelivered(run_id=run_id, turn=1, round=2, history_index=2),
        HistoryAppended(run_id=run_id, index=2, entry=User("x")),
    ]


async def test_an_inbox_with_a_bus_of_its_own_and_the_runtimes_bus_both_get_the_whole_run_once() -> None:
    shared, own = Recorder(), Recorder()
    inbox = FakeInbox(own)
    inbox.mail.send("x")
    await run_agent(Agent(FakeModel(["A"]), inbox=inbox), "p", fake_runtime(shared))
    assert shared.events == own.events
    assert len(shared.of(MessageDelivered)) == 1
    assert [event.outcome for event in shared.of(RunFinished)] == [Outcome.ANSWERED]
