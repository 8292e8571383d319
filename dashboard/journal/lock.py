"""The host's life as a lock on a file: the kernel lets go of it when the process dies, however it dies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from dashboard.core.errors import HostError
from dashboard.core.sessions import HostState
from dashboard.journal.home import LOCK_NAME

if TYPE_CHECKING:
    from pathlib import Path


HEARTBEAT_LIMIT = 5_000_000  # microseconds: older than this, the host is not responding


def living_state(heartbeat: int, now: int) -> HostState:
    """Say how a host does that holds its lock: it may live and yet be stopped, or stuck.

    Args:
        heartbeat: when it last beat, in microseconds since the epoch, UTC.
        now: the same for now.
    """
    return HostState.RUNNING if now - heartbeat <= HEARTBEAT_LIMIT else HostState.NOT_RESPONDING


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


def host_is_dead(folder: Path) -> FileLock | None:
    """Take the lock of a host that no longer holds it.

    Returns:
        The lock, taken, so that only one process reaps: the caller lets go of it. ``None`` while a host lives.
    """
    lock = host_lock(folder)
    try:
        lock.acquire()
    except Timeout:
        return None
    return lock
