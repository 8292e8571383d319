"""A structured run: one request, decoded; no tools, no mail (P11)."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from dashboard.agent.agent import Agent
from dashboard.core.errors import RosterError
from dashboard.core.events import RunStarted
from dashboard.core.history import User
from dashboard.core.inbox import Drain
from dashboard.core.outcomes import Outcome
from tests.agent.fakes import FakeInbox, FakeModel, Recorder, fake_runtime, quick


@dataclass
class Finding:
    file: str
    line: int


class FakeOpenedInbox:
    def reader(self, agent: str | None = None) -> Drain:
        raise AssertionError("a structured run opens no reader")


async def test_the_one_reply_is_decoded_to_the_schema() -> None:
    model = FakeModel(['{"file": "worker.log", "line": 7}'])
    result = await Agent(model, tools=[quick("a")], inbox=FakeOpenedInbox()).run("p", schema=Finding)
    assert result.value == Finding("worker.log", 7)
    assert result.outcome is Outcome.ANSWERED
    (request,) = model.requests
    assert (request.history, request.tools) == ((User("p"),), ())
    assert request.output is not None
    assert set(request.output["$defs"]["Finding"]["properties"]) == {"file", "line"}


async def test_it_says_that_it_reads_no_mail() -> None:
    told = Recorder()
    await Agent(FakeModel(["[1]"]), inbox=FakeInbox(told)).run("p", schema=list[int], runtime=fake_runtime(told))
    assert [event.reading for event in told.of(RunStarted)] == [False]


@pytest.mark.parametrize("reply", ['{"file": 3, "line": 7}', "no JSON", ""])
async def test_a_reply_that_does_not_fit_is_an_error_that_says_where(reply: str) -> None:
    result = await Agent(FakeModel([reply])).run("p", schema=Finding)
    assert result.outcome is Outcome.ERROR
    assert result.error.startswith("the reply does not fit schema=Finding: ")
    assert result.value is None


@pytest.mark.parametrize("schema", ["Finding", 3, {"type": "object"}])
def test_what_is_no_type_is_refused_at_the_call(schema: object) -> None:
    with pytest.raises(RosterError, match=r"Agent\.run_sync\(schema=\.\.\.\) is not a type"):
        Agent(FakeModel([])).run_sync("p", schema=schema)


def test_a_type_that_json_cannot_hold_is_refused_at_the_call() -> None:
    with pytest.raises(RosterError, match=r"Agent\.run_sync\(schema=\.\.\.\) cannot be described as JSON"):
        Agent(FakeModel([])).run_sync("p", schema=FakeModel)
