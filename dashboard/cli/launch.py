"""Starting a host process, and shaking hands with it. Nothing of the host is imported here: it is a process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from dashboard.core.errors import HostError, PlaceError
from dashboard.core.sanitize import sanitize
from dashboard.journal.catalog import host_started
from dashboard.journal.clock import wall_clock
from dashboard.journal.home import HOME_VARIABLE, LOG_NAME, home, make_session_folder, new_session_id

HANDSHAKE_SECONDS = 10.0
LOG_LINES = 12


def start_host(kind: str, arguments: Sequence[str], task: str = "") -> Path:
    """Start a host process in a session of its own, and wait until it has taken it.

    Args:
        kind: which hidden ``dashboard host`` command.
        arguments: what that gets besides the session.
        task: what it is given by standard input, where it reads that.

    Returns:
        The session's folder.

    Raises:
        HostError: it did not start within ten seconds; the error carries the end of its log.
        SessionUnsafeError: the session's folder cannot be trusted.
    """
    session_id = new_session_id(wall_clock(), os.urandom(3))
    folder = make_session_folder(session_id)
    log_file = folder / LOG_NAME
    log_file.touch(mode=0o600)
    with log_file.open("ab") as log, tempfile.TemporaryFile() as given:
        given.write(task.encode("utf-8", "surrogateescape"))
        given.seek(0)
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-P", "-m", "dashboard", "host", kind, session_id, *arguments],
            stdin=given,  # a file: a pipe would wait for a host that does not come to reading
            stdout=log,
            stderr=log,
            cwd="/",  # it outlives the folder it was started from
            env={**os.environ, HOME_VARIABLE: str(home().absolute())},
            start_new_session=True,
        )
    deadline = time.monotonic() + HANDSHAKE_SECONDS
    while time.monotonic() < deadline:
        if host_started(folder):
            return folder
        if process.poll() is not None:
            raise HostError(
                f"the host process of {session_id} ended at once (exit status {process.returncode})",
                _end_of(log_file),
            )
        time.sleep(0.02)
    process.terminate()
    raise HostError(
        f"the host process of {session_id} did not start within {HANDSHAKE_SECONDS:.0f} s", _end_of(log_file)
    )


def check_folder(folder: Path) -> Path:
    """Give the absolute path of a folder to investigate.

    Raises:
        PlaceError: it is missing, no folder, or cannot be read.
    """
    name = sanitize(str(folder))
    if not folder.exists():
        raise PlaceError(
            f"there is no folder {name}", fix="Name one that exists, or none for the packaged incident"
        )
    if not folder.is_dir():
        raise PlaceError(f"{name} is not a folder", fix="Name the folder that the file is in")
    try:
        next(iter(os.scandir(folder)), None)
    except OSError as error:
        raise PlaceError(
            f"{name} cannot be read", error.strerror or str(error), "Name one that you may read"
        ) from error
    return folder.resolve()


def check_file(file: Path) -> Path:
    """Give the absolute path of a roster file.

    Raises:
        PlaceError: it is missing, a folder, or cannot be read.
    """
    name = sanitize(str(file))
    try:
        with file.open("rb"):
            return file.resolve()
    except OSError as error:
        raise PlaceError(
            f"the roster {name} cannot be read", error.strerror or str(error), "Name a TOML file"
        ) from error


def _end_of(log_file: Path) -> str:
    lines = log_file.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]
    return sanitize("its log ends with\n  " + "\n  ".join(lines)) if lines else "its log is empty"
