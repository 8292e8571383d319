"""The host's life as a lock on a file: the kernel lets go of it when the process dies, however it dies."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from dashboard.core.errors import HostError
from dashboard.core.sessions import HostState
from dashboard.journal.home import LOCK_NAME

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType


HEARTBEAT_LIMIT = 5_000_000  # microseconds: older than this, the host is not responding


def living_state(heartbeat: int, now: int) -> HostState:
    """Say how a host does that holds its lock: it may live and yet be stopped, or stuck.

    A heartbeat of the future is no sign of life either: the clock was set back since, or another one was asked.

    Args:
        heartbeat: when it last beat, in microseconds since the epoch, UTC.
        now: the same for now.
    """
    return HostState.RUNNING if abs(now - heartbeat) <= HEARTBEAT_LIMIT else HostState.NOT_RESPONDING


def host_lock(folder: Path) -> FileLock:
    """Give the lock of a session's host, not taken yet."""
    return FileLock(str(folder / LOCK_NAME), mode=0o600, thread_local=False, blocking=False)


def hold(folder: Path) -> FileLock:
    """Take the lock for the life of this process; before the journal exists, so that no one can reap too early.

    Raises:
        HostError: another host runs this session.
    """
    lock = host_lock(folder)
    try:
        lock.acquire()
    except Timeout as error:
        raise HostError(
            f"another host process runs the session {folder.name}", fix=f"dashboard attach {folder.name}"
        ) from error
    return lock


class Glance:
    """A shared hold on the lock of a dead host: those who look hold it together, and no host while they do.

    Args:
        descriptor: of the lock's file, locked.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """Let go of it."""
        os.close(self._descriptor)

    def __enter__(self) -> Glance:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def host_is_dead(folder: Path) -> Glance | None:
    """Look whether a host still holds its lock. Two who look at once do not take each other for a living host.

    Returns:
        A shared hold on the lock, which the caller lets go of; ``None`` while a host lives.

    Raises:
        OSError: the lock cannot be looked at.
    """
    descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(
            descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB
        )  # the same kind of lock as a host's, which excludes it
    except BaseException as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return Glance(descriptor)
