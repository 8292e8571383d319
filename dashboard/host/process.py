"""The host process: it takes the session, runs the roster, and ends it properly."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from dashboard import __version__
from dashboard.agent import Runtime
from dashboard.host.roster import Roster
from dashboard.host.supervisor import Supervisor
from dashboard.journal.session import JournalHostSession

LINGER_SECONDS = 600.0


def host_main(folder: Path, make_roster: Callable[[Path], Roster], linger: float = LINGER_SECONDS) -> None:
    """Run a roster as this process's only work; returns once the session is closed.

    Args:
        folder: the session's folder, private and empty.
        make_roster: builds the roster, given that folder.
        linger: seconds to stay without work and without a console.

    Raises:
        HostError: another host runs the session.
        JournalError: the session has a journal already.
    """
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    asyncio.run(_host(folder, make_roster, linger))


async def _host(folder: Path, make_roster: Callable[[Path], Roster], linger: float) -> None:
    roster = make_roster(folder)  # before the journal: what cannot be built leaves no half-made session
    session = JournalHostSession(folder)
    reason = "the host failed; its log says why"
    try:
        supervisor = Supervisor(
            session, linger, Runtime(emit=session.emit, next_ordinal=session.inbox.next_ordinal)
        )
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, supervisor.stop, "the host was asked to end (SIGTERM)")
        loop.add_signal_handler(signal.SIGINT, supervisor.stop, "the host was interrupted (SIGINT)")
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a lost ssh must not end the agents
        root = roster.make_root(session.inbox)
        await session.start(__version__, roster.title, roster.labels)
        reason = await supervisor.run(root, roster.task)
    finally:
        await session.close(reason)
