"""The loop and the inbox against the reference, over plans that nobody would think of; on both stores.

What must hold in every plan: A1, A2, A4, A7, A9, A10, T1 to T4, T6, H1, H2, H3, P9, P10.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import HealthCheck, example, given, settings

from dashboard.agent.history import is_paired
from dashboard.agent.tools import tool
from dashboard.core.errors import ModelError, SendRefusedError
from dashboard.core.events import HistoryAppended, MessageDelivered, RoundStarted, TurnStarted
from dashboard.core.history import Assistant, Entry, User
from dashboard.core.messages import MessageState, Preset, ReturnReason
from dashboard.core.outcomes import Outcome
from dashboard.journal import mailroom
from dashboard.models.base import ModelEvent, ModelRequest, Reply
from tests.agent.fakes import asks, settle, shorthand
from tests.conftest import FakeClock
from tests.semantics.loop_model import Expected, Reference
from tests.semantics.plans import Action, Cancel, Change, Crash, Plan, Send, Turn, plans
from tests.semantics.stage import STORES, RuleStage, inbox_on, journal_as_it_is


class PlanModel:
    """Plays a plan's turns, and does during each request what the plan says."""

    def __init__(self, plan: Plan) -> None:
        self._turns = list(plan.turns)
        self._plan = plan
        self.requests: list[tuple[Entry, ...]] = []
        self.stage: RuleStage | None = None
        self.sent = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self.requests.append(request.history)
        number = len(self.requests)
        turn = self._turns.pop(0) if self._turns else Turn.ANSWER
        await self.happen("q")
        match turn:
            case Turn.FAILS:
                raise ModelError("overloaded")
            case Turn.ANSWER:
                yield Reply(Assistant(f"A{number}"))
            case Turn.TOOL:
                yield Reply(asks("a"))
            case Turn.NOTHING:
                yield Reply(Assistant(""))

    async def happen(self, kind: str) -> None:
        for action in self._plan.during.get(f"{kind}{len(self.requests)}", ()):
            self.act(action)
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # a cancel of this very task arrives here

    def act(self, action: Action) -> None:
        assert self.stage is not None
        stage, inbox = self.stage, self.stage.inbox
        match action:
            case Send(preset, by_agent):
                self.sent += 1
                side = inbox.as_agent(stage.run_id) if by_agent else inbox
                side.send(stage.run_id, f"m{self.sent}", preset.lane, preset.wake)
            case Cancel():
                asyncio.get_running_loop().call_soon(stage.life.cancel, "stopped by ana")
            case Crash():
                check_crash(stage)
            case Change(what, back):
                messages = inbox.messages()
                if len(messages) > back:
                    self._change(what, messages[-1 - back].id)

    def _change(self, what: str, message_id: str) -> None:
        assert self.stage is not None
        inbox = self.stage.inbox
        before = self.stage.message(message_id)
        try:
            if what == "edit":
                inbox.edit(message_id, before.body + "'")
            else:
                getattr(inbox, what)(message_id)
        except SendRefusedError:
            assert not before.state.open, "an open message can be amended (A10)"
            assert self.stage.message(message_id) == before
        else:
            assert before.state.open, "what has ended is too late to amend (A10)"


async def play(plan: Plan, store: str) -> None:
    clock = FakeClock()
    with inbox_on(store, clock) as inbox:
        model = PlanModel(plan)
        stage = RuleStage(inbox, model, clock)
        model.stage = stage

        async def during_tools() -> str:
            await model.happen("t")
            return "done"

        stage.begin(
            tool(during_tools, name="a"),
            max_iterations=plan.max_iterations,
            turn_claim="one" if plan.one_followup else "all",
            keep_open=plan.idle is not None,
        )
        for batch in plan.idle or ():
            await until_idle(stage)
            for action in batch:
                model.act(action)
        await until_idle(stage)
        result = await stage.finish()
        check(stage, model, Reference(plan).play(), result.outcome, plan)


async def until_idle(stage: RuleStage) -> None:
    """Return once the run has ended, or rests, and has nothing more to tell."""
    before = -1
    for _ in range(200):
        await settle()
        assert stage.task is not None
        if stage.task.done():
            return
        told = len(stage.told.events)
        waiting = [message for message in stage.inbox.messages() if message.state.open]
        wakes = any(message.wake and not message.held for message in waiting)
        if stage.life.idle and not wakes and told == before:
            return
        before = told
    raise AssertionError("the run neither ends nor rests")


def check(stage: RuleStage, model: PlanModel, expected: Expected, outcome: Outcome, plan: Plan) -> None:
    assert stage.history == " ".join(expected.words)
    assert [shorthand(request) for request in model.requests] == expected.requests
    messages = stage.inbox.messages()
    assert [(note.name, note.body) for note in expected.notes] == [
        (message.original.body, message.body) for message in messages
    ]
    assert [note.end for note in expected.notes] == [stage.fate(note.name) for note in expected.notes]
    assert outcome == expected.outcome
    assert len(stage.told.of(TurnStarted)) == expected.turns
    history = stage.told.history(stage.run_id)
    for request in model.requests:
        assert is_paired(request), "every request has complete tool pairing (H1)"
        assert request == tuple(history[: len(request)]), "what is sent is what is stored (H2)"
    check_deliveries(stage)
    check_budget(stage, plan.max_iterations)


def check_deliveries(stage: RuleStage) -> None:
    """A2, on what everyone was told: delivered exactly once, where the history holds it."""
    told = stage.told.events
    delivered = [event for event in told if isinstance(event, MessageDelivered)]
    assert len({event.message_id for event in delivered}) == len(delivered)
    texts = {event.index: event.entry for event in told if isinstance(event, HistoryAppended)}
    for event in delivered:
        assert event.message_id is not None
        message = stage.message(event.message_id)
        assert message.state is MessageState.DELIVERED
        assert texts[event.history_index] == User(message.body)
    stored = [m for m in stage.inbox.messages() if m.state is MessageState.DELIVERED]
    assert len(stored) == len(delivered)


def check_budget(stage: RuleStage, most: int) -> None:
    """P9 and P10: so many rounds a turn and no more, whoever wrote what."""
    rounds = [event.turn for event in stage.told.of(RoundStarted)]
    for turn in set(rounds):
        assert rounds.count(turn) <= most * (most + 1) + 1


def check_crash(stage: RuleStage) -> None:
    """A1, A2 and A8, if the host died now: whoever reaps finds each message delivered, or brings it back."""
    with journal_as_it_is(stage.inbox) as store:
        if store is None:
            return  # nothing of a memory outlives its process
        before = store.messages()
        with store.transaction():
            mailroom.reap(store, stage.clock())
        records = store.records(0, 1_000_000)
        assert [record.seq for record in records] == list(range(1, len(records) + 1))
        events = [record.event for record in records]
        delivered = {at.message_id: at for at in events if isinstance(at, MessageDelivered)}
        entries = [(at.index, at.entry) for at in events if isinstance(at, HistoryAppended)]
        for was, now in zip(before, store.messages(), strict=True):
            assert now.reason == (ReturnReason.HOST_LOST if was.state.open else was.reason)
            assert (now.id in delivered) is (now.state is MessageState.DELIVERED)
            if now.id in delivered:
                assert entries.count((delivered[now.id].history_index, User(now.body))) == 1
        assert {m.id for m in before if m.state is MessageState.DELIVERED} == {
            event.message_id for event in stage.told.of(MessageDelivered)
        }


STEER, FOLLOWUP, INJECT = (Send(preset) for preset in Preset)


@pytest.mark.parametrize("store", STORES)
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plan=plans(root=False))
@example(Plan(1, (), {f"q{n}": (STEER,) for n in range(1, 5)}))
@example(Plan(2, (Turn.TOOL,), {"t1": (INJECT, FOLLOWUP, Cancel())}))
def test_a_sub_agents_run_is_what_the_reference_says(store: str, plan: Plan) -> None:
    asyncio.run(play(plan, store))


@pytest.mark.parametrize("store", STORES)
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plan=plans(root=True))
@example(Plan(2, (), {"q1": (STEER, Cancel())}, ((STEER,), (INJECT,), (FOLLOWUP,))))
def test_a_roots_session_is_what_the_reference_says(store: str, plan: Plan) -> None:
    asyncio.run(play(plan, store))
