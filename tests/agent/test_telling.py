"""Where a run's events go: every bus and every listener, each once."""

from __future__ import annotations

import logging

import pytest

from dashboard.agent.agent import Agent
from dashboard.agent.loop import run_agent
from dashboard.agent.telling import Telling
from dashboard.core.events import (
    HistoryAppended,
    KnownEvent,
    MessageDelivered,
    RunFinished,
    RunStarted,
    TurnStarted,
)
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
    """Each under a name that is free there; and only where its mail is can the run be written to."""
    shared, own = Recorder(), Recorder()
    inbox = FakeInbox(own)
    inbox.mail.send("x")
    inbox.next_ordinal("main")
    await run_agent(Agent(FakeModel(["A"]), name="main", inbox=inbox), "p", fake_runtime(shared))
    assert shared.events[1:] == own.events[1:]
    (there,), (here,) = own.of(RunStarted), shared.of(RunStarted)
    assert (there.run_id, there.label, there.ordinal, there.reading) == (here.run_id, "main", 2, True)
    assert (here.ordinal, here.reading) == (1, False)
    assert len(shared.of(MessageDelivered)) == 1
    assert [event.outcome for event in shared.of(RunFinished)] == [Outcome.ANSWERED]


def test_a_listener_need_not_be_hashable_and_may_fail_within_its_own_failure() -> None:
    class Nested:
        __hash__ = None  # type: ignore[assignment]

        def __init__(self) -> None:
            self.depth = 0

        def __call__(self, event: KnownEvent) -> None:
            self.depth += 1
            if self.depth < 3:
                telling.emit(event)
            raise OSError("the pipe is gone")

    told = Recorder()
    telling = Telling([told], [Nested()])
    telling.emit(EVENT)
    assert told.events == [EVENT] * 3
