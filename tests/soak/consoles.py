"""The consoles of the yard: those that write to whatever lives and amend what they wrote, and one that looks."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

from dashboard.core.errors import SendRefusedError
from dashboard.core.events import ControlAction
from dashboard.core.labels import ROOT_LABEL, RunRef
from dashboard.core.messages import Amendment, Edit, Hold, Message, Preset, Promote, Withdraw
from dashboard.core.projection import Projection
from dashboard.core.views import RunView
from dashboard.journal.session import JournalOperatorSession
from tests.soak.acks import AckBook, Kind
from tests.soak.hosting import CREW, REVIEWER, WORKER

PAUSE_SECONDS = 0.0005
PROBE_SECONDS = 0.1
RECENT = 20  # what may be amended: of the last so many
CONTROLS = (ControlAction.CANCEL, ControlAction.PAUSE, ControlAction.RESUME, ControlAction.STEP)


def be_writer(folder: Path, name: str, seed: int) -> None:
    """Write numbered messages, and note each answer, until the session is over.

    Args:
        folder: the session's folder.
        name: the operator's; no two processes have the same.
        seed: what decides what is written to whom.
    """
    session = JournalOperatorSession(folder, name)
    with asyncio.Runner() as runner:
        runner.run(_Writer(session, AckBook(folder), random.Random(seed)).write_on())
    session.close()


def be_reader(folder: Path) -> None:
    """Look as a console does, until the session is over; whoever looks is the reaper.

    Raises:
        AssertionError: what is read is not what has to be.
    """
    session = JournalOperatorSession(folder, "reader")
    projection = Projection()
    over = False
    while not over:
        over = session.probe().state.over  # before the last look: nothing comes after it
        records = session.read(projection.seq, 5_000)
        seqs = [record.seq for record in records]
        assert seqs == list(range(projection.seq + 1, projection.seq + 1 + len(seqs))), seqs
        projection.fold(records)
        over = over and not records
        time.sleep(0.005)
    counts = projection.counts()
    assert (counts.live, counts.idle, counts.pending) == (0, 0, 0), counts
    session.close()


class _Writer:
    def __init__(self, session: JournalOperatorSession, acks: AckBook, dice: random.Random) -> None:
        self._session = session
        self._acks = acks
        self._dice = dice
        self._number = 0
        self._sent: list[Message] = []

    async def write_on(self) -> None:
        probed_at = 0.0
        while True:
            if time.monotonic() - probed_at > PROBE_SECONDS:
                probed_at = time.monotonic()
                if self._session.probe().state.over:
                    return
            live = [run for run in self._session.look(lambda store: store.runs()) if run.live]
            chance = self._dice.random()
            try:
                if chance < 0.05:
                    await self._broadcast(live)
                elif chance < 0.07:
                    await self._ask(live)
                elif chance < 0.25 and self._sent:
                    await self._amend(self._dice.choice(self._sent[-RECENT:]))
                else:
                    await self._send(self._address(live))
            except SendRefusedError:
                await asyncio.sleep(PAUSE_SECONDS)  # full, ended, ambiguous, too late: nothing was changed

    def _address(self, live: list[RunRef]) -> str:
        if live and self._dice.random() < 0.7:
            return self._dice.choice(live).run_id
        return self._dice.choice((ROOT_LABEL, WORKER, REVIEWER, CREW))

    def _body(self, preset: Preset) -> str:
        self._number += 1
        return f"{self._session.operator} {self._number} {preset}"

    async def _send(self, address: str) -> None:
        preset = self._dice.choice((Preset.STEER, Preset.STEER, Preset.FOLLOWUP, Preset.INJECT))
        message = self._session.compose(self._body(preset), preset)
        await self._session.send(address, message)
        self._note_sent(message)

    async def _broadcast(self, live: list[RunRef]) -> None:
        preset = self._dice.choice(tuple(Preset))
        batch = self._session.compose_batch(self._body(preset), preset, [_seen(run) for run in live[-3:]])
        for result in await self._session.broadcast(batch):
            if result.receipt is not None:
                self._note_sent(result.part.message)

    async def _ask(self, live: list[RunRef]) -> None:
        below = [run for run in live if run.label in (WORKER, REVIEWER)]
        if below:
            await self._session.request(self._dice.choice(CONTROLS), self._dice.choice(below).run_id)

    async def _amend(self, message: Message) -> None:
        again = f"{message.body} again {self._number}"
        changes: dict[Kind, Amendment] = {
            Kind.WITHDRAWN: Withdraw(),
            Kind.EDITED: Edit(again),
            Kind.HELD: Hold(),
            Kind.PROMOTED: Promote(),
        }
        kind = self._dice.choice(tuple(changes))
        await self._session.amend(message.id, changes[kind])
        self._acks.note(kind, message.id, again if kind is Kind.EDITED else "")
        if kind is Kind.HELD and self._dice.random() < 0.8:
            await self._session.amend(message.id, Hold(held=False))
            self._acks.note(Kind.RELEASED, message.id)

    def _note_sent(self, message: Message) -> None:
        self._acks.note(Kind.SENT, message.id, message.body)
        self._sent.append(message)


def _seen(run: RunRef) -> RunView:
    """Give a run as a console has it."""
    return RunView(
        run_id=run.run_id, label=run.label, ordinal=run.ordinal, task="", parent_run_id=None, depth=0,
        reading=run.reading, started_at=0, max_iterations=1,
    )  # fmt: skip
