"""Reading results, instants and messages: right on real formats, quiet on anything else."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.core.history import User
from dashboard.host.demo import SCRIPTS
from dashboard.host.demo.evidence import phrase_of, signature_of, signatures
from dashboard.host.demo.instants import NO_YEAR, parse_instant, show_instant, strip_instant, usual_year
from dashboard.host.demo.obey import read_lead
from dashboard.host.demo.reasoning import conclusion, confidence, consider
from dashboard.host.demo.results import Hit, read_excerpt, read_listing, read_matches, unprinted
from dashboard.host.demo.rows import error_row, read_rows
from dashboard.host.demo.settings import differences, versions
from dashboard.host.toolbox import shown_name
from dashboard.models.base import ModelRequest, ToolSchema

TOOLS = ("list_dir", "grep", "read_file", "subagent", "write_report")
KNOWN = ("api.log", "worker.log", "nginx/access.log", "db.log")
ANY = st.text(max_size=300) | st.text(alphabet='0123456789:-TZ/. |"\\[]()abcJan,\n', max_size=300)


@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("2025-11-18T14:02:10.417Z INFO x", datetime(2025, 11, 18, 14, 2, 10, 417000, UTC)),
        ("2025-11-18T14:02:10+02:00 x", datetime(2025, 11, 18, 12, 2, 10, 0, UTC)),
        ("2025-11-18 14:02:10,417 ERROR x", datetime(2025, 11, 18, 14, 2, 10, 417000, UTC)),
        ("2025-11-18 14:02:10.417 UTC [7] LOG:  x", datetime(2025, 11, 18, 14, 2, 10, 417000, UTC)),
        ("2025/11/18 14:02:10 [error] 1#1: x", datetime(2025, 11, 18, 14, 2, 10, 0, UTC)),
        ('1.2.3.4 - - [18/Nov/2025:14:02:10 -0100] "GET / HTTP/1.1"', datetime(2025, 11, 18, 15, 2, 10, 0, UTC)),
        ("Nov  8 14:02:10 host x", datetime(2025, 11, 8, 14, 2, 10, 0, UTC)),
    ],
)
def test_the_instants_of_common_formats_are_read_in_utc(line: str, at: datetime) -> None:
    assert parse_instant(line, 2025) == at
    assert "14:02:10" not in strip_instant(line)


@pytest.mark.parametrize(
    "line", ["", "no time", "2025-13-40T99:99:99Z x", "Foo 31 10:00:00", "0000-01-01 00:00:00"]
)
def test_what_is_no_instant_is_none(line: str) -> None:
    assert parse_instant(line) is None


def test_a_year_that_no_line_carries_is_not_made_up() -> None:
    at = parse_instant("Feb 29 10:00:00 host x")
    assert at is not None
    assert at.year == NO_YEAR
    assert show_instant(at) == "02-29T10:00:00.000Z"
    assert usual_year(["x", "2024-01-01 00:00:00 a", "Feb  1 00:00:00 b"]) == 2024


def test_lines_that_differ_in_numbers_and_ids_share_a_signature() -> None:
    one = "2025-01-01T10:00:00Z ERROR timeout after 5004 ms peer=10.0.0.1:443 trace=1a2b3c4d5e6f7a8b"
    two = "2025-01-01T11:30:00Z ERROR timeout after 77 ms peer=10.9.8.7:80 trace=ffffffff00000000"
    assert signature_of(one) == signature_of(two) == "ERROR timeout after <n> ms peer=<ip>"
    assert (
        signature_of('1.1.1.1 - - [01/Jan/2025:00:00:00 +0000] "GET /a/7 HTTP/1.1" 502 1')
        == "HTTP 502 to GET requests"
    )


def test_signatures_rank_by_count_then_by_time() -> None:
    hits = [Hit("a.log", n, f"2025-01-01T10:00:{n:02d}Z ERROR often {n}") for n in range(1, 6)]
    hits += [Hit("b.log", 1, "2025-01-01T09:00:00Z ERROR once")]
    found = signatures(hits, {"a.log": True})
    assert [(one.file, one.count, one.exact, one.onset is not None) for one in found] == [
        ("a.log", 5, True, True),
        ("b.log", 1, False, False),
    ]


def test_a_trickle_before_a_burst_is_not_its_beginning() -> None:
    hits = [Hit("a.log", 1, "2025-01-01T08:00:00Z ERROR x 1")]
    hits += [Hit("a.log", 10 + n, f"2025-01-01T10:00:{n:02d}Z ERROR x {n}") for n in range(4)]
    only = signatures(hits)[0]
    assert only.first.line == 1
    assert only.start.line == 10


def test_a_constant_noise_is_not_taken_for_the_incident() -> None:
    noise = [Hit("noise.log", n, f"2025-01-01T09:{n // 3:02d}:{n % 3}0Z ERROR noise") for n in range(60)]
    first = [Hit("a.log", n, f"2025-01-01T10:00:{n:02d}Z ERROR a") for n in range(5)]
    after = [Hit("b.log", n, f"2025-01-01T10:00:{n + 30:02d}Z ERROR b") for n in range(5)]
    case = consider([error_row(one) for one in signatures([*noise, *after, *first])])
    assert case.files == ("a.log", "b.log")
    assert [row.file for row in case.apart] == ["noise.log"]


def test_two_versions_of_settings_differ_where_they_differ_and_secrets_stay_hidden() -> None:
    old = ["a:", "  b: 1", "  password: x", "c = 3", "[s]", "k = v", ""]
    new = ["a:", "  b: 2", "  password: y", "c = 3", "[s]", "k = v", "n = 1", ""]
    found = differences(
        [Hit("f.1.yml", n, line) for n, line in enumerate(old, 1)],
        [Hit("f.2.yml", n, line) for n, line in enumerate(new, 1)],
    )
    assert [one.row.text for one in found] == [
        "a.b: 1 -> 2 (f.1.yml:2)",
        "a.password: (hidden) -> (hidden) (f.1.yml:3)",
        "s.n: absent -> 1",
    ]
    assert versions(["f.9.yml", "f.10.yml", "g.yml", "x.1.log"]) == (("f.9.yml", "f.10.yml"),)


@pytest.mark.parametrize(
    ("message", "paths", "words", "drops"),
    [
        ("check worker.log instead", ("worker.log",), (), True),
        ("check the worker instead", ("worker.log",), (), True),
        ("Check WORKER.LOG, please.", ("worker.log",), (), False),
        ("look in nginx/ first", ("nginx",), (), False),
        ("the nginx folder?", ("nginx",), (), False),
        ("look for deadlock", (), ("deadlock",), False),
        ('search for "too many" in db.log', ("db.log",), ("too many",), False),
        (
            "look for connection refused in api.log and db.log",
            ("api.log", "db.log"),
            ("connection refused",),
            False,
        ),
        ("grep trace_7f", (), ("trace_7f",), False),
        ("what about 'access.log'?", ("nginx/access.log",), (), False),
        ("check missing.log instead", ("missing.log",), (), True),
        ("look at api.log and worker.log", ("api.log", "worker.log"), (), False),
        ("only look for ERROR lines mentioning tenant-42", (), ("ERROR lines mentioning tenant-42",), True),
        ("thanks, good work", (), (), False),
        ("stop worrying, it's fine", (), (), True),
        ("", (), (), False),
    ],
)
def test_a_message_is_read_for_what_it_names(
    message: str, paths: tuple[str, ...], words: tuple[str, ...], drops: bool
) -> None:
    lead = read_lead(message, KNOWN)
    assert (lead.paths, lead.words, lead.drops) == (paths, words, drops)


@given(st.text(min_size=1, max_size=40).filter(lambda name: "\0" not in name))
def test_a_printed_name_reads_back_as_it_was(name: str) -> None:
    assert unprinted(shown_name(name)) == name


@given(st.lists(st.text(max_size=200), max_size=12))
def test_an_error_row_reads_back_as_it_was(texts: list[str]) -> None:
    hits = [Hit("a b.log", n, text.replace("\n", " ")) for n, text in enumerate(texts, 1)]
    rows = [error_row(one) for one in signatures(hits)]
    read = read_rows("\n".join(map(str, rows)))
    assert [(row.file, row.line, row.count, row.sudden) for row in read] == [
        (row.file, row.line, row.count, row.sudden) for row in rows
    ]


@given(ANY)
def test_nothing_that_a_tool_or_a_person_writes_makes_the_reading_fail(text: str) -> None:
    read_listing(f"1 entry in .\n{text}")
    read_matches(f"1 match for /x/ in 1 file\n{text}")
    read_excerpt(f"lines 1-1 of 1 in x\n{text}")
    lead = read_lead(text, KNOWN)
    assert lead.message == text
    hits = [Hit("f", n, line) for n, line in enumerate(text.split("\n"))]
    for one in signatures(hits):
        phrase_of(one.text, one.first.text)
    rows = read_rows(text)
    case = consider([*rows, *(error_row(one) for one in signatures(hits))])
    assert conclusion(case)
    assert confidence(case)
    differences(hits, [])


@given(ANY, ANY, st.sampled_from(sorted(SCRIPTS)))
def test_no_task_and_no_message_makes_a_script_fail(task: str, message: str, kind: str) -> None:
    tools = tuple(
        ToolSchema(name, "", {}) for name in ("list_dir", "grep", "read_file", "subagent", "write_report")
    )
    reply = SCRIPTS[kind](ModelRequest("x", (User(task), User(message)), tools))
    assert reply.content
