"""Old sessions are deleted only once somebody has seen which; what lives, waits or cannot be read is kept."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from dashboard.cli import pruning
from dashboard.cli.pruning import GOING, SpanError, delete, plan, plan_lines, span
from dashboard.core.events import RunStarted
from dashboard.core.sessions import HostState
from dashboard.journal.catalog import SessionSummary
from dashboard.journal.home import JOURNAL_NAME, make_session_folder, session_folders
from dashboard.journal.lock import hold
from dashboard.journal.session import JournalHostSession
from tests.cli.conftest import command
from tests.conftest import FakeClock
from tests.journal.test_session import die

DAY = 86_400


def closed(name: str, clock: FakeClock, *, mail: bool = False) -> Path:
    """A session that was closed when the clock stood there; with mail that came back if wanted."""
    host = JournalHostSession(make_session_folder(name), clock)
    asyncio.run(host.start("0", "a title", ("subagent-a",)))
    if mail:
        host.emit(RunStarted(run_id="r", label="main", ordinal=1, task="t", max_iterations=9))
        host.inbox.steer("main", "never read")
    asyncio.run(host.close("done"))
    return host.folder


@pytest.mark.parametrize(("text", "days"), [("30d", 30), ("2w", 14), ("12h", 0.5), (" 1 d ", 1)])
def test_a_span_is_a_number_and_a_unit(text: str, days: float) -> None:
    assert span(text) == days * DAY * 1_000_000


@pytest.mark.parametrize("text", ["", "30", "d", "-1d", "1.5d", "30m", "9999999d"])
def test_any_other_span_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(SpanError, match="as in 30d"):
        span(text)


def test_only_what_nothing_has_happened_in_for_that_long_would_go(clock: FakeClock) -> None:
    old = closed("20260101-000000-aaaa", clock)
    clock.tick(20 * DAY)
    closed("20260102-000000-bbbb", clock)
    clock.tick(20 * DAY)
    found = plan(span("30d"), clock)
    assert [folder for _, folder in found.goes] == [old]
    assert found.kept == ()


def test_it_shows_what_would_go_and_the_text_that_would_be_lost(clock: FakeClock) -> None:
    closed("20260101-000000-aaaa", clock, mail=True)
    clock.tick(40 * DAY)
    *_, row, total = plan_lines(plan(span("30d"), clock))
    assert row.startswith("20260101-000000-aaaa   closed")
    assert total.startswith("1 session would be deleted, ")
    assert total.endswith("and with them the text of 1 message that came back")


def test_what_lives_or_waits_or_cannot_be_read_is_kept_with_the_reason(clock: FakeClock) -> None:
    living = JournalHostSession(make_session_folder("20260101-000000-aaaa"), clock)
    asyncio.run(living.start("0", "lives", ()))
    torn = make_session_folder("20260102-000000-bbbb") / JOURNAL_NAME
    torn.write_bytes(b"torn" * 1_000)
    os.utime(torn.parent, (0, 0))
    linked = closed("20260103-000000-cccc", clock)
    linked.rename(linked.with_name("elsewhere"))
    linked.symlink_to("elsewhere")
    loose = closed("20260104-000000-dddd", clock)
    loose.chmod(0o777)
    clock.tick(40 * DAY)
    found = plan(span("30d"), clock)
    assert found.goes == ()
    kept = {summary.session_id[-4:]: why for summary, why in found.kept}
    assert kept["aaaa"] == "it is not responding"
    assert "cannot be read" in kept["bbbb"]
    assert kept["cccc"] == "its folder is a link"
    assert "others may write" in kept["dddd"]
    assert list(delete(found)) == ["0 sessions deleted"]
    assert torn.read_bytes() == b"torn" * 1_000
    die(living)


def test_a_session_with_open_mail_is_kept(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = closed("20260101-000000-aaaa", clock)
    waits = SessionSummary(folder.name, HostState.CLOSED, last_at=clock(), pending=1)
    monkeypatch.setattr(pruning, "summarize", lambda folder, clock: waits)
    clock.tick(40 * DAY)
    assert plan(span("30d"), clock).kept == ((waits, "1 message in it waits still"),)


def test_what_goes_goes_whole_and_nothing_else_does(clock: FakeClock) -> None:
    old, young = closed("20260101-000000-aaaa", clock), closed("20260102-000000-bbbb", clock)
    (old / "reports").mkdir()
    (old / "reports" / "report.md").touch()
    clock.tick(40 * DAY)
    found = plan(span("30d"), clock)
    only_old = type(found)(found.goes[:1], (), found.now)
    assert list(delete(only_old)) == ["1 session deleted"]
    assert session_folders() == [young]
    assert [folder.name for folder in young.parent.iterdir()] == [young.name]


def test_a_session_that_a_host_has_taken_meanwhile_stays(clock: FakeClock) -> None:
    old = closed("20260101-000000-aaaa", clock)
    clock.tick(40 * DAY)
    found = plan(span("30d"), clock)
    with hold(old):
        assert list(delete(found)) == ["kept: 20260101-000000-aaaa, a host has it", "0 sessions deleted"]
    assert session_folders() == [old]


def test_half_of_an_interrupted_deletion_is_no_session_and_goes_with_the_next(clock: FakeClock) -> None:
    old = closed("20260101-000000-aaaa", clock)
    half = old.with_name(GOING + old.name)
    old.rename(half)
    assert session_folders() == []
    list(delete(plan(0, clock)))
    assert not half.exists()


def test_without_a_terminal_it_shows_and_deletes_only_if_told_to(clock: FakeClock) -> None:
    folder = closed("20260101-000000-aaaa", FakeClock(1_700_000_000_000_000))
    shown = command("sessions", "prune", "--older", "30d")
    assert "1 session would be deleted" in shown.output
    assert "--yes deletes" in shown.output
    assert folder.exists()
    assert "1 session deleted" in command("sessions", "prune", "--older", "30d", "--yes").output
    assert not folder.exists()
    assert "no session is that old" in command("sessions", "prune", "--older", "30d", "--yes").output
