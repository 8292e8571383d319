"""``r`` sends a message that came back on to a run that lives: with its text, and nothing is guessed."""

from __future__ import annotations

from dashboard.core.outcomes import Outcome
from dashboard.journal.home import make_session_folder
from dashboard.journal.session import JournalHostSession
from dashboard.ui.screens.picker import Picker
from tests.conftest import FakeClock
from tests.ui.conftest import OpenStage, Stage


async def come_back(s: Stage, *texts: str) -> None:
    """Write to the first researcher, and let it end before it has read anything."""
    s.roster()
    await s.show()
    await s.press("l")
    for text in texts:
        await s.press("m")
        await s.send(text)
    s.finish("run_1", Outcome.ERROR)
    await s.show()


async def settled(s: Stage) -> None:
    """Let the workers come to their end, and draw what they brought."""
    await s.app.workers.wait_for_complete()
    await s.show()


def shown(s: Stage) -> list[str]:
    picker = s.app.screen
    assert isinstance(picker, Picker)
    return [choice.name for choice in picker._shown]


async def test_the_only_one_goes_to_whom_is_picked_and_the_receipt_says_so(stage: OpenStage) -> None:
    async with stage(size=(160, 40)) as s:
        await come_back(s, "check worker.log")
        assert "r sends it on" in s.text()
        await s.press("r")
        await settled(s)
        assert shown(s) == ["main", "subagent-researcher#2"]
        assert "send on “check worker.log” to" in s.text()
        await s.press("down", "enter")
        await settled(s)
        assert await s.boundary("run_2") == ["check worker.log"]
        assert "Sent on to subagent-researcher#2." in s.toasts()
        assert "sent on to subagent-researcher#2" in s.text()
        await s.press("r")
        assert "No message came back." in s.toasts()  # this one is taken care of


async def test_of_several_one_is_picked_first_by_a_few_letters(stage: OpenStage) -> None:
    async with stage(size=(160, 40)) as s:
        await come_back(s, "first lead", "second lead")
        await s.press("r")
        await settled(s)
        assert shown(s) == ["second lead", "first lead"]
        await s.type("fir")
        await s.press("enter")
        await settled(s)
        await s.press("enter")
        await settled(s)
        assert await s.boundary("run_m") == ["first lead"]
        await s.press("r")
        await settled(s)
        assert "send on “second lead” to" in s.text()


async def test_leaving_sends_nothing(stage: OpenStage) -> None:
    async with stage(size=(160, 40)) as s:
        await come_back(s, "lead")
        await s.press("r")
        await settled(s)
        await s.press("escape")
        await settled(s)
        assert await s.boundary("run_m") == []
        assert "r sends it on" in s.text()


async def test_mail_of_a_dead_host_goes_to_another_session(stage: OpenStage, clock: FakeClock) -> None:
    other = JournalHostSession(make_session_folder("20260102-000000-bbbb"), clock, inline=True)
    await other.start("0", "[b]another[/b]", ())
    async with stage(size=(160, 40)) as s:
        s.roster()
        await s.show()
        await s.press("l", "m")
        await s.send("save me")
        s.host._lock.release()
        s.console.probe()
        s.console.probe()
        await s.show()
        assert "Unread mail came back: r sends it on." in s.toasts()
        await s.press("r")
        await settled(s)
        assert "Nobody who reads mail is live" in s.toasts()
        elsewhere = Stage(other.folder, clock, s.pilot, other)
        elsewhere.start("run_o", "subagent-other")
        await s.press("r")
        await settled(s)
        assert shown(s) == ["subagent-other#1"]
        assert "[b]another[/b]" in s.text()
        await s.press("enter")
        await settled(s)
        assert "Sent on to subagent-other#1 in 20260102-000000-bbbb; `dashboard attach" in s.toasts()
        assert await elsewhere.boundary("run_o") == ["save me"]
    await other.close("done")


async def test_a_reader_that_has_ended_meanwhile_refuses_and_it_can_be_tried_again(stage: OpenStage) -> None:
    async with stage(size=(160, 40)) as s:
        await come_back(s, "lead")
        await s.press("r")
        await settled(s)
        s.finish("run_m")
        await s.press("enter")
        await settled(s)
        assert "Not sent on: main has ended" in s.toasts()
        assert "r sends it on" in s.text()
