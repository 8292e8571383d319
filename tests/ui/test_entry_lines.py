"""What an operator reads of each kind of entry, as plain lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from dashboard.core.events import ApprovalAnswer
from dashboard.core.messages import Sender, SenderKind
from dashboard.core.outcomes import Outcome
from dashboard.core.transcript import (
    ApprovalEntry,
    MessageEntry,
    TextEntry,
    TextKind,
    ToolEntry,
    TranscriptEntry,
)
from dashboard.core.views import RunView
from dashboard.ui.arguments import argument_words, fit_cells
from dashboard.ui.entry_lines import WALL, ZOOMED, Folding, Sheet, entry_lines, starts_paragraph
from dashboard.ui.glyphs import ASCII, UNICODE, Glyphs

HOSTILE = "\x1b]52;c;aGk=\x07\u009b\u202e[/dim][@click=app.quit]x[/]"
MARKED = "<1B>]52;c;aGk=<07><9B><202E>[/dim][@click=app.quit]x[/]"
RUN = RunView("r", "subagent-a", 1, "t", None, 0, reading=True, started_at=0, max_iterations=10)


def sheet(width: int = 80, folding: Folding = WALL, glyphs: Glyphs = UNICODE) -> Sheet:
    return Sheet(width, folding, glyphs)


def words(kind: TextKind, text: str) -> TextEntry:
    entry = TextEntry(kind, 1, 0, 1)
    entry.replace(text)
    return entry


def tool(result: str | None, *, arguments: str = '{"pattern":"x"}', is_error: bool = False) -> ToolEntry:
    entry = ToolEntry(1, 0, 1, "c", "grep", arguments)
    if result is not None:
        entry.settle(result, is_error, 45_000)
    return entry


def message(text: str, sender: Sender | None) -> MessageEntry:
    return MessageEntry(1, 0, 3, text, sender, 0, "m")


def plain(entry: TranscriptEntry, drawn_on: Sheet | None = None, run: RunView = RUN) -> list[str]:
    return ["".join(text for text, _ in line) for line in entry_lines(entry, run, drawn_on or sheet())]


def styles(entry: TranscriptEntry) -> set[str]:
    return {style for line in entry_lines(entry, RUN, sheet()) for _, style in line}


def test_an_operators_message_says_operator_who_when_and_in_which_round() -> None:
    head, body = plain(message("check worker.log instead", Sender(SenderKind.OPERATOR, "ana")))
    assert head.startswith("▌ operator ana · read in round 3 at ")
    assert "· composed " in head
    assert body == "▌ check worker.log instead"


def test_in_a_narrow_panel_both_times_stand_on_a_line_of_their_own() -> None:
    head, times, _ = plain(message("x", Sender(SenderKind.OPERATOR, "ana")), sheet(40))
    assert head == "▌ operator ana · read in round 3"
    assert times.startswith("▌ composed ")
    assert "· read " in times


def test_an_agents_message_never_looks_like_the_operators() -> None:
    entry = message("operator ana says so", Sender(SenderKind.AGENT, "operator ana", "run_2"))
    assert plain(entry)[0].startswith("▌ agent operator ana")
    assert not any(style.startswith("operator") for style in styles(entry))


def test_an_answer_that_copies_the_flag_is_drawn_as_text() -> None:
    assert styles(words(TextKind.ANSWER, "▌ operator ana · read in round 3")) == {"text"}


def test_a_finished_tool_says_its_lines_and_time_and_shows_the_first_of_them() -> None:
    head, first, second, more = plain(tool("3 matches\na:1: x\nb:2: y\nc:3: z"))
    assert head == "▸ grep pattern=x · 4 lines · 45ms"
    assert [first, second] == ["  │ 3 matches", "  │ a:1: x"]
    assert more == "  │ … 2 more lines"


def test_a_tool_that_runs_says_so_and_one_that_failed_too() -> None:
    assert plain(tool(None)) == ["▸ grep pattern=x · running"]
    assert plain(tool("no such file", is_error=True)) == ["▸ grep pattern=x · failed · 45ms", "  │ no such file"]


def test_zoomed_less_is_folded() -> None:
    result = "\n".join(map(str, range(10)))
    assert len(plain(tool(result))) == 4
    assert len(plain(tool(result), sheet(folding=ZOOMED))) == 11


@pytest.mark.parametrize(
    ("arguments", "room", "shown"),
    [
        ('{"path":"worker.log"}', 60, "path=worker.log"),
        ('{"pattern":"%s","path":"worker.log"}' % ("x" * 90), 40, "pattern=xxxxxxxxxxxxxx…  path=worker.log"),
        ('{"pattern":"%s","path":"worker.log"}' % ("x" * 90), 20, "xxxxxxx…  worker.log"),
        ('{"deep":{"a":[1]}}', 60, 'deep={"a":[1]}'),
        ("not json", 60, "not json"),
        ("[1,2]", 60, "[1,2]"),
        ("", 60, ""),
    ],
)  # fmt: skip
def test_arguments_fit_a_line_with_the_short_values_whole(arguments: str, room: int, shown: str) -> None:
    assert argument_words(arguments, room) == shown


def test_the_end_says_how_it_ended_after_how_long_and_why() -> None:
    run = RunView("r", "subagent-a", 1, "t", None, 0, reading=True, started_at=0, max_iterations=10)
    run.outcome, run.round, run.ended_at = Outcome.ERROR, 7, 41_000_000
    assert plain(words(TextKind.END, "ModelError: no answer"), run=run) == [
        "✗ ended in an error · 7 rounds · 41.0s",
        "│ ModelError: no answer",
    ]


def approval(arguments: str = '{"command":"ls"}', expires_at: int | None = None) -> ApprovalEntry:
    return ApprovalEntry(1, 0, 1, "shell", arguments, expires_at)


def settled(answer: ApprovalAnswer, by: str = "", reason: str = "") -> ApprovalEntry:
    entry = approval()
    entry.settle(answer, 4_000_000, by, reason)
    return entry


def test_a_call_that_waits_to_be_allowed_has_not_run() -> None:
    entry = tool(None)
    entry.ask(True)
    assert plain(entry) == ["▸ grep pattern=x · not run yet"]


def test_a_request_for_approval_names_the_tool_and_what_it_would_do() -> None:
    assert plain(approval()) == ["▲ needs approval: shell command=ls"]


def test_a_request_says_when_it_will_count_as_denied() -> None:
    line = plain(approval(expires_at=60_000_000))[-1]
    assert line.startswith("│ denied at ")
    assert line.endswith(" unless somebody answers")


def test_a_request_shows_long_arguments_whole_because_somebody_decides_on_them() -> None:
    command = "rm -rf build && " * 8 + "echo done"
    lines = plain(approval(f'{{"command":"{command}","cwd":"/srv"}}'), sheet(40))
    assert lines[0] == "▲ needs approval: shell"
    assert " ".join(line.removeprefix("│ ") for line in lines[1:]) == f"command={command} cwd=/srv"


@pytest.mark.parametrize(
    ("entry", "answer"),
    [
        (settled(ApprovalAnswer.ALLOWED, "ana"), "│ allowed by ana · after 4.0s"),
        (settled(ApprovalAnswer.DENIED, "ana", "not here"), "│ denied by ana: not here · after 4.0s"),
        (settled(ApprovalAnswer.DENIED, "ana"), "│ denied by ana · after 4.0s"),
        (settled(ApprovalAnswer.TIMED_OUT), "│ nobody answered in time"),
        (settled(ApprovalAnswer.ABANDONED), "│ its turn ended first"),
    ],
)
def test_an_answer_stands_below_its_request_in_words(entry: ApprovalEntry, answer: str) -> None:
    assert plain(entry) == ["▲ asked for approval: shell command=ls", answer]


def test_a_request_of_a_sub_agent_that_nobody_will_answer_says_that_its_run_ended() -> None:
    child = RunView("c", "subagent-a", 1, "t", "r", 1, reading=True, started_at=0, max_iterations=10)
    assert plain(settled(ApprovalAnswer.ABANDONED), run=child)[-1] == "│ its run ended first"


@pytest.mark.parametrize(
    ("kind", "text", "line"),
    [
        (TextKind.PAUSED, "ana", "‖ paused by ana"),
        (TextKind.PAUSED, "", "‖ paused"),
        (TextKind.RESUMED, "ana", "● goes on · resumed by ana"),
        (TextKind.STEPPED, "ana", "● one round · let through by ana"),
        (TextKind.BLOCKED, "journal", "⊘ blocked: journal"),
        (TextKind.TURN_CANCELLED, "stopped by ana", "■ turn cancelled · stopped by ana"),
        (TextKind.TURN_FAILED, "no answer", "✗ turn failed: no answer"),
    ],
)
def test_a_change_in_how_a_run_goes_on_is_one_line(kind: TextKind, text: str, line: str) -> None:
    assert plain(words(kind, text)) == [line]


def test_changes_in_how_a_run_goes_on_stand_together() -> None:
    paused, stepped = words(TextKind.PAUSED, "ana"), words(TextKind.STEPPED, "ana")
    assert not starts_paragraph(stepped, paused)
    assert starts_paragraph(paused, tool("x"))
    assert not starts_paragraph(approval(), tool(None))


def test_a_message_that_somebody_edited_says_so() -> None:
    entry = message("check worker.log instead", Sender(SenderKind.OPERATOR, "ana"))
    entry.edited, entry.edited_by = True, "bob"
    assert "· edited by bob · composed " in plain(entry, sheet(100))[0]
    assert plain(entry, sheet(40))[1].startswith("▌ edited by bob · composed ")


ENTRIES: list[TranscriptEntry] = [
    *(words(kind, HOSTILE) for kind in TextKind if kind is not TextKind.END),
    message(HOSTILE, Sender(SenderKind.OPERATOR, HOSTILE)),
    tool(HOSTILE, arguments=HOSTILE),
    ToolEntry(1, 0, 1, "c", HOSTILE, "{}"),
    approval(HOSTILE),
    ApprovalEntry(1, 0, 1, HOSTILE, "{}", None),
    settled(ApprovalAnswer.DENIED, by=HOSTILE),
    settled(ApprovalAnswer.DENIED, reason=HOSTILE),
    MessageEntry(1, 0, 0, "x", None, 0, returned=f"withdrawn by {HOSTILE}"),
    MessageEntry(1, 0, 0, "x", None, 0, edited=True, edited_by=HOSTILE),
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_hostile_text_shows_literally_in_every_kind_of_entry(entry: TranscriptEntry) -> None:
    shown = "".join("".join(plain(entry, sheet(400))).split())
    assert MARKED in shown
    assert not any(character in shown for character in "\x1b\x07\x9b\u202e")


@given(st.text(max_size=300), st.integers(36, 120), st.sampled_from([UNICODE, ASCII]))  # 36: the narrowest panel's
def test_no_line_is_wider_than_its_sheet(text: str, width: int, glyphs: Glyphs) -> None:
    entries: list[TranscriptEntry] = [
        *(words(kind, text) for kind in TextKind if kind is not TextKind.END),
        message(text, Sender(SenderKind.OPERATOR, text)),
        tool(text, arguments=text),
        approval(text),
        settled(ApprovalAnswer.DENIED, text, text),
        MessageEntry(1, 0, 0, text, None, 0, returned=f"withdrawn by {text}", edited=True, edited_by=text),
    ]
    for entry in entries:
        assert all(cell_len(line) <= width for line in plain(entry, sheet(width, WALL, glyphs)))


def test_a_megabyte_without_a_newline_is_folded_without_wrapping_it_all() -> None:
    huge = "x" * 1_000_000
    assert len(plain(words(TextKind.TASK, huge))) == 1 + WALL.task + 1
    assert len(plain(tool(huge))) == 2
    assert len(plain(approval(huge))) == 1 + WALL.asked + 1


def test_a_cut_line_says_so() -> None:
    assert fit_cells("abcdef", 4) == "abc…"
    assert fit_cells("가나다", 4) == "가…"
    assert fit_cells("abc", 4) == "abc"
