"""Each event as a sentence: who, what, and every word that was said, one line after the other."""

from __future__ import annotations

import pytest

from dashboard.cli.plain.narration import Narrator, PlainLines, Told
from dashboard.core import events as e
from dashboard.core.history import Assistant, Provenance, User
from dashboard.core.messages import Lane, ReturnReason
from dashboard.core.outcomes import Outcome
from dashboard.core.records import Record
from tests.core.folding import answered, asked, called, queued, said, start


def told(*events: e.KnownEvent | e.Unknown) -> list[Told]:
    narrator = Narrator()
    records = (Record(seq, seq * 1_000_000, event) for seq, event in enumerate(events, 1))
    return [one for record in records for one in narrator.tell(record)]


def deeds(*events: e.KnownEvent | e.Unknown) -> list[str]:
    """Give what was told after the start of a run, without who."""
    return [f"{one.deed}: {one.text}" if one.text else one.deed for one in told(start("r"), *events)[1:]]


def delivered(message_id: str | None = "m") -> e.MessageDelivered:
    return e.MessageDelivered(run_id="r", turn=1, round=3, history_index=2, message_id=message_id)


class TestRuns:
    def test_a_spawn_names_its_parent_and_its_task(self) -> None:
        one = told(start("m"), start("a", "subagent-researcher", 2, "m"))[1]
        assert (one.who, one.deed, one.text) == ("subagent-researcher#2", "started by main", "t")

    def test_what_streams_is_told_once_it_is_whole(self) -> None:
        assert deeds(
            e.ReasoningDelta(run_id="r", round=1, text="hm"),
            e.TextDelta(run_id="r", round=1, text="one "),
            e.TextDelta(run_id="r", round=1, text="two"),
            said("r", 1, Assistant("one two", "hm")),
        ) == ["thinks: hm", "says: one two"]

    @pytest.mark.parametrize(
        "end",
        [
            e.RunFinished(run_id="r", outcome=Outcome.LOST),
            e.TurnFinished(run_id="r", turn=1, answer="", outcome=Outcome.CANCELLED),
            e.RoundStarted(run_id="r", turn=1, round=2, step=2, max_iterations=10),
        ],
    )
    def test_what_was_cut_off_is_told_all_the_same(self, end: e.KnownEvent) -> None:
        assert deeds(e.TextDelta(run_id="r", round=1, text="one "), end)[0] == "was saying, cut off: one "

    def test_a_tool_call_is_told_with_its_arguments_and_its_result_with_a_sample(self) -> None:
        call = e.ToolCalled(run_id="r", round=1, tool_call_id="c", name="grep", arguments='{"pattern": "x y"}')
        back = e.ToolReturned(run_id="r", round=1, tool_call_id="c", text="a\nb", elapsed=80_000)
        assert deeds(call, back) == ["calls grep: pattern=x y", "grep returned 2 lines after 80ms: a ⏎ b"]

    def test_a_failed_tool_is_told_with_its_whole_error(self) -> None:
        back = e.ToolReturned(run_id="r", round=1, tool_call_id="c1", text="no\nsuch", is_error=True)
        assert deeds(called(), back)[1] == "shell failed after 0ms: no\nsuch"

    def test_an_approval_is_told_with_what_is_asked_and_who_answered(self) -> None:
        assert deeds(called(), asked(), answered(e.ApprovalAnswer.DENIED, by="bob", reason="no"))[1:] == [
            'needs approval for shell (a1): {"command":"ls"}',
            "approval of shell: denied by bob: no",
        ]

    def test_control_is_told_with_who_asked_and_what_the_host_answered(self) -> None:
        request = e.ControlRequested(control_id="c", action=e.ControlAction.PAUSE, by="ana", run_id="r")
        refusal = e.ControlRefused(control_id="c", reason="it has ended", run_id="r")
        done = e.ControlApplied(control_id="c", action=e.ControlAction.PAUSE, run_id="r")
        paused = e.RunPaused(run_id="r", by="ana")
        assert deeds(request, refusal) == [
            "ana asks the host to pause it",
            "the host did not pause it: it has ended",
        ]
        assert deeds(request, done, paused)[1:] == ["the host did as asked: pause it", "paused by ana"]

    @pytest.mark.parametrize("outcome", list(Outcome))
    def test_every_end_is_told_with_rounds_and_time(self, outcome: Outcome) -> None:
        (ended,) = deeds(e.RunFinished(run_id="r", outcome=outcome))
        assert ended.startswith("ended: ")
        assert "after 0 rounds and " in ended

    def test_a_lost_run_is_told_with_its_last_activity_not_with_when_it_was_found(self) -> None:
        round_ = e.RoundStarted(run_id="r", turn=1, round=1, step=1, max_iterations=10)
        sent, ended = queued("m"), e.RunFinished(run_id="r", outcome=Outcome.LOST)
        last = deeds(round_, sent, ended)[-1]
        assert last.startswith("ended: lost, its host process died (last activity ")
        assert last.endswith(":02), after 1 round and 1.0s")

    def test_the_loops_own_prompts_are_told_as_its_own(self) -> None:
        assert deeds(said("r", 2, User("go on", Provenance.CONTINUATION))) == [
            "is prompted by its own loop: go on"
        ]

    def test_the_task_is_told_once(self) -> None:
        assert deeds(said("r", 1, User("t"))) == []

    def test_an_event_of_a_later_version_is_told_as_it_is(self) -> None:
        assert deeds(e.Unknown("Zzz", '{"type":"Zzz"}', "r")) == [
            'event of a type that this version does not know (Zzz): {"type":"Zzz"}'
        ]


class TestMail:
    def test_a_message_is_told_as_it_comes_and_as_it_is_read_with_who_wrote_it(self) -> None:
        assert deeds(queued("m"), delivered(), said("r", 2, User("hello"))) == [
            "operator ana writes to it (steer, m): hello",
            "reads in round 3 what operator ana wrote: hello",
        ]

    def test_a_message_of_a_plain_reader_is_nobodys(self) -> None:
        assert deeds(delivered(None), said("r", 2, User("hello"))) == [
            "reads in round 3 what the host's inbox wrote: hello"
        ]

    @pytest.mark.parametrize("reason", list(ReturnReason))
    def test_a_message_that_comes_back_is_told_with_the_reason_and_its_text(self, reason: ReturnReason) -> None:
        back = e.MessageReturned(message_id="m", reason=reason, run_id="r")
        assert deeds(queued("m"), back)[1].startswith("what operator ana wrote comes back, as ")
        assert deeds(queued("m"), back)[1].endswith(" (m): hello")

    def test_every_amendment_is_told_with_who_made_it(self) -> None:
        assert deeds(
            queued("m"),
            e.MessageEdited(message_id="m", body="hello you", by="bob", run_id="r"),
            e.MessageHeld(message_id="m", held=True, by="bob", run_id="r"),
            e.MessageHeld(message_id="m", held=False, by="bob", run_id="r"),
            e.MessagePromoted(message_id="m", by="bob", run_id="r"),
            e.MessageWithdrawn(message_id="m", by="ana", run_id="r"),
        )[1:] == [
            "what operator ana wrote is edited by bob (m): hello you",
            "what operator ana wrote is held by bob (m)",
            "what operator ana wrote is released by bob (m)",
            "what operator ana wrote is promoted to a steer by bob (m)",
            "what operator ana wrote is withdrawn by ana (m): hello you",
        ]

    def test_a_message_for_the_next_of_a_label_is_told_to_the_run_that_gets_it(self) -> None:
        sent = e.MessageQueued(
            message_id="m", to="subagent-a", body="hi", lane=Lane.NEXT_STEP, wake=True, sender=queued("m").sender,
            composed_at=1,
        )  # fmt: skip
        bound = e.MessageBound(message_id="m", run_id="a", to="subagent-a#1")
        one, _, other = told(sent, start("a", "subagent-a"), bound)
        assert (one.who, one.run_id) == ("subagent-a", None)
        assert (other.who, other.run_id) == ("subagent-a#1", "a")


class TestLines:
    def test_every_line_has_its_time_and_whose_it_is_and_a_day_is_named_once(self) -> None:
        plain = PlainLines()
        first, second = Told(0, "main", "says", "one\ntwo"), Told(1_000_000, "main", "paused")
        lines = [line for one in (first, second) for line in plain.of(one)]
        assert lines[0].startswith("-- 19")
        assert [line.split(" ", 1)[1] for line in lines[1:]] == ["main: says: one", "main  | two", "main: paused"]

    def test_what_anybody_wrote_cannot_steer_the_terminal_or_forge_a_line(self) -> None:
        _, *lines = PlainLines().of(Told(0, "main", "says", "\x1b[2J\r12:00:00 main: reads\nx"))
        assert not any("\x1b" in line or "\r" in line for line in lines)
        assert lines[1].endswith("main  | x")
