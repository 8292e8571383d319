"""The reference for mail: runs, messages and the rules, as plain lists. No events, no transactions, no tables."""

from __future__ import annotations

from dataclasses import dataclass, field

from dashboard.core.mail import BoundaryKind
from dashboard.core.messages import MAX_TAKE_MESSAGES, Lane
from dashboard.core.outcomes import Outcome

OPEN = ("unbound", "queued")
RETURNS = {Outcome.CANCELLED: "cancelled", Outcome.LOST: "host_lost"}


class RefusedByRuleError(Exception):
    """The rules refuse it, with this word."""


@dataclass
class Run:
    """One run, and what its history holds: the bodies that it read."""

    run_id: str
    label: str
    ordinal: int
    reading: bool
    live: bool = True
    read: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.label}#{self.ordinal}"


@dataclass
class Letter:
    """One accepted message."""

    name: str  # the body that it was first sent with
    body: str
    lane: Lane
    wake: bool
    label: str
    run: Run | None
    accepted: int
    expires_at: int | None
    resets: bool
    held: bool = False
    state: str = "queued"
    round: int | None = None


class MailModel:
    """What the ledger must say after every step."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.letters: list[Letter] = []  # in order of acceptance
        self.order: list[Letter] = []  # in order of place
        self.over = False
        self._count = 0

    def start(self, run_id: str, label: str, *, reading: bool) -> Run:
        run = Run(run_id, label, sum(other.label == label for other in self.runs) + 1, reading)
        self.runs.append(run)
        for letter in self.order:
            if reading and letter.state == "unbound" and letter.label == label:
                letter.run, letter.state = run, "queued"
        return run

    def send(
        self, address: str, body: str, lane: Lane, wake: bool, *, expires_at: int | None, resets: bool
    ) -> Letter:
        if not body.strip():
            raise RefusedByRuleError("empty")
        if self.over:
            raise RefusedByRuleError("run_ended")
        run = self._resolve(address)
        letter = Letter(
            body, body, lane, wake, run.label if run else address, run, self._next(), expires_at, resets
        )
        letter.state = "queued" if run else "unbound"
        self.letters.append(letter)
        self.order.append(letter)
        return letter

    def amend(self, letter: Letter, what: str) -> None:
        if letter.state not in OPEN:
            raise RefusedByRuleError("too_late")
        match what:
            case "withdraw":
                letter.state = "withdrawn"
            case "edit":
                letter.body += "'"
            case "hold":
                letter.held = True
            case "release":
                letter.held = False
            case "promote" if letter.lane is Lane.NEXT_TURN:
                letter.lane = Lane.NEXT_STEP
                self.order.remove(letter)
                self.order.append(letter)

    def take(self, run: Run, kind: BoundaryKind, reads: int, now: int, *, one: bool) -> list[Letter]:
        if kind is BoundaryKind.FINAL and not self._wakes(run, now, Lane.NEXT_STEP):
            return []
        if kind is BoundaryKind.WAKE and not self._wakes(run, now, None):
            return []
        opens = kind in (BoundaryKind.WAKE, BoundaryKind.TURN_OPEN)
        return self._deliver(run, opens=opens, reads=reads, now=now, one=one)

    def finish(self, run: Run, outcome: Outcome, reads: int, now: int) -> list[Letter]:
        if outcome is Outcome.ANSWERED and self._wakes(run, now, Lane.NEXT_STEP):
            return self._deliver(run, opens=False, reads=reads, now=now, one=False)
        if outcome in (Outcome.ANSWERED, Outcome.WRAP_UP) and self._wakes(run, now, Lane.NEXT_TURN):
            return self._deliver(run, opens=True, reads=reads, now=now, one=False)
        run.live = False
        self._return(self._open(run), RETURNS.get(outcome, "run_ended"))
        return []

    def cancel_turn(self, run: Run, before: int | None) -> None:
        self._return(
            [letter for letter in self._open(run) if before is None or letter.accepted < before], "cancelled"
        )

    def lose_the_host(self) -> None:
        self.over = True
        self._return([letter for letter in self.letters if letter.state in OPEN], "host_lost")
        for run in self.runs:
            run.live = False

    def _resolve(self, address: str) -> Run | None:
        label, _, ordinal = address.partition("#")
        named = [run for run in self.runs if run.run_id == address or (ordinal and run.name == address)]
        if named:
            return self._reading(named[0])
        if ordinal:
            raise RefusedByRuleError("unknown")
        live = [run for run in self.runs if run.label == label and run.live]
        if len(live) == 1:
            return self._reading(live[0])
        if live:
            raise RefusedByRuleError("ambiguous")
        if any(run.label == label for run in self.runs):
            return None
        raise RefusedByRuleError("unknown")

    def _reading(self, run: Run) -> Run:
        if not run.live:
            raise RefusedByRuleError("run_ended")
        if not run.reading:
            raise RefusedByRuleError("not_reading")
        return run

    def _open(self, run: Run) -> list[Letter]:
        return [letter for letter in self.letters if letter.run is run and letter.state == "queued"]

    def _wakes(self, run: Run, now: int, lane: Lane | None) -> bool:
        return any(
            letter.wake and not letter.held and not _stale(letter, now) and lane in (None, letter.lane)
            for letter in self._open(run)
        )

    def _deliver(self, run: Run, *, opens: bool, reads: int, now: int, one: bool) -> list[Letter]:
        taken: list[Letter] = []
        for lane in (Lane.NEXT_TURN, Lane.NEXT_STEP) if opens else (Lane.NEXT_STEP,):
            waiting = [at for at in self.order if at.run is run and at.state == "queued" and at.lane is lane]
            for letter in waiting:
                if letter.held:
                    continue
                if _stale(letter, now):
                    letter.state = "expired"
                    continue
                if len(taken) == MAX_TAKE_MESSAGES:
                    return taken
                letter.state, letter.round = "delivered", reads
                run.read.append(letter.body)
                taken.append(letter)
                if one and lane is Lane.NEXT_TURN:
                    break
        return taken

    def _return(self, letters: list[Letter], reason: str) -> None:
        for letter in letters:
            letter.state = reason

    def _next(self) -> int:
        self._count += 1
        return self._count


def _stale(letter: Letter, now: int) -> bool:
    return letter.expires_at is not None and letter.expires_at < now
