"""Doubles for the loop's surroundings: a model that plays turns, an in-memory mail, a runtime without time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

import msgspec

from dashboard.agent.agent import Agent
from dashboard.agent.runtime import Ordinals, Runtime
from dashboard.agent.telling import Emit
from dashboard.agent.tools import Tool, ToolContext, tool
from dashboard.core.events import Event, HistoryAppended, KnownEvent, MessageDelivered, RunFinished, TurnFinished
from dashboard.core.history import Assistant, Entry, Provenance, System, ToolCall, ToolResult, User
from dashboard.core.inbox import Drain
from dashboard.core.lanes import Lanes
from dashboard.core.mail import Boundary, BoundaryKind, Delivered
from dashboard.core.messages import Lane, Message, Preset, Sender, SenderKind
from dashboard.core.outcomes import Outcome, RunEnd
from dashboard.models.base import ModelEvent, ModelRequest, Reply, TextPart

E = TypeVar("E", bound=Event)
Act = Callable[[], object]


class Recorder:
    """Takes events, and gives them back by type."""

    def __init__(self) -> None:
        self.events: list[KnownEvent] = []

    def __call__(self, event: KnownEvent) -> None:
        self.events.append(event)

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    def names(self) -> list[str]:
        return [type(event).__name__ for event in self.events]

    def history(self, run_id: str) -> list[Entry]:
        """The stored history of a run; its indices are gap-free, or this fails."""
        told = [event for event in self.of(HistoryAppended) if event.run_id == run_id]
        assert [event.index for event in told] == list(range(len(told)))
        return [event.entry for event in told]


class FakeSleep:
    """Does not wait; remembers for how long, and may do something meanwhile."""

    def __init__(self, act: Act = bool) -> None:
        self.waited: list[float] = []
        self._act = act

    async def __call__(self, seconds: float) -> None:
        self.waited.append(seconds)
        self._act()


async def inline(call: Callable[[], object]) -> object:
    return call()


def fake_runtime(emit: Emit, sleep: Callable[[float], Awaitable[None]] | None = None) -> Runtime:
    ticks = count(1_000_000, 1_000)
    entropy = count()
    return Runtime(
        emit=emit,
        clock=lambda: next(ticks),
        sleep=sleep or FakeSleep(),
        entropy=lambda size: next(entropy).to_bytes(size),
        run_blocking=inline,
    )


class Breaks(msgspec.Struct, frozen=True):
    """A turn that shows a text and then fails."""

    shown: str
    error: Exception


class Cut(msgspec.Struct, frozen=True):
    """A turn that the provider cut short."""

    entry: Assistant


Turn = str | Assistant | Exception | Breaks | Cut


@dataclass
class FakeModel:
    """Plays one turn per request, remembers the requests, and does ``during[k]`` during request k."""

    turns: Sequence[Turn]
    during: dict[int, Act] = field(default_factory=dict)
    requests: list[ModelRequest] = field(default_factory=list)
    forever: bool = False  # the last turn is repeated

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self.requests.append(request)
        number = len(self.requests)
        await asyncio.sleep(0)
        self.during.get(number, bool)()
        assert number <= len(self.turns) or self.forever, "one request more than there are turns"
        turn = self.turns[min(number, len(self.turns)) - 1]
        match turn:
            case str():
                yield TextPart(turn)
                yield Reply(Assistant(turn), input_tokens=7, output_tokens=3)
            case Assistant():
                yield Reply(turn)
            case Cut(entry):
                yield Reply(entry, truncated=True)
            case Breaks(shown, error):
                yield TextPart(shown)
                raise error
            case Exception():
                raise turn

    @property
    def sent(self) -> list[str]:
        """Each request's history in shorthand."""
        return [shorthand(request.history) for request in self.requests]


def asks(*names: str) -> Assistant:
    """A turn that calls these tools, without arguments."""
    return Assistant("", tool_calls=tuple(ToolCall(f"call_{name}", name, "{}") for name in names))


def shorthand(entries: Iterable[Entry]) -> str:
    """The notation of the case table: p A x T a b; a loop's own prompt is <kind>."""
    words: list[str] = []
    for entry in entries:
        match entry:
            case System():
                words.append("S")
            case User(content, provenance):
                words.append(content if provenance is None else f"<{Provenance(provenance).value}>")
            case Assistant(content, _, calls):
                words.append("T" if calls else content or "-")
            case ToolResult(_, name):
                words.append(name)
    return " ".join(words)


class FakeMail:
    """A two-lane mail in memory, built to the port's contract."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._changed = asyncio.Event()
        self.run_id = ""
        self.lanes = Lanes()
        self.boundaries: list[Boundary] = []
        self.ended: RunEnd | None = None
        self.returned: tuple[str, ...] = ()

    def send(self, text: str, preset: Preset = Preset.STEER, kind: SenderKind = SenderKind.OPERATOR) -> None:
        assert self.ended is None, "a send to an ended run is refused"
        message = Message(f"msg_{text}", text, preset.lane, preset.wake, Sender(kind, "ana"), 0)
        self.lanes = self.lanes.send(message)
        self._changed.set()

    async def take(self, boundary: Boundary) -> tuple[Delivered, ...]:
        self.boundaries.append(boundary)
        if boundary.kind is BoundaryKind.WAKE and not self.lanes.wake:
            return ()
        if boundary.kind in (BoundaryKind.TURN_OPEN, BoundaryKind.WAKE):
            return self._deliver(boundary, Lane.NEXT_TURN, Lane.NEXT_STEP)
        if boundary.kind is BoundaryKind.FINAL and not self.lanes.extends:
            return ()
        return self._deliver(boundary, Lane.NEXT_STEP)

    async def finish(self, boundary: Boundary, end: RunEnd) -> tuple[Delivered, ...]:
        self.boundaries.append(boundary)
        assert self.ended is None, "a run ends once"
        if end.outcome in (Outcome.ANSWERED, Outcome.WRAP_UP):
            if self.lanes.extends and end.outcome is Outcome.ANSWERED:
                return self._deliver(boundary, Lane.NEXT_STEP)
            if any(message.wake for message in self.lanes.next_turn):
                opened = msgspec.structs.replace(boundary, turn=boundary.turn + 1)
                taken = self._deliver(opened, Lane.NEXT_TURN, Lane.NEXT_STEP)
                return tuple(msgspec.structs.replace(delivered, opens_turn=True) for delivered in taken)
        self.ended = end
        self.returned = tuple(message.body for message in (*self.lanes.next_turn, *self.lanes.next_step))
        self._emit(RunFinished(run_id=self.run_id, outcome=end.outcome, answer=end.answer, error=end.error))
        return ()

    async def cancel_turn(self, finished: TurnFinished | None, before: int | None) -> None:
        self.returned += tuple(message.body for message in (*self.lanes.next_turn, *self.lanes.next_step))
        self.lanes = Lanes()
        if finished is not None:
            self._emit(finished)

    async def wait(self) -> None:
        while not self.lanes.wake:
            self._changed.clear()
            await self._changed.wait()

    def _deliver(self, boundary: Boundary, *lanes: Lane) -> tuple[Delivered, ...]:
        delivered: list[Delivered] = []
        for lane in lanes:
            claimed, self.lanes = self.lanes.claim(lane)
            for message in claimed:
                index = boundary.history_index + len(delivered)
                self._emit(
                    MessageDelivered(
                        run_id=self.run_id,
                        turn=boundary.turn,
                        round=boundary.round,
                        history_index=index,
                        message_id=message.id,
                    )
                )
                self._emit(HistoryAppended(run_id=self.run_id, index=index, entry=User(message.body)))
                human = message.sender.kind is SenderKind.OPERATOR
                delivered.append(Delivered(message.body, message.wake, human and message.wake, message.id))
        return tuple(delivered)


class FakeInbox:
    """Opens a ``FakeMail`` per run; ``mails[0]`` is there, and can be written to, before its run starts."""

    def __init__(self, emit: Emit) -> None:
        self.emit = emit
        self.next_ordinal = Ordinals().next
        self.mails: list[FakeMail] = [FakeMail(emit)]
        self._opened = 0

    @property
    def mail(self) -> FakeMail:
        return self.mails[0]

    def reader(self, agent: str | None = None) -> Drain:
        raise AssertionError("a loop asks for open_run first")

    def open_run(self, run_id: str) -> FakeMail:
        self._opened += 1
        if self._opened > len(self.mails):
            self.mails.append(FakeMail(self.emit))
        mail = self.mails[self._opened - 1]
        mail.run_id = run_id
        return mail


class Stage:
    """Everything around one run, ready made."""

    def __init__(self, *turns: Turn, sleep: Callable[[float], Awaitable[None]] | None = None) -> None:
        self.told = Recorder()
        self.inbox = FakeInbox(self.told)
        self.mail = self.inbox.mail
        self.runtime = fake_runtime(self.told, sleep)
        self.model = FakeModel(turns)

    def agent(self, *tools: Tool, max_iterations: int = 10) -> Agent:
        return Agent(self.model, tools=tools, max_iterations=max_iterations, name="main", inbox=self.inbox)

    @property
    def history(self) -> str:
        return shorthand(self.told.history(self.mail.run_id))


def quick(name: str, act: Act = bool, *, concurrent: bool = True) -> Tool:
    """A tool that does something and says ``done``."""

    async def run() -> str:
        act()
        return "done"

    return tool(run, name=name, concurrent=concurrent)


class Gate:
    """A tool that waits until the test opens it."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.tool = tool(self.wait, name="wait")

    async def wait(self) -> str:
        await self.opened.wait()
        return "done"


async def settle() -> None:
    """Let every task run until it waits for something from outside."""
    for _ in range(50):
        await asyncio.sleep(0)


def context(runtime: Runtime, depth: int = 0) -> ToolContext:
    return ToolContext("run_1", "main", depth, "call_1", runtime)
