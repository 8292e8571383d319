"""The demo from the first listing to the report, with the real file tools on real files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dashboard.core.history import Assistant, Provenance, User
from dashboard.core.sanitize import sanitize
from dashboard.host.demo import SCRIPTS, STAGING, TASK, script_for
from dashboard.host.demo.results import unprinted
from dashboard.host.demo.rows import plain, read_rows
from dashboard.models.base import ModelRequest
from tests.host.demo.fake_run import FakeRun, arguments

Told = tuple[FakeRun, str]
CITED = re.compile(r'`((?:"(?:[^"\\`]|\\.)*"|[^`":]+):\d+)`')


def run(root: Path, out: Path, **mail: dict[int, tuple[str, ...]]) -> FakeRun:
    """Run the demo; mail is by name, with ``_`` for ``#``: ``researcher_2={2: ("...",)}``."""
    made = FakeRun("main", root, out, {name.replace("_", "#"): when for name, when in mail.items()})
    made.go(TASK)
    return made


def report_of(out: Path) -> str:
    return (out / "reports" / "incident-report.md").read_text()


def lines_of(root: Path, cite: str) -> str:
    name, _, number = cite.rpartition(":")
    text = (root / unprinted(name)).read_text("utf-8", "replace")
    return text.split("\n")[int(number) - 1]


def asked(turn: Assistant) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in turn.tool_calls]


def check_citations(root: Path, text: str) -> int:
    """Check that every row and every cited bullet says what stands in its file."""
    checked = 0
    for row in read_rows(text):
        line = lines_of(root, row.cite)
        assert row.kind == "setting" or plain(line) == row.text
        checked += 1
    for line in text.split("\n"):
        found = re.fullmatch(r"- (?:\S+Z )?" + CITED.pattern + r" .*?: `(.*)`", line)
        if found is None:
            continue
        if "setting:" in line:
            key = found[2].partition(":")[0].rsplit(".", 1)[-1]
            assert key in lines_of(root, found[1])
        else:
            assert plain(lines_of(root, found[1])) == found[2]
        checked += 1
    return checked


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[FakeRun, str]:
    out = tmp_path_factory.mktemp("session")
    made = run(STAGING, out)
    return made, report_of(out)


def test_the_report_names_the_cause_where_it_stands(told: Told) -> None:
    _, report = told
    cause = re.search(r"\*\*Likely cause:\*\* .*", report)
    assert cause is not None
    assert "deploy.log:5" in cause[0]
    assert "rollout r42 started" in lines_of(STAGING, "deploy.log:5")
    assert "database.pool.max_connections: 40 -> 4" in cause[0]
    assert lines_of(STAGING, "settings.v42.yaml:10").strip() == "max_connections: 4"
    assert "settings.v42.yaml:10" in cause[0]


def test_every_citation_of_the_report_says_what_stands_in_the_file(told: Told) -> None:
    _, report = told
    assert check_citations(STAGING, report) > 25


def test_every_row_of_every_answer_says_what_stands_in_the_file(told: Told) -> None:
    made, _ = told
    for name in ("researcher#1", "researcher#2"):
        assert check_citations(STAGING, made.everyone[name].turns[-1].content) > 5


def test_the_timeline_is_in_order(told: Told) -> None:
    times = re.findall(r"^- (\S+Z) `", told[1], re.MULTILINE)
    assert len(times) > 8
    assert times == sorted(times)


def test_counts_in_the_report_are_those_of_the_files(told: Told) -> None:
    text = (STAGING / "worker.log").read_text()
    assert f"{text.count('pool exhausted'):,} times" in told[1]
    text = (STAGING / "api.log").read_text()
    assert f"{text.count('upstream timeout'):,} times" in told[1]


def test_two_researchers_are_spawned_in_one_turn_and_one_asks_a_reviewer(told: Told) -> None:
    made, _ = told
    assert [call.name for call in made.turns[1].tool_calls] == ["subagent", "subagent"]
    assert [child.name for child in made.spawned] == ["researcher#1", "researcher#2", "writer#1"]
    assert [child.name for child in made.spawned[0].spawned] == ["reviewer#1"]
    assert made.spawned[1].spawned == []


def test_the_second_researcher_does_not_look_at_the_workers_log_by_itself(told: Told) -> None:
    second = told[0].everyone["researcher#2"]
    paths = {arguments(call).get("path") for turn in second.turns for call in turn.tool_calls}
    assert "worker.log" not in paths
    assert "What set it off" not in second.turns[-1].content
    assert "what set it off is not in what was looked at" in second.turns[-1].content


def test_the_reviewer_confirms_each_citation(told: Told) -> None:
    answer = told[0].everyone["reviewer#1"].turns[-1].content
    assert answer.count(" holds: ") == 9 or "does not hold" not in answer
    assert "worker.log 1 -> " in answer


def test_rounds_are_few_and_never_silent(told: Told) -> None:
    for agent in told[0].everyone.values():
        assert agent.rounds <= 9
        assert all(len(turn.content.split()) >= 5 for turn in agent.turns)
        assert all(turn.reasoning for turn in agent.turns)


def test_a_reviewer_says_so_when_a_line_does_not_say_what_is_claimed(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("2025-01-01T10:00:00Z ERROR real\n")
    reviewer = FakeRun("reviewer", tmp_path, tmp_path)
    answer = reviewer.go(
        "- a.log:1 | 2025-01-01T10:00:00.000Z | 3 times | sudden | made up\n- b.log:9 | no time | change | x"
    )
    assert 'a.log:1 does not hold: the line says "ERROR real"' in answer
    assert "b.log:9 does not hold: there is no 'b.log'" in answer
    assert "0 of 2 citations hold" in answer


def test_check_another_log_instead_changes_the_next_call_and_the_answer(tmp_path: Path) -> None:
    made = run(STAGING, tmp_path, researcher_2={2: ("check worker.log instead",)})
    second = made.everyone["researcher#2"]
    turn = second.turns[2]
    assert {arguments(call)["path"] for call in turn.tool_calls} == {"worker.log"}
    assert turn.content.startswith(
        "The operator asks for worker.log: looking there now, instead of searching cache.log"
    )
    answer = second.turns[-1].content
    assert 'Operator\'s lead "check worker.log instead":' in answer
    assert "pool exhausted: 4 of 4 connections in use" in answer
    assert "Dropped at the operator's wish: searching cache.log" in answer
    assert check_citations(STAGING, answer) > 5
    report = report_of(tmp_path)
    assert "## Operator leads" in report
    assert '### "check worker.log instead" (to researcher-2)' in report
    assert check_citations(STAGING, report) > 20


def test_a_word_is_looked_for_before_the_plan_goes_on(tmp_path: Path) -> None:
    made = run(STAGING, tmp_path, researcher_1={1: ('look for "outside the pool"',)})
    first = made.everyone["researcher#1"]
    assert [arguments(call) for call in first.turns[1].tool_calls] == [
        {"pattern": r"outside\ the\ pool", "path": "."}
    ]
    assert "Dropped" not in first.turns[-1].content
    number = (STAGING / "worker.log").read_text().count("outside the pool")
    assert f'{number:,} lines match "outside the pool"' in first.turns[-1].content
    assert first.spawned, "the plan goes on to its review"


def test_a_file_that_is_not_there_is_said_to_be_not_there(tmp_path: Path) -> None:
    made = run(STAGING, tmp_path, researcher_2={2: ("check wroker.log",)})
    answer = made.everyone["researcher#2"].turns[-1].content
    assert "wroker.log: there is no 'wroker.log' in this folder" in answer
    assert "Close names here: worker.log" in answer


def test_a_word_that_is_nowhere_is_said_to_be_nowhere(tmp_path: Path) -> None:
    made = run(STAGING, tmp_path, researcher_2={1: ("grep zanzibar",)})
    assert 'The folder: no line matches "zanzibar".' in made.everyone["researcher#2"].turns[-1].content


def test_several_messages_are_followed_in_order_each_once(tmp_path: Path) -> None:
    made = run(STAGING, tmp_path, researcher_2={1: ("look at api.log", "and deploy.log"), 2: ("look at api.log",)})
    second = made.everyone["researcher#2"]
    searched = [
        arguments(call)["path"] for turn in second.turns for call in turn.tool_calls
        if call.name == "grep" and turn.content.startswith("The operator asks")
    ]  # fmt: skip
    assert searched == ["api.log", "deploy.log", "api.log"]


def test_a_remark_that_names_nothing_is_noted_and_changes_nothing(tmp_path: Path, told: Told) -> None:
    made = run(STAGING, tmp_path, researcher_2={1: ("thanks, good work",)})
    second = made.everyone["researcher#2"]
    assert second.turns[1].content.startswith('Noted from the operator: "thanks, good work".')
    before = told[0].everyone["researcher#2"]
    assert [asked(turn) for turn in second.turns] == [asked(turn) for turn in before.turns]


def test_a_message_after_the_answer_is_followed_and_answered(tmp_path: Path) -> None:
    made = run(STAGING, tmp_path)
    made.history.append(User("look for certificate"))
    answer = made.go_on()
    assert arguments(made.turns[-3].tool_calls[0]) == {"pattern": "certificate", "path": "."}
    assert 'lines match "certificate"' in answer
    assert "system.log:" in answer
    made.history.append(User("are you sure?"))
    assert "It names no file, folder or word to look for" in made.go_on()


def test_the_writer_and_the_reviewer_obey_as_well(tmp_path: Path) -> None:
    made = run(STAGING, tmp_path, writer_1={1: ("look for certd",)}, reviewer_1={1: ("check db.log",)})
    assert "(to the writer)" in report_of(tmp_path)
    assert 'Operator\'s lead "check db.log":' in made.everyone["reviewer#1"].turns[-1].content


def test_without_tools_a_specialist_answers_with_what_it_has(told: Told) -> None:
    history = (*told[0].everyone["researcher#1"].history[:5], User("Answer now.", Provenance.FINAL_ANSWER))
    reply = SCRIPTS["researcher"](ModelRequest("subagent-researcher", history))
    assert reply.tool_calls == ()
    assert "upstream timeout" in reply.content
    assert "Not searched: deploy.log" in reply.content


@pytest.mark.parametrize("kind", sorted(SCRIPTS))
def test_a_run_without_tools_from_the_start_claims_nothing(kind: str) -> None:
    reply = SCRIPTS[kind](ModelRequest("x", (User("Do it."),)))
    assert reply.tool_calls == ()
    assert not read_rows(reply.content)
    assert "Confidence: high" not in reply.content


def test_a_call_whose_result_is_missing_counts_as_failed() -> None:
    asked = SCRIPTS["main"](ModelRequest("main", (User(TASK),)))
    assert isinstance(asked, Assistant)
    history = (User(TASK), Assistant("x", tool_calls=()), User("go on", Provenance.CONTINUATION))
    assert SCRIPTS["main"](ModelRequest("main", history)).content


def test_another_folder_gives_another_report_and_it_is_true(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    root.mkdir()
    rows = [f"2024-03-01 09:{minute:02d}:00,000 INFO ok\n" for minute in range(20)]
    rows += [f"2024-03-01 09:20:{tick:02d},000 ERROR quota exhausted on /var/{tick}\n" for tick in range(30)]
    (root / "backup.log").write_text("".join(rows))
    (root / "mail.log").write_text("Mar  1 09:20:10 host postfix[3]: error: queue write failed\n" * 5)
    run(root, tmp_path)
    report = report_of(tmp_path)
    assert "backup.log:21" in report
    assert "2024-03-01T09:20:00.000Z" in report
    assert "max_connections" not in report
    assert "Likely cause" not in report
    assert "What set it off?" in report
    assert check_citations(root, report) >= 4


def test_source_code_has_no_timeline_and_no_cause(tmp_path: Path) -> None:
    root = Path(__file__).parents[3] / "dashboard" / "models"
    run(root, tmp_path)
    report = report_of(tmp_path)
    assert "there is no timeline" in report
    assert "is there an incident in these files at all?" in report
    assert check_citations(root, report) > 0


def test_a_folder_without_errors_says_so(tmp_path: Path) -> None:
    root = tmp_path / "quiet"
    root.mkdir()
    (root / "a.log").write_text("all is well\n")
    made = run(root, tmp_path)
    assert "No line of these files matches the error pattern." in report_of(tmp_path)
    assert len(made.spawned) == 2, "one researcher for the only file, and the writer"


def test_an_empty_folder_needs_no_report(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    made = run(tmp_path / "empty", tmp_path)
    assert made.turns[-1].content == "The folder is empty, so there is nothing to investigate and no report."
    assert made.spawned == []


def test_a_binary_file_alone_needs_no_report(tmp_path: Path) -> None:
    root = tmp_path / "r"
    root.mkdir()
    (root / "blob.bin").write_bytes(b"error\0")
    made = run(root, tmp_path)
    assert "There is no text file" in made.turns[-1].content
    assert "blob.bin (binary)" in made.turns[-1].content


def test_hostile_names_and_lines_stay_visible_and_cited(tmp_path: Path) -> None:
    root = tmp_path / "r"
    root.mkdir()
    evil = "\x1b]52;c;aGk=\x07 \x9b2J [/dim] [@click=app.quit]x[/] \u202e `code` | bar"
    for name in (
        "a\x1b]52;c;aGk=\x07.log",
        "x:1: y.log",
        "[dim].log",
        "\u202ertl.log",
        "new\nline.log",
        "a | b.log",
    ):
        (root / name).write_text("".join(f"2025-01-01T10:00:0{n}Z ERROR {evil}\n" for n in range(5)))
    made = run(root, tmp_path, main={3: (evil,)})
    report = report_of(tmp_path)
    for text in (report, *(turn.content for agent in made.everyone.values() for turn in agent.turns)):
        assert sanitize(text) == text
    assert '"new\\nline.log":1' in report
    assert check_citations(root, report) >= 6


def test_a_script_is_found_by_its_type() -> None:
    assert script_for(None) is SCRIPTS["main"]
    assert script_for("writer") is SCRIPTS["writer"]
    with pytest.raises(KeyError):
        script_for("poet")
