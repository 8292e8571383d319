"""Cases of turns: at which boundary mail is read, what it extends, and what it starts."""

from __future__ import annotations

import asyncio
from collections import Counter

from dashboard.agent.subagents import make_subagent_tool
from dashboard.agent.tools import tool
from dashboard.core.errors import ModelError
from dashboard.core.events import KnownEvent, RoundStarted, TurnStarted
from dashboard.core.history import Assistant, ToolResult, User
from dashboard.core.messages import Refusal
from dashboard.core.outcomes import Outcome
from dashboard.journal.routed_inbox import RoutedInbox
from dashboard.models.base import ModelRequest
from dashboard.models.scripted import ScriptedModel, call
from tests.agent.fakes import FakeSleep, asks, quick, settle, shorthand
from tests.conftest import FakeClock
from tests.semantics.casebook import FOLLOWUP, INJECT, case, refused
from tests.semantics.stage import RuleStage, played


@case("[A,A] !x@q1: p A x A; after the end of a sub-agent, a send is refused")
async def steer_in_the_last_request(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, model = played(inbox, clock, "A", "A")
    model.during = {1: lambda: stage.send("x")}
    await stage.begin()
    assert stage.history == "p A x A"
    assert stage.fate("x") == "delivered in 2"
    assert refused(lambda: stage.send("late")) is Refusal.RUN_ENDED


@case("max=1, [A,A] !x@q1: two requests")
async def steer_at_the_cap(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, model = played(inbox, clock, "A", "A")
    model.during = {1: lambda: stage.send("x")}
    assert (await stage.begin(max_iterations=1)).outcome is Outcome.ANSWERED
    assert model.sent == ["p", "p A x"]


@case("[A,A,A] !x,+y@q1: p A x A y A")
async def the_steer_before_the_follow_up(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, model = played(inbox, clock, "A", "A", "A")
    model.during = {1: lambda: (stage.send("x"), stage.send("y", FOLLOWUP))}
    await stage.begin()
    assert stage.history == "p A x A y A"
    assert [event.turn for event in stage.told.of(TurnStarted)] == [1, 2]


@case("[T(a),A,A] +y@t1: the follow-up waits for the answer: p T a A y A")
async def a_follow_up_waits(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, _ = played(inbox, clock, asks("a"), "A", "B")
    await stage.begin(quick("a", lambda: stage.send("y", FOLLOWUP)))
    assert stage.history == "p T a A y B"


@case("?x,+y@q1: a turn opens with its follow-up, then with what was injected: p A y x A")
async def the_open_of_a_turn(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, model = played(inbox, clock, "A", "B")
    model.during = {1: lambda: (stage.send("x", INJECT), stage.send("y", FOLLOWUP))}
    await stage.begin()
    assert stage.history == "p A y x B"


@case("?x@q1 to a root: it stays queued, and no turn starts")
async def inject_starts_no_turn(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, model = played(inbox, clock, "A")
    model.during = {1: lambda: stage.send("x", INJECT)}
    stage.begin(keep_open=True, label="main")
    await settle()
    assert (stage.history, stage.fate("x")) == ("p A", "queued")
    await stage.finish()


@case("an idle root that is held, !y, ?x, withdraw y, resume: x stays queued, and no turn starts")
async def what_woke_it_is_withdrawn(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, _ = played(inbox, clock, "A")
    stage.begin(keep_open=True, label="main")
    await settle()
    stage.life.pause("ana")
    woke = stage.send("y")
    stage.send("x", INJECT)
    await settle()
    inbox.withdraw(woke.message_id)
    stage.life.resume("ana")
    await settle()
    assert (stage.history, stage.fate("x")) == ("p A", "queued")
    assert len(stage.told.of(TurnStarted)) == 1
    await stage.finish()


@case("[T(ab),A] !x@t1: p T a b x A, and each of a, b ran once")
async def steer_during_tools(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, _ = played(inbox, clock, asks("a", "b"), "A")
    ran: Counter[str] = Counter()

    def a_runs() -> None:
        ran.update("a")
        stage.send("x")

    await stage.begin(quick("a", a_runs), quick("b", lambda: ran.update("b")))
    assert stage.history == "p T a b x A"
    assert ran == {"a": 1, "b": 1}


@case("[T(ab),A] !x@t1, b slow: x after both results")
async def steer_between_two_results(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, _ = played(inbox, clock, asks("a", "b"), "A")
    opened = asyncio.Event()

    async def slow() -> str:
        await opened.wait()
        return "done"

    run = stage.begin(quick("a"), tool(slow, name="b"))
    await settle()
    stage.send("x")
    await settle()
    assert stage.fate("x") == "queued"
    opened.set()
    await run
    assert stage.history == "p T a b x A"


@case("send between commit and dispatch: in request n+1")
async def steer_just_after_the_boundary(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, model = played(inbox, clock, asks("a"), "A", "B")

    def send_once_the_round_has_begun(event: KnownEvent) -> None:
        if isinstance(event, RoundStarted) and event.round == 2:
            stage.send("x")

    stage.runtime.listeners = (stage.told, send_once_the_round_has_begun)
    await stage.begin(quick("a"))
    assert model.sent == ["p", "p T a", "p T a A x"]
    assert stage.fate("x") == "delivered in 3"


@case("[E,A] !x in the back-off: the retry carries x; one turn")
async def steer_in_the_back_off(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, model = played(inbox, clock, ModelError("overloaded"), "A")
    stage.runtime.sleep = FakeSleep(lambda: stage.send("x"))
    await stage.begin()
    assert model.sent == ["p", "p x"]
    assert stage.fate("x") == "delivered in 1"
    assert len(stage.told.of(TurnStarted)) == 1


@case("[E,E,A] !x in the first back-off: the second retry does not deliver it again")
async def no_retry_delivers_again(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, model = played(inbox, clock, ModelError("overloaded"), ModelError("overloaded"), "A")
    sends = iter((lambda: stage.send("x"),))
    stage.runtime.sleep = FakeSleep(lambda: next(sends, bool)())
    await stage.begin()
    assert model.sent == ["p", "p x", "p x"]


@case("!x to root during a child's tools: the child never sees x; root gets it after the tool result")
async def a_childs_tools(inbox: RoutedInbox, clock: FakeClock) -> None:
    seen: list[tuple[str, str]] = []

    def play(request: ModelRequest) -> Assistant:
        seen.append((request.label, shorthand(request.history)))
        if isinstance(request.history[-1], ToolResult | User) and len(request.history) > 1:
            return Assistant("A")
        if request.label == "main":
            return Assistant("", tool_calls=(call("subagent", agent_type="writer", task="t"),))
        return asks("a")

    model = ScriptedModel(play)
    stage = RuleStage(inbox, model, clock)
    write = quick("a", lambda: inbox.steer("main", "x"))
    spawn = make_subagent_tool(model, agent_types={"writer": {"tools": [write]}}, inbox=inbox)
    await stage.begin(spawn, label="main")
    assert seen[-1] == ("main", "p T subagent x")
    assert [history for label, history in seen if label == "subagent-writer"] == ["t", "t T a"]


@case("turn_claim=one, +y1,+y2: A y1 A y2 A")
async def one_follow_up_a_turn(inbox: RoutedInbox, clock: FakeClock) -> None:
    for keep_open in (False, True):
        stage, model = played(inbox, clock, "A", "A", "A")
        model.during = {1: lambda stage=stage: [stage.send(text, FOLLOWUP) for text in ("y1", "y2")]}  # type: ignore[misc]
        stage.begin(turn_claim="one", keep_open=keep_open, label=f"root-{keep_open}")
        await stage.finish()
        assert stage.history == "p A y1 A y2 A"
        assert len(stage.told.of(TurnStarted)) == 3


@case("mail at every point, max=3: at most 13 model requests in the turn")
async def mail_at_every_point(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, model = played(inbox, clock, asks("a"))
    model.forever = True
    model.during = {number: lambda: stage.send("q") for number in range(1, 40)}
    await stage.begin(quick("a", lambda: stage.send("t")), max_iterations=3)
    assert len(model.requests) <= 13
    assert model.requests[-1].tools == ()


@case("mail at the last moment of each budget, max=3: 13 model requests, the last of them the wrap-up")
async def mail_at_the_last_moments(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, model = played(inbox, clock, asks("a"))
    model.forever = True
    model.during = {number: lambda: stage.send("q") for number in (3, 6, 9, 12)}
    await stage.begin(quick("a"), max_iterations=3)
    assert len(model.requests) == 13
    assert [bool(request.tools) for request in model.requests] == [True] * 12 + [False]
    assert stage.history.endswith("q <final_answer> T a")


@case("approval pending, !x, allow: T result x A")
async def approval_pending(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, _ = played(inbox, clock, asks("shell"), "A")

    async def forever(seconds: float) -> None:
        await asyncio.Event().wait()

    async def shell() -> str:
        return "done"

    stage.runtime.sleep = forever
    run = stage.begin(tool(shell, needs_approval=True))
    await settle()
    stage.send("x")
    await settle()
    (waiting,) = stage.runtime.approvals
    stage.runtime.approvals.answer(waiting, allow=True, by="ana")
    await run
    assert stage.history == "p T shell x A"


@case("[A] ?x@q1: an inject extends nothing, and comes back when the run ends")
async def inject_extends_nothing(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, model = played(inbox, clock, "A")
    model.during = {1: lambda: stage.send("x", INJECT)}
    await stage.begin()
    assert stage.history == "p A"
    assert stage.fate("x") == "run_ended"


@case("?x, then !y to an idle root: one turn, which reads both in their order")
async def inject_to_an_idle_root(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, _ = played(inbox, clock, "A", "B")
    stage.begin(keep_open=True, label="main")
    await settle()
    stage.send("x", INJECT)
    await settle()
    assert stage.fate("x") == "queued"
    stage.send("y")
    await settle()
    assert stage.history == "p A x y B"
    assert len(stage.told.of(TurnStarted)) == 2
    await stage.finish()


@case("[-,A] ?x@q1: an inject rides along and does not replace the nudge")
async def inject_replaces_no_nudge(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, model = played(inbox, clock, "", "A")
    model.during = {1: lambda: stage.send("x", INJECT)}
    await stage.begin()
    assert stage.history == "p - x <continuation> A"
