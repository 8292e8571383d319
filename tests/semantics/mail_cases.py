"""Cases of mail: whom it reaches, what becomes of it, and what is refused."""

from __future__ import annotations

import asyncio

from dashboard.core.events import RunStarted, TurnStarted
from dashboard.core.history import User
from dashboard.core.mail import Boundary, BoundaryKind
from dashboard.core.messages import Message, Preset, Refusal, Sender, SenderKind
from dashboard.core.outcomes import Outcome, RunEnd
from dashboard.journal.routed_inbox import RoutedInbox
from tests.agent.fakes import Gate, asks, quick, settle
from tests.conftest import FakeClock
from tests.semantics.casebook import FOLLOWUP, case, refused
from tests.semantics.stage import played


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


@case("white space: refused(empty), no round")
async def white_space(inbox: RoutedInbox, clock: FakeClock) -> None:
    stage, model = played(inbox, clock, "A")
    refusals: list[Refusal] = []
    model.during = {1: lambda: refusals.append(refused(lambda: stage.send(" \n\t")))}
    await stage.begin()
    assert refusals == [Refusal.EMPTY]
    assert stage.history == "p A"


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
