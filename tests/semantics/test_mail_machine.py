"""The rules of mail against the reference, over steps in an order that nobody would think of; on both stores.

What must hold after every step: A1 to A5, A7 to A11, A13, A14, T1 to T3, T6.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dashboard.core.errors import SendRefusedError
from dashboard.core.events import HistoryAppended, MessageDelivered, RunStarted
from dashboard.core.history import User
from dashboard.core.mail import Boundary, BoundaryKind, Delivered
from dashboard.core.messages import Edit, Hold, Message, Preset, Promote, Sender, SenderKind, Withdraw
from dashboard.core.outcomes import Outcome, RunEnd
from dashboard.journal import mailroom
from dashboard.journal.jobs import Job
from dashboard.journal.ledger import Ledger
from tests.conftest import FakeClock
from tests.semantics.mail_model import Letter, MailModel, RefusedByRuleError, Run
from tests.semantics.stage import ledger_on

ANA = Sender(SenderKind.OPERATOR, "ana")
LABELS = ("subagent-a", "subagent-b")
ENDS = [*[Outcome.ANSWERED] * 4, Outcome.WRAP_UP, Outcome.CANCELLED, Outcome.ERROR]
PICK = st.integers(0, 5)


class PowerCutError(Exception):
    """The process dies before the commit."""


class MailMachine(RuleBasedStateMachine):
    """Every rule does the same to the ledger and to the model."""

    store = ""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.stack = ExitStack()
        self.writer, self.records = self.stack.enter_context(ledger_on(self.store, self.clock))
        self.model = MailModel()
        self.ids: dict[str, str] = {}  # of a message, by the body that it was first sent with
        self.firsts: list[tuple[str, Message]] = []
        self.accepted: dict[str, int] = {}  # seq of acceptance
        self.lengths: dict[str, int] = {}

    def teardown(self) -> None:
        self.stack.close()

    def do(self, work: Any) -> Any:  # noqa: ANN401 - what the work gives
        return self.writer.submit(Job(work)).future.result()

    @rule(label=st.sampled_from(LABELS), reading=st.sampled_from([True, True, True, False]))
    def start_a_run(self, label: str, reading: bool) -> None:
        if self.model.over or len(self.model.runs) > 10:
            return
        run = self.model.start(f"run_{len(self.model.runs)}", label, reading=reading)
        started = RunStarted(
            run_id=run.run_id, label=label, ordinal=run.ordinal, task="t", max_iterations=3, reading=reading
        )
        self.writer.emit(started)
        self.lengths[run.run_id] = 0

    @rule(
        pick=PICK,
        how=st.sampled_from(["live", "live", "live", "live", "name", "id", "label", "label", "stranger"]),
        preset=st.sampled_from(Preset),
        seconds=st.sampled_from([None, None, 1]),
        by_agent=st.booleans(),
        blank=st.sampled_from([False] * 9 + [True]),
    )
    def send(self, pick: int, how: str, preset: Preset, seconds: int | None, by_agent: bool, blank: bool) -> None:
        self._send(self._address(pick, how), preset, seconds, by_agent=by_agent, blank=blank)

    @precondition(lambda self: self._live())
    @rule(pick=PICK, preset=st.sampled_from(Preset), count=st.sampled_from([2, 3, 40]))
    def send_several(self, pick: int, preset: Preset, count: int) -> None:
        for _ in range(count):
            self._send(self._address(pick, "live"), preset)

    @precondition(lambda self: self.firsts)
    @rule(pick=PICK, other=st.booleans())
    def send_one_again(self, pick: int, other: bool) -> None:
        """A3: the same content is the same message, whatever became of it; other content is an error."""
        address, message = self.firsts[-1 - pick % len(self.firsts)]
        if other:
            altered = Message(
                message.id, "another", message.lane, message.wake, message.sender, message.composed_at
            )
            self._refused("id_reused", lambda at: mailroom.accept(at, address, altered, self.clock()))
        else:
            again = self.do(lambda ledger: mailroom.accept(ledger, address, message, self.clock()))
            assert again.message_id == message.id

    @precondition(lambda self: self.model.letters)
    @rule(pick=PICK, what=st.sampled_from(["withdraw", "edit", "hold", "release", "promote", "promote"]))
    def amend(self, pick: int, what: str) -> None:
        letter = self.model.letters[-1 - pick % len(self.model.letters)]
        change = amendment(what, letter.body + "'")
        message_id = self.ids[letter.name]
        try:
            self.model.amend(letter, what)
        except RefusedByRuleError as refused:
            self._refused(str(refused), lambda at: mailroom.amend(at, message_id, change, ANA, self.clock()))
        else:
            self.do(lambda ledger: mailroom.amend(ledger, message_id, change, ANA, self.clock()))

    @precondition(lambda self: self._live())
    @rule(
        pick=PICK,
        kind=st.sampled_from([*BoundaryKind, BoundaryKind.WAKE, BoundaryKind.FINAL, BoundaryKind.TURN_OPEN]),
        one=st.booleans(),
        dies=st.sampled_from([False] * 4 + [True]),
    )
    def come_to_a_boundary(self, pick: int, kind: BoundaryKind, one: bool, dies: bool) -> None:
        run = self._live()[pick % len(self._live())]
        boundary = Boundary(kind, 1, len(run.read) + 1, self.lengths[run.run_id], one)
        if dies:  # A8: a crash before the commit leaves every message as it was
            self._die_during(lambda ledger: mailroom.take(ledger, run.run_id, boundary, self.clock()))
            return
        expected = self.model.take(run, kind, boundary.round, self.clock(), one=one)
        taken = self.do(lambda ledger: mailroom.take(ledger, run.run_id, boundary, self.clock()))
        self._compare(run, taken, expected)

    @precondition(lambda self: self._live())
    @rule(pick=PICK, outcome=st.sampled_from(ENDS), dies=st.sampled_from([False] * 4 + [True]))
    def come_to_an_end(self, pick: int, outcome: Outcome, dies: bool) -> None:
        run = self._live()[pick % len(self._live())]
        boundary = Boundary(BoundaryKind.FINAL, 1, len(run.read) + 1, self.lengths[run.run_id])
        end = RunEnd(outcome)
        if dies:
            self._die_during(lambda ledger: mailroom.finish(ledger, run.run_id, boundary, end, self.clock()))
            return
        expected = self.model.finish(run, outcome, boundary.round, self.clock())
        taken = self.do(lambda ledger: mailroom.finish(ledger, run.run_id, boundary, end, self.clock()))
        self._compare(run, taken, expected)

    @precondition(lambda self: self._live())
    @rule(pick=PICK, cut=st.sampled_from([None, 0, 1]))
    def cancel_a_turn(self, pick: int, cut: int | None) -> None:
        run = self._live()[pick % len(self._live())]
        after = None if cut is None or len(self.model.letters) <= cut else self.model.letters[-1 - cut]
        self.model.cancel_turn(run, None if after is None else after.accepted)
        before = None if after is None else self.accepted[after.name]
        self.do(lambda ledger: mailroom.cancel_turn(ledger, run.run_id, None, before, self.clock()))

    @rule()
    def time_passes(self) -> None:
        self.clock.tick(1.2)

    @precondition(lambda self: len(self.model.letters) > 12)
    @rule()
    def the_host_dies(self) -> None:
        self.model.lose_the_host()
        self.do(lambda ledger: mailroom.reap(ledger, self.clock()))

    @invariant()
    def every_message_is_where_the_rules_say(self) -> None:
        stored = self.do(lambda ledger: ledger.messages())
        assert [(m.original.body, m.body, fate(m), m.lane, m.held, m.run_id, m.round) for m in stored] == [
            (at.name, at.body, at.state, at.lane, at.held, at.run.run_id if at.run else None, at.round)
            for at in self.model.letters
        ]

    @invariant()
    def every_history_holds_what_was_delivered_and_nothing_else(self) -> None:
        """A2 and A8, on the events alone: seq is gap-free, each delivery stands where its entry does, once."""
        records = self.records()
        assert [record.seq for record in records] == list(range(1, len(records) + 1))
        events = [record.event for record in records]
        delivered = [event for event in events if isinstance(event, MessageDelivered)]
        assert len({event.message_id for event in delivered}) == len(delivered)
        entries = {(at.run_id, at.index): at.entry for at in events if isinstance(at, HistoryAppended)}
        assert len(entries) == len(delivered)
        for run in self.model.runs:
            own = [event for event in delivered if event.run_id == run.run_id]
            texts = [entries[event.run_id, event.history_index] for event in own]
            assert texts == [User(body) for body in run.read]

    def _send(
        self,
        address: str,
        preset: Preset,
        seconds: int | None = None,
        *,
        by_agent: bool = False,
        blank: bool = False,
    ) -> None:
        body = " \n" if blank else f"m{len(self.firsts)}"
        sender = Sender(SenderKind.AGENT, "bot", "run_0") if by_agent else ANA
        expires_at = None if seconds is None else self.clock() + seconds * 1_000_000
        message = Message(
            f"msg_{len(self.firsts)}", body, preset.lane, preset.wake, sender, self.clock(), expires_at
        )
        try:
            expected = self.model.send(
                address,
                body,
                preset.lane,
                preset.wake,
                expires_at=expires_at,
                resets=preset.wake and not by_agent,
            )
        except RefusedByRuleError as refused:
            self._refused(str(refused), lambda at: mailroom.accept(at, address, message, self.clock()))
            return
        receipt = self.do(lambda ledger: mailroom.accept(ledger, address, message, self.clock()))
        assert receipt.run_id == (expected.run.run_id if expected.run else None)
        self.ids[body] = message.id
        self.firsts.append((address, message))
        stored = self.do(lambda ledger: ledger.message(message.id))
        self.accepted[body] = stored.accepted

    def _address(self, pick: int, how: str) -> str:
        if how == "stranger" or not self.model.runs:
            return "subagent-nobody"
        if how == "live" and self._live():
            return self._live()[pick % len(self._live())].run_id
        run = self.model.runs[pick % len(self.model.runs)]
        return {"name": run.name, "id": run.run_id}.get(how, run.label)

    def _live(self) -> list[Run]:
        return [run for run in self.model.runs if run.live and run.reading]

    def _compare(self, run: Run, taken: tuple[Delivered, ...], expected: list[Letter]) -> None:
        self.lengths[run.run_id] += len(taken)
        assert [(at.text, at.wakes, at.resets_budget) for at in taken] == [
            (letter.body, letter.wake, letter.resets) for letter in expected
        ]

    def _refused(self, reason: str, work: Any) -> None:  # noqa: ANN401 - what a transaction does
        with pytest.raises(SendRefusedError) as caught:
            self.do(work)
        assert caught.value.refusal == reason

    def _die_during(self, work: Any) -> None:  # noqa: ANN401 - what a transaction does
        def cut_short(ledger: Ledger) -> None:
            work(ledger)
            raise PowerCutError

        with pytest.raises(PowerCutError):
            self.do(cut_short)


def fate(message: Any) -> str:  # noqa: ANN401 - a stored message
    return str(message.reason or message.state)


def amendment(what: str, body: str) -> Any:  # noqa: ANN401 - one of the union
    return {
        "withdraw": Withdraw(),
        "edit": Edit(body),
        "hold": Hold(),
        "release": Hold(held=False),
        "promote": Promote(),
    }[what]


class MemoryMachine(MailMachine):
    store = "memory"


class SqliteMachine(MailMachine):
    store = "sqlite"


SETTINGS = settings(
    max_examples=150, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestMailInMemory = MemoryMachine.TestCase
TestMailInSqlite = SqliteMachine.TestCase
TestMailInMemory.settings = TestMailInSqlite.settings = SETTINGS
