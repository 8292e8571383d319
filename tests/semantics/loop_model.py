"""The reference: what must come of a plan, written straight from the rules, without a loop, a task or a store.

It knows no events and no transactions: a list of messages, a list of words, and the rules in order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dashboard.core.messages import Lane, Preset
from tests.semantics.plans import Action, Cancel, Change, Plan, Send, Turn

TRIES = 3  # one request, and two more if it fails


class CancelledHereError(Exception):
    """The plan cancels at this place."""


class FailedHereError(Exception):
    """Every try of a request has failed."""


@dataclass
class Note:
    """One message of the plan."""

    name: str
    body: str
    lane: Lane
    wake: bool
    resets: bool
    held: bool = False
    end: str = ""  # empty while it waits


@dataclass
class Expected:
    """What must come of a plan.

    Args:
        words: the history in shorthand.
        requests: the history at each request.
        notes: every message that was accepted, with its end.
        refused: how many sends were refused.
        outcome: the run's.
    """

    words: list[str] = field(default_factory=lambda: ["p"])
    requests: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    refused: int = 0
    turns: int = 0
    outcome: str = ""


class Reference:
    """Plays a plan by the rules."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.out = Expected()
        self._waiting: list[Note] = []  # in order of place
        self._turns = list(plan.turns)
        self._round = 0
        self._start = 1
        self._extensions = 0

    def play(self) -> Expected:
        if self.plan.idle is None:
            self._live_once()
        else:
            self._stay(self.plan.idle)
        return self.out

    def _live_once(self) -> None:
        """A sub-agent's run: one task, any number of turns (T4)."""
        try:
            self._open_turn()
            self._claim_open()
            while True:
                answered = self._turn()
                if answered and self._wakes(Lane.NEXT_STEP):
                    self._claim(Lane.NEXT_STEP)
                elif self._wakes(Lane.NEXT_TURN):
                    self._open_turn()
                    self._claim_open()
                else:
                    self.out.outcome = "answered" if answered else "wrap_up"
                    break
        except CancelledHereError:
            self.out.outcome = "cancelled"
        except FailedHereError:
            self.out.outcome = "error"
        self._return("cancelled" if self.out.outcome == "cancelled" else "run_ended")

    def _stay(self, idle: tuple[tuple[Action, ...], ...]) -> None:
        """A root's run: idle between turns, until the test ends it."""
        self._root_turn(first=True)
        for actions in idle:
            for action in actions:
                self._act(action)
            self._root_turn(first=False)
        self.out.outcome = "cancelled"
        self._return("cancelled")

    def _root_turn(self, *, first: bool) -> None:
        while first or any(note.wake and not note.held for note in self._waiting):
            try:
                if first:
                    self._open_turn()
                self._claim_open()
                if not first:
                    self._open_turn()
                first = False
                while self._turn() and self._wakes(Lane.NEXT_STEP):
                    self._claim(Lane.NEXT_STEP)
            except CancelledHereError:
                self._return("cancelled")
            except FailedHereError:
                pass
            first = False

    def _open_turn(self) -> None:
        self.out.turns += 1
        self._start, self._extensions = self._round + 1, 0

    def _turn(self) -> bool:
        """Rounds to an answer; whether it was one, and not a wrap-up."""
        while True:
            wrapping = False
            if self._capped():
                self._claim(Lane.NEXT_STEP)
                wrapping = self._capped()
                if wrapping:
                    self.out.words.append("<final_answer>")
            self._round += 1
            turn = self._request()
            self.out.words.append({Turn.ANSWER: f"A{len(self.out.requests)}"}.get(turn, turn.value))
            if turn is Turn.TOOL:
                self.out.words.append("a")
                if not wrapping:
                    self._happens("t")
                    self._claim(Lane.NEXT_STEP)
            if wrapping:
                return False
            if turn is Turn.ANSWER:
                return True
            if turn is Turn.NOTHING and not self._claim(Lane.NEXT_STEP) and not self._capped():
                self.out.words.append("<continuation>")

    def _request(self) -> Turn:
        for tried in range(1, TRIES + 1):
            self.out.requests.append(" ".join(self.out.words))
            turn = self._turns.pop(0) if self._turns else Turn.ANSWER
            self._happens("q")
            if turn is not Turn.FAILS:
                return turn
            if tried < TRIES:
                self._claim(Lane.NEXT_STEP, read_by=self._round)
        raise FailedHereError

    def _capped(self) -> bool:
        return self._round + 1 - self._start + 1 > self.plan.max_iterations

    def _happens(self, kind: str) -> None:
        cancelled = False
        for action in self.plan.during.get(f"{kind}{len(self.out.requests)}", ()):
            if isinstance(action, Cancel):  # a crash is looked at, and changes nothing here
                cancelled = True
            else:
                self._act(action)
        if cancelled:
            raise CancelledHereError

    def _act(self, action: Action) -> None:
        if isinstance(action, Send):
            name = f"m{len(self.out.notes) + 1}"
            preset: Preset = action.preset
            note = Note(name, name, preset.lane, preset.wake, preset.wake and not action.by_agent)
            self.out.notes.append(note)
            self._waiting.append(note)
        elif isinstance(action, Change):
            self._change(action)

    def _change(self, change: Change) -> None:
        if len(self.out.notes) <= change.back:
            return
        note = self.out.notes[-1 - change.back]
        if note.end:
            return  # too late
        match change.what:
            case "withdraw":
                note.end = "withdrawn"
                self._waiting.remove(note)
            case "edit":
                note.body += "'"
            case "hold":
                note.held = True
            case "release":
                note.held = False
            case _:
                if note.lane is Lane.NEXT_TURN:
                    note.lane = Lane.NEXT_STEP
                    self._waiting.remove(note)
                    self._waiting.append(note)

    def _wakes(self, lane: Lane) -> bool:
        return any(note.lane is lane and note.wake and not note.held for note in self._waiting)

    def _claim_open(self) -> None:
        """T1: next_turn, then next_step; T6: all follow-ups, or one. A fresh budget has nothing to reset."""
        follow_ups = self._ready(Lane.NEXT_TURN)
        if self.plan.one_followup:
            follow_ups = follow_ups[:1]
        self._deliver(follow_ups, self._round + 1)
        self._deliver(self._ready(Lane.NEXT_STEP), self._round + 1)

    def _claim(self, lane: Lane, read_by: int | None = None) -> bool:
        """Deliver a lane; whether any of it wakes. What a person wrote resets the budget, so often (P9)."""
        ready = self._ready(lane)
        reads = self._round + 1 if read_by is None else read_by
        self._deliver(ready, reads)
        if any(note.resets for note in ready) and self._extensions < self.plan.max_iterations:
            self._start, self._extensions = reads, self._extensions + 1
        return any(note.wake for note in ready)

    def _ready(self, lane: Lane) -> list[Note]:
        return [note for note in self._waiting if note.lane is lane and not note.held]

    def _deliver(self, notes: list[Note], read_by: int) -> None:
        for note in notes:
            note.end = f"delivered in {read_by}"
            self._waiting.remove(note)
            self.out.words.append(note.body)

    def _return(self, reason: str) -> None:
        for note in self._waiting:
            note.end = reason
        self._waiting.clear()
