"""``send``, ``mail`` and ``control``: a message's fate is the exit status, and nothing is sent by a guess."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from dashboard.cli.shared import Exit
from dashboard.core.events import ApprovalRequested, ControlAction, ControlApplied, ControlRefused
from dashboard.core.messages import Lane, MessageState
from dashboard.core.outcomes import Outcome
from tests.cli.conftest import SESSION, Hosted, command, shell


class TestSend:
    async def test_it_stores_the_message_says_its_id_and_that_it_waits(self, hosted: Hosted) -> None:
        done = await shell("send", SESSION, "researcher#2", "check worker.log")
        (message,) = hosted.session.inbox.messages()
        assert (message.run_id, message.body, message.lane) == ("run_r2", "check worker.log", Lane.NEXT_STEP)
        assert done.output == f"{message.id} pending, subagent-researcher#2 reads it at its next round\n"
        assert done.exit_code == Exit.DONE

    @pytest.mark.parametrize(("flag", "lane", "wake"), [
        ("--steer", Lane.NEXT_STEP, True), ("--followup", Lane.NEXT_TURN, True),
        ("--inject", Lane.NEXT_STEP, False),
    ])  # fmt: skip
    async def test_each_way_of_writing_has_its_flag(
        self, hosted: Hosted, flag: str, lane: Lane, wake: bool
    ) -> None:
        await shell("send", SESSION, "main", "text", flag)
        (message,) = hosted.session.inbox.messages()
        assert (message.lane, message.wake) == (lane, wake)

    async def test_waiting_it_says_in_which_round_it_was_read(self, hosted: Hosted) -> None:
        sending = asyncio.ensure_future(shell("send", SESSION, "main", "read me", "--wait"))
        while not await hosted.read("run_main"):
            await hosted.goes_on(sending)
        done = await sending
        assert "read in round 2, main, after " in done.output
        assert done.exit_code == Exit.DONE

    async def test_waiting_it_says_that_it_came_back_and_why(self, hosted: Hosted) -> None:
        sending = asyncio.ensure_future(shell("send", SESSION, "researcher#1", "late", "--followup", "--wait"))
        while not hosted.session.inbox.messages():
            await hosted.goes_on(sending)
        await hosted.end("run_r1", Outcome.ERROR)
        done = await sending
        assert "returned, subagent-researcher#1: the run ended before it read it" in done.output
        assert done.exit_code == Exit.RETURNED

    async def test_when_the_time_is_up_it_says_that_it_still_waits(self, hosted: Hosted) -> None:
        done = await shell("send", SESSION, "main", "slow", "--timeout", "0")
        assert "pending, main" in done.output
        assert done.exit_code == Exit.PENDING

    async def test_a_text_comes_from_standard_input_whole(self, hosted: Hosted) -> None:
        await shell("send", SESSION, "main", "-", stdin="one\n\ttwo\n\n")
        assert hosted.session.inbox.messages()[0].body == "one\n\ttwo\n"

    async def test_what_is_no_text_is_refused_with_the_place_and_nothing_is_sent(self, hosted: Hosted) -> None:
        done = await shell("send", SESSION, "main", "-", stdin=b"ab\xff")
        assert "byte 2 is 0xff" in done.stderr
        assert done.exit_code == Exit.FAILED
        assert hosted.session.inbox.messages() == ()

    async def test_a_text_that_begins_like_an_option_can_be_sent(self, hosted: Hosted) -> None:
        assert (await shell("send", SESSION, "main", "--", "--wait")).exit_code == Exit.DONE
        assert hosted.session.inbox.messages()[0].body == "--wait"

    @pytest.mark.parametrize(("to", "text", "said"), [
        ("researcher", "hi", "subagent-researcher#1, subagent-researcher#2"), ("nobody", "hi", "called nobody"),
        ("main", " ", "nothing in the message but white space"),
    ])  # fmt: skip
    async def test_a_refusal_is_told_and_nothing_is_stored(
        self, hosted: Hosted, to: str, text: str, said: str
    ) -> None:
        done = await shell("send", SESSION, to, text)
        assert said in done.stderr
        assert done.exit_code == Exit.FAILED
        assert hosted.session.inbox.messages() == ()

    async def test_the_message_carries_the_operators_name(
        self, hosted: Hosted, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DASHBOARD_OPERATOR", "bob")
        await shell("send", SESSION, "main", "hi")
        assert hosted.session.inbox.messages()[0].sender.name == "bob"

    def test_without_a_session_it_says_which_there_are(self) -> None:
        done = command("send", "nosuch", "main", "hi")
        assert "no session 'nosuch'" in done.stderr
        assert done.exit_code == Exit.FAILED


class TestMail:
    async def test_it_tells_each_message_and_what_became_of_it(self, hosted: Hosted) -> None:
        await shell("send", SESSION, "main", "first")
        await hosted.read("run_main")
        await shell("send", SESSION, "main", "second")
        lines = (await shell("mail", SESSION)).output.splitlines()
        assert "read in round 2, main" in lines[0]
        assert lines[2] == "    > first"
        assert "pending, main" in lines[3]

    async def test_it_can_be_narrowed_to_a_run_and_to_what_waits(self, hosted: Hosted) -> None:
        for to in ("main", "researcher#1", "writer"):
            await shell("send", SESSION, to, f"to {to}")
        await hosted.read("run_main")
        for arguments, found in (
            (("--open",), ["to researcher#1", "to writer"]),
            (("--agent", "main"), ["to main"]),
            (("--agent", "subagent-writer"), ["to writer"]),
            (("--returned",), []),
        ):
            told = (await shell("mail", SESSION, "--json", *arguments)).output.splitlines()
            assert [json.loads(line)["body"] for line in told] == found

    async def test_no_mail_is_said_to_be_none(self, hosted: Hosted) -> None:
        assert (await shell("mail", SESSION)).output == "no mail yet\n"
        assert (await shell("mail", SESSION, "--returned")).output == "no message came back\n"


async def answered(
    hosted: Hosted, *arguments: str, refused: str = ""
) -> tuple[ControlAction | str, str | None, int, str]:
    """Ask as a shell does, answer as a host does; gives the action, its run, the exit status and what was told."""
    asking = asyncio.ensure_future(shell("control", SESSION, *arguments))
    while not (controls := await hosted.session.controls()):
        await hosted.goes_on(asking)
    (asked,) = controls
    if refused:
        hosted.emit(ControlRefused(control_id=asked.id, reason=refused, run_id=asked.run_id))
    else:
        hosted.emit(ControlApplied(control_id=asked.id, action=ControlAction(asked.action), run_id=asked.run_id))
    done = await asking
    return asked.action, asked.run_id, done.exit_code, done.output + done.stderr


class TestControl:
    @pytest.mark.parametrize(("arguments", "action", "told"), [
        (("pause", "main"), "pause", "main is held"), (("step", "main"), "step", "main makes one round"),
        (("resume", "main"), "resume", "main goes on"), (("stop", "main"), "cancel", "main is stopped"),
        (("stop", "main", "--subtree"), "cancel_subtree", "and all below it"),
    ])  # fmt: skip
    async def test_it_waits_until_the_host_has_done_it(
        self, hosted: Hosted, arguments: tuple[str, ...], action: str, told: str
    ) -> None:
        asked, run_id, status, output = await answered(hosted, *arguments)
        assert (asked, run_id, status) == (action, "run_main", Exit.DONE)
        assert told in output

    async def test_a_refusal_is_told_with_the_hosts_reason(self, hosted: Hosted) -> None:
        _, _, status, output = await answered(hosted, "stop", "main", refused="it has live sub-agents")
        assert status == Exit.FAILED
        assert "the host did not do it: it has live sub-agents" in output

    async def test_a_label_of_two_runs_is_not_guessed(self, hosted: Hosted) -> None:
        done = await shell("control", SESSION, "pause", "researcher")
        assert "Name one of them: researcher#1, researcher#2" in done.stderr
        assert await hosted.session.controls() == []

    async def test_a_host_that_dies_meanwhile_has_refused(self, hosted: Hosted) -> None:
        asking = asyncio.ensure_future(shell("control", SESSION, "pause", "main"))
        while not await hosted.session.controls():
            await hosted.goes_on(asking)
        await hosted.close("over")
        done = await asking
        assert "the session was closed" in done.stderr
        assert done.exit_code == Exit.FAILED


class TestApprovals:
    @staticmethod
    async def ask(hosted: Hosted, approval_id: str, run_id: str) -> None:
        hosted.emit(
            ApprovalRequested(
                run_id=run_id,
                approval_id=approval_id,
                tool_call_id="c",
                name="shell",
                arguments='{"command":"ls"}',
            )
        )
        await hosted.written()

    async def test_what_waits_is_listed_with_all_that_one_needs_to_decide(self, hosted: Hosted) -> None:
        assert "no tool call waits" in (await shell("control", SESSION, "approvals")).output
        await self.ask(hosted, "a1", "run_r1")
        assert (await shell("control", SESSION, "approvals")).output == (
            "a1 subagent-researcher#1 wants to call shell\n    > command=ls\n"
        )

    async def test_the_only_one_needs_no_name(self, hosted: Hosted) -> None:
        await self.ask(hosted, "a1", "run_r1")
        action, run_id, status, _ = await answered(hosted, "allow")
        assert (action, run_id, status) == ("allow", "run_r1", Exit.DONE)

    async def test_of_several_one_has_to_be_named_and_a_run_will_do(self, hosted: Hosted) -> None:
        await self.ask(hosted, "a1", "run_r1")
        await self.ask(hosted, "a2", "run_r2")
        done = await shell("control", SESSION, "allow")
        assert "2 tool calls wait" in done.stderr
        assert "a1 (subagent-researcher#1: shell)" in done.stderr
        _, run_id, _, _ = await answered(hosted, "deny", "researcher#2", "--reason", "not there")
        assert run_id == "run_r2"

    async def test_none_is_said_to_be_none(self, hosted: Hosted) -> None:
        assert "no tool call waits" in (await shell("control", SESSION, "allow")).stderr
        assert "no tool call of main waits" in (await shell("control", SESSION, "allow", "main")).stderr


async def test_mail_of_a_session_that_is_over_is_refused_and_says_so(hosted: Hosted, tmp_path: Path) -> None:
    await shell("send", SESSION, "main", "unread")
    await hosted.close("done")
    done = await shell("send", SESSION, "main", "too late")
    assert "the session is over" in done.stderr
    assert done.exit_code == Exit.FAILED
    told = json.loads((await shell("mail", SESSION, "--json")).output)
    assert (told["state"], told["body"]) == (MessageState.UNDELIVERABLE, "unread")
