from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, cast

import pytest

from dashboard.agent.boundary import NoMail, ReaderMail, open_mail
from dashboard.core.events import RunStarted
from dashboard.core.inbox import Drain, QueueInbox
from dashboard.core.mail import Boundary, BoundaryKind, Delivered
from dashboard.core.outcomes import Outcome, RunEnd
from tests.agent.fakes import FakeInbox, Recorder

RUN = RunStarted(run_id="run_1", label="subagent-writer", ordinal=1, task="p", max_iterations=10)
ANSWERED = RunEnd(Outcome.ANSWERED, "A")
READ = {BoundaryKind.AFTER_TOOLS, BoundaryKind.DEGENERATE, BoundaryKind.FINAL, BoundaryKind.WRAP_UP}


def at(kind: BoundaryKind = BoundaryKind.AFTER_TOOLS) -> Boundary:
    return Boundary(kind, turn=1, round=2, history_index=4)


def reading(drain: Callable[[], Any]) -> ReaderMail:
    return ReaderMail(drain, RUN.label, "FakeInbox")


class FakeReader:
    """An inbox whose reader is what the test says."""

    def __init__(self, reader: Callable[..., Any]) -> None:
        self._reader = reader
        self.labels: list[object] = []

    def reader(self, agent: str | None = None) -> Drain:
        self.labels.append(agent)
        return cast("Drain", self._reader())


@pytest.mark.parametrize("kind", BoundaryKind)
async def test_a_plain_reader_is_drained_at_its_own_boundaries_alone(kind: BoundaryKind) -> None:
    assert bool(await reading(lambda: ["x"]).take(at(kind))) is (kind in READ)


async def test_what_one_drain_gives_is_one_user_message_without_its_white_space() -> None:
    assert await reading(lambda: [" stop\n", "", "  ", "look here "]).take(at()) == (
        Delivered("stop\n\nlook here"),
    )


async def test_white_space_alone_delivers_nothing() -> None:
    assert await reading(lambda: ["  ", "\n"]).take(at()) == ()


def explode() -> list[str]:
    raise OSError("the pipe is gone")


async def not_a_drain() -> list[str]:
    return ["x"]


@pytest.mark.parametrize(
    "drain",
    [explode, lambda: "stop", lambda: None, lambda: iter(["x"]), lambda: ["x", 3], not_a_drain],
    ids=["raises", "str", "none", "iterator", "element", "async"],
)
async def test_a_drain_that_fails_is_logged_once_and_never_called_again(
    drain: Callable[[], Any], caplog: pytest.LogCaptureFixture
) -> None:
    calls = 0

    def counted() -> object:
        nonlocal calls
        calls += 1
        return drain()

    mail = reading(counted)
    assert await mail.take(at()) == await mail.take(at()) == ()
    assert calls == 1
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert "subagent-writer" in caplog.text
    assert "without a reader" in caplog.text


async def test_a_tuple_of_texts_is_as_good_as_a_list() -> None:
    assert await reading(lambda: ("x", "y")).take(at()) == (Delivered("x\n\ny"),)


async def test_finishing_drains_once_more_and_ends_nothing_if_that_gives_text() -> None:
    texts = [["x"], []]
    mail = reading(lambda: texts.pop(0))
    assert await mail.finish(at(BoundaryKind.FINAL), ANSWERED) == (Delivered("x"),)
    assert await mail.finish(at(BoundaryKind.FINAL), ANSWERED) == ()


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome is not Outcome.ANSWERED])
async def test_only_an_answered_end_can_be_extended(outcome: Outcome) -> None:
    mail = reading(lambda: ["x"])
    assert await mail.finish(at(BoundaryKind.FINAL), RunEnd(outcome)) == ()


def test_a_reader_is_opened_once_with_the_label_as_a_positional_argument() -> None:
    inbox = FakeReader(lambda: list)
    mail, recorder = open_mail(inbox, RUN)
    assert isinstance(mail, ReaderMail)
    assert recorder is None
    assert inbox.labels == ["subagent-writer"]


async def not_a_reader() -> Callable[[], list[str]]:
    return list


@pytest.mark.parametrize("reader", [explode, lambda: None, not_a_reader], ids=["raises", "none", "async"])
def test_a_reader_that_fails_to_open_is_logged_and_the_run_goes_on_without(
    reader: Callable[[], Any], caplog: pytest.LogCaptureFixture
) -> None:
    mail, recorder = open_mail(FakeReader(reader), RUN)
    assert type(mail) is NoMail
    assert recorder is None
    assert len(caplog.records) == 1
    assert "without a reader" in caplog.text


def test_an_inbox_that_opens_runs_brings_its_own_mail() -> None:
    inbox = FakeInbox(Recorder())
    assert open_mail(inbox, RUN) == (inbox.mail, inbox.emit)
    assert inbox.mail.run_id == "run_1"


async def test_without_an_inbox_nothing_is_read_and_nothing_extends() -> None:
    mail, _ = open_mail(None, RUN)
    assert await mail.take(at()) == ()
    assert await mail.finish(at(BoundaryKind.FINAL), ANSWERED) == ()


async def test_a_plain_inbox_wakes_no_idle_run() -> None:
    inbox = QueueInbox()
    inbox.send("x")
    mail, _ = open_mail(inbox, RUN)
    waiting = asyncio.ensure_future(mail.wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()
