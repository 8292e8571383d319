"""The clock is set back by an hour in the middle of a session: order is by seq, and nothing else is."""

from __future__ import annotations

import pytest

from dashboard.core.events import MessageDelivered
from dashboard.core.mail import Boundary, BoundaryKind
from dashboard.core.messages import Preset
from dashboard.core.outcomes import Outcome, RunEnd
from dashboard.core.sessions import HostState
from dashboard.journal.checking import check
from dashboard.journal.home import make_session_folder
from dashboard.journal.lock import HEARTBEAT_LIMIT, living_state
from dashboard.journal.reaping import look, readable
from dashboard.journal.session import JournalHostSession, JournalOperatorSession
from tests.conftest import FakeClock
from tests.journal.test_session import started, written

HOUR = 3_600


async def test_mail_is_read_in_the_order_of_acceptance_though_the_later_half_looks_older(clock: FakeClock) -> None:
    host = JournalHostSession(make_session_folder("20260101-000000-aaaa"), clock)
    await host.start("0", "title", ())
    host.emit(started("run_1"))
    await written(host)
    session = JournalOperatorSession(host.folder, "ana", clock)
    mail = host.inbox.open_run("run_1")
    sent: list[str] = []
    taken: list[str] = []
    for number in range(30):
        clock.tick(-HOUR if number == 15 else 1)
        preset = Preset.INJECT if number % 3 else Preset.STEER
        sent.append((await session.send("run_1", session.compose(str(number), preset))).message_id)
        if number in (10, 20, 29):
            boundary = Boundary(BoundaryKind.AFTER_TOOLS, turn=1, round=number, history_index=len(taken))
            taken += [message.text for message in await mail.take(boundary)]
    assert taken == [str(number) for number in range(30)]
    end = Boundary(BoundaryKind.FINAL, turn=1, round=30, history_index=30)
    assert await mail.finish(end, RunEnd(Outcome.ANSWERED, "done")) == ()
    session.close()
    await host.close("done")
    with readable(host.folder) as store:
        records = store.records(0, 1_000)
        assert [message.id for message in store.messages()] == sent
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    assert sorted(record.at for record in records) != [record.at for record in records]
    delivered = [record.event for record in records if isinstance(record.event, MessageDelivered)]
    assert [event.message_id for event in delivered] == sent
    assert check(host.folder).faults == ()


@pytest.mark.parametrize(
    ("late", "state"),
    [
        (0, HostState.RUNNING),
        (HEARTBEAT_LIMIT, HostState.RUNNING),
        (HEARTBEAT_LIMIT + 1, HostState.NOT_RESPONDING),
        (-HEARTBEAT_LIMIT, HostState.RUNNING),
        (-HEARTBEAT_LIMIT - 1, HostState.NOT_RESPONDING),
        (-HOUR * 1_000_000, HostState.NOT_RESPONDING),
    ],
)
def test_a_heartbeat_is_a_sign_of_life_within_five_seconds_of_now_on_either_side(
    late: int, state: HostState, clock: FakeClock
) -> None:
    assert living_state(clock() - late, clock()) is state


async def test_a_host_that_stopped_before_the_clock_was_set_back_does_not_run_for_another_hour(
    clock: FakeClock,
) -> None:
    host = JournalHostSession(make_session_folder("20260101-000000-aaaa"), clock)
    await host.start("0", "title", ())
    clock.tick(-HOUR)
    session = JournalOperatorSession(host.folder, "ana", clock)
    assert session.probe().state is HostState.NOT_RESPONDING
    assert look(host.folder, clock).state is HostState.NOT_RESPONDING
    host.beat()  # one that lives says so by the new time at once
    await written(host)
    assert session.probe().state is HostState.RUNNING
    session.close()
    await host.close("done")
