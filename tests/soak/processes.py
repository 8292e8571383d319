"""Processes that cost a fork, not the start of an interpreter, and how each of them ended.

Nothing may run in another thread of the process that forks, and no journal may be open in it.
"""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections.abc import Callable

PATIENCE_SECONDS = 30.0
LONGEST_SECONDS = 300  # after which a process ends by itself, should whoever forked it be gone
KILLED = -signal.SIGKILL
_living: set[int] = set()  # what was forked here and not waited for yet


class StuckError(Exception):
    """Something that has to come does not."""


def fork(body: Callable[[], None]) -> int:
    """Start a process that does one thing and ends; gives its id. What it raises is told on standard error."""
    pid = os.fork()
    if pid:
        _living.add(pid)
        return pid
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # who forks ends its children itself
        signal.alarm(LONGEST_SECONDS)
        body()
        status = 0
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(status)


def kill(pid: int) -> int:
    """Kill a process; gives how it ended: another status than ``KILLED`` says that it was faster."""
    os.kill(pid, signal.SIGKILL)
    return _waited_for(pid)


def kill_all() -> None:
    """Kill what is left of what was forked here, so that what a failure has left stays as it is."""
    for pid in list(_living):
        kill(pid)


def has_ended(pid: int) -> bool:
    """Whether a process has ended; it can be waited for still."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def wait_for_end(pid: int) -> int:
    """Wait until a process has ended by itself; gives its exit status.

    Raises:
        StuckError: it does not end; it is killed.
    """
    try:
        await_that(lambda: has_ended(pid), f"process {pid} does not come to its end")
    except StuckError:
        kill(pid)
        raise
    return _waited_for(pid)


def await_that(condition: Callable[[], bool], otherwise: str) -> None:
    """Wait until something is so.

    Raises:
        StuckError: with ``otherwise``; it took too long.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise StuckError(otherwise)
        time.sleep(0.001)


def _waited_for(pid: int) -> int:
    _, status = os.waitpid(pid, 0)
    _living.discard(pid)
    return os.waitstatus_to_exitcode(status)
