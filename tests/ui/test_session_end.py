"""A host that is gone, leaving, and stopping everything."""

from __future__ import annotations

import pytest

from dashboard.core.sessions import HostState
from dashboard.ui.screens import confirm
from dashboard.ui.screens.confirm import Confirm
from dashboard.ui.screens.picker import Picker
from tests.ui.conftest import OpenStage


class TestTheHost:
    async def test_a_host_that_does_not_answer_is_said_to_not_respond(self, stage: OpenStage) -> None:
        async with stage(size=(160, 40)) as s:
            s.roster()
            await s.show()
            s.clock.tick(6)
            s.console.probe()
            await s.show()
            assert "host not responding for 6.0s" in s.text()

    async def test_a_host_that_died_leaves_lost_runs_and_returned_mail(self, stage: OpenStage) -> None:
        async with stage(size=(160, 46)) as s:
            s.roster()
            await s.show()
            await s.press("l", "m")
            await s.send("are you there?")
            s.host._lock.release()
            s.console.probe()  # finds it dead, and has its runs reaped
            s.console.probe()
            await s.show()
            assert s.console._host.state is HostState.LOST
            assert "host lost" in s.text()
            assert "? subagent-researcher#1 lost" in s.text()
            assert "↩ returned · subagent-researcher#1: the host process died" in s.text()
            assert "▌ operator ana · returned unread" in s.text()
            assert "▌ are you there?" in s.text()
            assert "the session is lost: nothing in it reads mail any more" in s.text()
            assert "m writes to" not in s.text()
            await s.press("at")
            assert not isinstance(s.app.screen, Picker)
            assert "The session is over" in s.toasts()
            assert "The host process died" in s.toasts()


class TestLeavingAndStopping:
    async def test_q_detaches_and_changes_nothing_in_the_session(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.roster()
            await s.show()
            before = s.host._tail.store.value("SELECT count(*) FROM event")
            await s.press("q")
            await s.pilot.pause()
            assert not s.app.is_running
            assert s.host._tail.store.value("SELECT count(*) FROM event") == before

    async def test_stop_all_asks_first_with_the_count_and_cancel_has_the_focus(
        self, stage: OpenStage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(confirm, "DEAF_SECONDS", 3_600.0)  # the test says when the moment has passed
        async with stage() as s:
            s.roster()
            await s.show()
            await s.type("Q\n")  # too soon to be an answer
            assert "Stop 3 runs and end the session?" in s.text()
            await s.press("enter")
            assert "Stop 3 runs and end the session?" in s.text()
            asked = s.app.screen
            assert isinstance(asked, Confirm)
            asked._listen()
            while asked.query("Button.-active"):  # a button that has just been pressed takes no second press
                await s.pilot.pause(0.01)
            await s.press("enter")
            assert not isinstance(s.app.screen, Confirm)
            assert await s.host.controls() == []

    async def test_stop_all_is_asked_of_the_host_once_it_is_confirmed(self, stage: OpenStage) -> None:
        async with stage() as s:
            s.roster()
            await s.show()
            await s.press("Q")
            asked = s.app.screen
            assert isinstance(asked, Confirm)
            asked._listen()
            await s.press("tab", "enter")
            await s.pilot.pause()
            assert [control.action for control in await s.host.controls()] == ["stop_session"]
