"""The case table: what was sent when, and the one right transcript. Each is played on both stores.

T(ab) is a turn that calls tools a and b, A an answer, E a model error; ``!x`` steers, ``?x`` injects, ``+x``
follows up; ``@q1`` is during request 1, ``@t1`` during the tools of round 1; p is the prompt.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from dashboard.agent.subagents import make_subagent_tool
from dashboard.agent.tools import tool
from dashboard.core.errors import ModelError, SendRefusedError
from dashboard.core.events import KnownEvent, RoundStarted, RunStarted, TurnStarted
from dashboard.core.history import Assistant, ToolResult, User
from dashboard.core.mail import Boundary, BoundaryKind
from dashboard.core.messages import Message, Preset, Refusal, Sender, SenderKind
from dashboard.core.outcomes import Outcome, RunEnd
from dashboard.journal.routed_inbox import RoutedInbox
from dashboard.models.base import ModelRequest
from dashboard.models.scripted import ScriptedModel, call
from tests.agent.fakes import FakeSleep, Gate, asks, quick, settle, shorthand
from tests.conftest import FakeClock
from tests.semantics.stage import RuleStage, played

Case = Callable[[RoutedInbox, FakeClock], Awaitable[None]]
CASES: dict[str, Case] = {}
FOLLOWUP, INJECT = Preset.FOLLOWUP, Preset.INJECT


def case(row: str) -> Callable[[Case], Case]:
    """Enter a case under its row of the table."""

    def enter(play: Case) -> Case:
        CASES[row] = play
        return play

    return enter


def refused(send: Callable[[], object]) -> Refusal:
    with pytest.raises(SendRefusedError) as caught:
        send()
    return caught.value.refusal


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


@case("one id sent twice: one entry, the same receipt")
async def one_id_twice(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, model = played(inbox, clock, "A", "A")
    receipts: list[object] = []

    def send_twice() -> None:
        ana = Sender(SenderKind.OPERATOR, "ana")
        message = Message("msg_1", "x", Preset.STEER.lane, True, ana, clock())
        receipts.extend(inbox._desk.send(stage.run_id, message).result() for _ in range(2))

    def send_another() -> None:
        ana = Sender(SenderKind.OPERATOR, "ana")
        other = Message("msg_1", "z", Preset.STEER.lane, True, ana, clock())
        assert refused(lambda: inbox._desk.send(stage.run_id, other).result()) is Refusal.ID_REUSED

    model.during = {1: send_twice, 2: send_another}
    await stage.begin()
    assert receipts[0] == receipts[1]
    assert stage.history == "p A x A"
    assert len(inbox.messages()) == 1


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


@case("+y, cancel: y returned as cancelled; nothing dispatched")
async def cancel_with_a_follow_up(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, model = played(inbox, clock, asks("wait"))

    run = stage.begin(Gate().tool)
    await settle()
    stage.send("y", FOLLOWUP)
    stage.life.cancel("stopped by ana")
    assert (await run).outcome is Outcome.CANCELLED
    assert stage.fate("y") == "cancelled"
    assert len(model.requests) == 1


@case("!old, cancel, !new (root): old returned; a new turn with new")
async def cancel_a_root_and_write_again(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, _ = played(inbox, clock, asks("wait"), "A")

    stage.begin(Gate().tool, keep_open=True, label="main")
    await settle()
    stage.send("old")
    stage.life.cancel("stopped by ana")
    await settle()
    assert stage.fate("old") == "cancelled"
    stage.send("new")
    await settle()
    assert stage.history == "p T wait new A"
    assert len(stage.told.of(TurnStarted)) == 2
    await stage.finish()


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


@case("two live runs of one label: neither takes the other's mail, and the bare label is refused")
async def two_runs_of_one_label(inbox: RoutedInbox, clock: FakeClock) -> None:
    stages = [played(inbox, clock, asks("wait"), "A")[0] for _ in range(2)]
    gate = Gate()
    runs = [stage.begin(gate.tool) for stage in stages]
    await settle()
    assert refused(lambda: inbox.steer("subagent-writer", "x")) is Refusal.AMBIGUOUS
    inbox.steer("subagent-writer#2", "for two")
    inbox.steer("subagent-writer#1", "for one")
    gate.opened.set()
    await asyncio.gather(*runs)
    assert [stage.history for stage in stages] == ["p T wait for one A", "p T wait for two A"]


@case("mail for a label before its run: bound to the first such run as it starts, and to no later one")
async def unbound_mail(inbox: RoutedInbox, clock: FakeClock) -> None:
    first, _ = played(inbox, clock, "A")
    await first.begin()  # the label is known from here
    inbox.steer("subagent-writer", "x")
    second, _ = played(inbox, clock, "A")
    third, _ = played(inbox, clock, "A")
    await second.begin()
    await third.begin()
    assert [stage.history for stage in (first, second, third)] == ["p A", "p x A", "p A"]


@case("unknown label: refused(unknown), nothing stored")
async def unknown_label(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, _ = played(inbox, clock, "A")
    await stage.begin()
    before = len(inbox.messages())
    assert refused(lambda: inbox.steer("subagent-writre", "x")) is Refusal.UNKNOWN
    assert len(inbox.messages()) == before


@case("ended run: refused(run_ended)")
async def ended_run(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, _ = played(inbox, clock, "A")
    await stage.begin()
    assert refused(lambda: inbox.steer("subagent-writer#1", "x")) is Refusal.RUN_ENDED
    assert inbox.messages() == ()


@case("turn_claim=one, +y1,+y2: A y1 A y2 A")
async def one_follow_up_a_turn(inbox: RoutedInbox, clock: FakeClock) -> None:
    for keep_open in (False, True):
        stage, model = played(inbox, clock, "A", "A", "A")
        model.during = {1: lambda stage=stage: [stage.send(text, FOLLOWUP) for text in ("y1", "y2")]}  # type: ignore[misc]
        stage.begin(turn_claim="one", keep_open=keep_open, label=f"root-{keep_open}")
        await stage.finish()
        assert stage.history == "p A y1 A y2 A"
        assert len(stage.told.of(TurnStarted)) == 3


@case("white space: refused(empty), no round")
async def white_space(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, model = played(inbox, clock, "A")
    refusals: list[Refusal] = []
    model.during = {1: lambda: refusals.append(refused(lambda: stage.send(" \n\t")))}
    await stage.begin()
    assert refusals == [Refusal.EMPTY]
    assert stage.history == "p A"


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


@case("x in request n: x byte-identical in every later request")
async def resent_as_stored(inbox: RoutedInbox, clock: FakeClock) -> None:
    typed = "  keep \t this\r\n exactly  \ud800 \u202e"
    stage, model = played(inbox, clock, asks("a"), asks("a"), "A")
    model.during = {1: lambda: stage.send(typed)}
    await stage.begin(quick("a"))
    sent = [entry for request in model.requests[1:] for entry in request.history if isinstance(entry, User)]
    texts = {entry.content for entry in sent} - {"p"}
    assert texts == {typed.replace("\ud800", "\ufffd")}
    for earlier, later in zip(model.requests, model.requests[1:], strict=False):
        assert later.history[: len(earlier.history)] == earlier.history


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


@case("a message that is held is neither read nor waking, until it is released")
async def held(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, model = played(inbox, clock, "A", "B", "C")
    model.during = {1: lambda: inbox.hold(stage.send("x").message_id)}
    stage.begin(keep_open=True, label="main")
    await settle()
    assert stage.history == "p A"
    inbox.release(inbox.messages()[0].id)
    await settle()
    assert stage.history == "p A x B"
    await stage.finish()


@case("a message that expired before its boundary is not read, and says so")
async def expired(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, model = played(inbox, clock, asks("a"), "A")

    def send_and_wait() -> None:
        inbox.send(stage.run_id, "x", expires_at=clock() + 1_000_000)
        clock.tick(2)

    model.during = {1: send_and_wait}
    await stage.begin(quick("a"))
    assert stage.history == "p T a A"
    assert stage.fate("x") == "expired"


@case("40 messages at one boundary: 32 in this round, 8 in the next, in their order")
async def more_than_one_boundary_takes(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, model = played(inbox, clock, asks("a"), asks("a"), "A")
    model.during = {1: lambda: [stage.send(f"m{number}") for number in range(40)]}
    await stage.begin(quick("a"))
    first, second = (" ".join(f"m{number}" for number in part) for part in (range(32), range(32, 40)))
    assert stage.history == f"p T a {first} T a {second} A"


@case("an agent's mail extends the turn, resets no budget, and is not the operator's")
async def agent_mail(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, model = played(inbox, clock, "A", "B")
    model.during = {1: lambda: inbox.as_agent(stage.run_id).steer(stage.run_id, "x")}
    result = await stage.begin(max_iterations=1)
    assert stage.history == "p A x <final_answer> B"
    assert result.outcome is Outcome.WRAP_UP
    (message,) = inbox.messages()
    assert (message.sender.kind, message.sender.run_id) == (SenderKind.AGENT, stage.run_id)


@case("a cancel that was asked for before a message was sent does not return it")
async def cancel_leaves_what_came_later(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, _ = played(inbox, clock, asks("wait"), "A")

    stage.begin(Gate().tool, keep_open=True, label="main")
    await settle()
    old = stage.message(stage.send("old").message_id)
    stage.send("new")
    stage.life.cancel("stopped by ana", before=old.accepted + 1)
    await settle()
    assert (stage.fate("old"), stage.history) == ("cancelled", "p T wait new A")
    await stage.finish()


@case("the last look for mail and the end are one step: nothing can be sent between them")
async def no_gap_at_the_end(inbox: RoutedInbox, clock: FakeClock) -> None:
    inbox.emit(RunStarted(run_id="run_1", label="subagent-writer", ordinal=1, task="t", max_iterations=3))
    mail = inbox.open_run("run_1")
    boundary = Boundary(BoundaryKind.FINAL, 1, 2, 1)
    inbox.inject("run_1", "x")
    assert await mail.finish(boundary, RunEnd(Outcome.ANSWERED, "A")) == ()
    (message,) = inbox.messages()
    assert message.reason == "run_ended"
    assert refused(lambda: inbox.steer("run_1", "y")) is Refusal.RUN_ENDED


@case("an agent that reads nothing: refused(not_reading)")
async def not_reading(inbox: RoutedInbox, clock: FakeClock) -> None:
    inbox.emit(
        RunStarted(run_id="run_1", label="subagent-writer", ordinal=1, task="t", max_iterations=3, reading=False)
    )
    assert refused(lambda: inbox.steer("run_1", "x")) is Refusal.NOT_READING
