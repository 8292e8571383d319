"""Mistakes that somebody could make, each put into the real code for one test: the cases have to catch it.

A fault is a change to the source of one function. It is compiled and put in its place for as long as a test needs
it; every caller sees it, as the function object stays the same.
"""

from __future__ import annotations
import __future__

import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from dashboard.agent import history, rounds, run_state, turns
from dashboard.core import labels
from dashboard.journal import ledger, memory
from dashboard.journal.mailroom import accepting, claiming, ending


@dataclass(frozen=True)
class Fault:
    """One mistake.

    Args:
        says: what is wrong.
        function: where.
        right: a piece of its source, which stands there once.
        wrong: what stands there instead.
    """

    says: str
    function: Callable[..., Any]
    right: str
    wrong: str


@contextmanager
def put_in(fault: Fault) -> Iterator[None]:
    """Run the code with a fault in it."""
    function = fault.function
    assert isinstance(function, FunctionType)
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(fault.right) == 1, (
        f"{fault.says}: {fault.right!r} does not stand once in {function.__name__}"
    )
    flags = __future__.annotations.compiler_flag
    made: dict[str, Any] = {}
    exec(compile(source.replace(fault.right, fault.wrong), "<fault>", "exec", flags), function.__globals__, made)
    wrong = made[function.__name__]
    right, function.__code__ = function.__code__, wrong.__code__
    try:
        yield
    finally:
        function.__code__ = right


FAULTS = (
    Fault(
        "a message does not reset the round budget (P9)",
        run_state.RunState._adopt,
        "message.wakes and message.resets_budget",
        "False and message.resets_budget",
    ),
    Fault(
        "the budget grows with every message, without end (P9, P10)",
        run_state.RunState._extend_budget,
        "self.budget.extend(round_number)",
        "self.budget.__class__(self.max_iterations, round_number)",
    ),
    Fault(
        "the budget is looked at after mail is claimed: what comes at the cap goes into a wrap-up (P10)",
        turns.take_turn,
        "wrapping_up = await _must_wrap_up(run)",
        "wrapping_up = run.round >= run.max_iterations or await _must_wrap_up(run)",
    ),
    Fault(
        "mail is read between the results of one round (H1)",
        rounds.call_tools,
        "        run.history.append(results.get(position) or not_executed(call))",
        "        run.history.append(results.get(position) or not_executed(call))\n"
        "            await run.take(BoundaryKind.AFTER_TOOLS)",
    ),
    Fault(
        "mail is not read after a tool round (P5)",
        turns.take_turn,
        "await run.take(BoundaryKind.AFTER_TOOLS)",
        "pass",
    ),
    Fault(
        "a bare label takes the first of several live runs (A5)",
        labels.resolve,
        "if len(live) == 1:",
        "if live:",
    ),
    Fault(
        "a label's mail is bound to any run that starts (A5, A7)",
        ending.follow,
        "ledger.unbound(event.label)",
        "ledger.unbound(event.label)[1:]",
    ),
    Fault(
        "a run ends without a last look for mail (A9, T2)",
        claiming.finish,
        "if end.outcome is Outcome.ANSWERED and ledger",
        "if False and ledger",
    ),
    Fault(
        "a sub-agent's follow-ups open no turn (T4)",
        claiming.finish,
        "if end.outcome in (Outcome.ANSWERED, Outcome.WRAP_UP)",
        "if end.outcome in ()",
    ),
    Fault(
        "a delivered message stays queued, and a retry delivers it again (A2, A8)",
        ledger.moved,
        "return msgspec.structs.replace(message, state=MessageState.DELIVERED, round=event.round)",
        "return msgspec.structs.replace(message, round=event.round)",
    ),
    Fault(
        "a retry does not carry the mail that came meanwhile (H3)",
        rounds._ask,
        "await run.take(BoundaryKind.RETRY)",
        "pass",
    ),
    Fault(
        "an inject extends a turn (T2)",
        memory.MemoryLedger.wakes,
        "message.wake and ",
        "",
    ),
    Fault(
        "an inject replaces the nudge (T2)",
        turns.take_turn,
        "not wakes(await run.take(BoundaryKind.DEGENERATE))",
        "not await run.take(BoundaryKind.DEGENERATE)",
    ),
    Fault(
        "a follow-up is read like a steer (T1)",
        claiming.take,
        "return _deliver(ledger, run_id, STEP, boundary, at)",
        "return _deliver(ledger, run_id, TURN, boundary, at)",
    ),
    Fault(
        "a turn opens with steers before follow-ups (T1)",
        claiming.finish,
        "_deliver(ledger, run_id, TURN, opened, at)",
        "_deliver(ledger, run_id, TURN[::-1], opened, at)",
    ),
    Fault(
        "all follow-ups open one turn, whatever the agent asked for (T6)",
        claiming.claim,
        "if one_followup and",
        "if False and",
    ),
    Fault(
        "a boundary takes everything at once (A14)",
        claiming.claim,
        "len(claimed) == MAX_TAKE_MESSAGES or (claimed and size > room)",
        "False",
    ),
    Fault(
        "what has expired is delivered (A13)",
        claiming.claim,
        "if message.stale(at):",
        "if False:",
    ),
    Fault(
        "white space is accepted (A1)",
        accepting.check_body,
        "if not body.strip():",
        "if not body:",
    ),
    Fault(
        "a repeated id is another message (A3)",
        accepting.accept,
        "if known is not None:",
        "if False:",
    ),
    Fault(
        "an ended run is written to (A1)",
        labels._bind,
        "if not run.live:",
        "if False:",
    ),
    Fault(
        "the mail of a run that ends is left behind (A1, A9)",
        ending.follow,
        "return_open(ledger, ledger.open_of(event.run_id), reason, at)",
        "pass",
    ),
    Fault(
        "a cancelled turn keeps its mail (A11)",
        ending.cancel_turn,
        "return_open(ledger, returned, ReturnReason.CANCELLED, at)",
        "pass",
    ),
    Fault(
        "a cancelled turn returns what was sent after the cancel too (A11)",
        ending.cancel_turn,
        "if before is None or message.accepted < before",
        "if True",
    ),
    Fault(
        "an agent's mail resets the budget (A12)",
        claiming._delivered,
        "by_operator and message.wake",
        "message.wake",
    ),
    Fault(
        "a message is sent otherwise than it was stored (H2)",
        history.History.adopt,
        "User(message.text)",
        "User(message.text.strip())",
    ),
    Fault(
        "an idle root's turn starts on an inject alone (T3)",
        claiming.take,
        "case BoundaryKind.WAKE if not ledger.wakes(run_id, at):",
        "case BoundaryKind.WAKE if False:",
    ),
)
