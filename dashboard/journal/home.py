"""Where sessions live: one private folder each, under the state folder of the user."""

from __future__ import annotations

import os
import re
import stat
import sys
from datetime import UTC, datetime
from pathlib import Path

import platformdirs

from dashboard.core.errors import SessionNotFoundError, SessionUnsafeError

HOME_VARIABLE = "DASHBOARD_HOME"
JOURNAL_NAME = "journal.db"
LOCK_NAME = "host.lock"
LOG_NAME = "host.log"
_SESSION_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[a-z0-9]{4,5}")
_LETTERS = "23456789abcdefghjkmnpqrstvwxyz"  # in the order that names are sorted in, none easily taken for another
_NETWORK = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs", "fuse.rclone", "drvfs")


def home() -> Path:
    """Give the state folder: ``DASHBOARD_HOME``, else where the platform keeps a user's state."""
    named = os.environ.get(HOME_VARIABLE)
    return Path(named).expanduser() if named else platformdirs.user_state_path("subagent-dashboard")


def sessions_folder() -> Path:
    """Give the folder that holds one folder per session; it need not exist."""
    return home() / "sessions"


def new_session_id(at: int, entropy: bytes) -> str:
    """Make a session id that sorts by time and can be typed: ``20261130-224318-9fk3f``.

    Of the five letters, two tell the part of the second, so that two sessions of one second are in order as well.

    Args:
        at: microseconds since the epoch, UTC.
        entropy: at least 3 random bytes.
    """
    base = len(_LETTERS)
    seconds, rest = divmod(at, 1_000_000)
    slot = rest * base * base // 1_000_000
    tail = _LETTERS[slot // base] + _LETTERS[slot % base] + "".join(_LETTERS[byte % base] for byte in entropy[:3])
    return f"{datetime.fromtimestamp(seconds, UTC):%Y%m%d-%H%M%S}-{tail}"


def make_session_folder(session_id: str) -> Path:
    """Make the private folder of a new session.

    Raises:
        SessionUnsafeError: the state folder is another user's, on a network file system, or cannot be made.
    """
    if not _SESSION_ID.fullmatch(session_id):
        raise SessionNotFoundError(f"{session_id!r} cannot be the id of a session")
    folder = sessions_folder() / session_id
    try:
        for parent in (home(), sessions_folder(), folder):
            parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            check_private(parent)
        folder.chmod(0o700)
    except OSError as error:
        raise SessionUnsafeError(
            f"cannot make the session folder {folder}",
            error.strerror or str(error),
            f"Name a folder that you can write to with {HOME_VARIABLE}",
        ) from error
    check_local(folder)
    return folder


def find_session(session_id: str) -> Path:
    """Give the folder of a session, by its id or by a beginning of it that only one session has.

    Raises:
        SessionNotFoundError: no session, or more than one, fits.
        SessionUnsafeError: its folder belongs to someone else, others may write to it, or it is on a network.
    """
    folders = session_folders()
    exact = [folder for folder in folders if folder.name == session_id]
    fits = exact or [folder for folder in folders if session_id and folder.name.startswith(session_id)]
    if len(fits) == 1:
        check_private(fits[0])
        check_local(fits[0])
        return fits[0]
    if fits:
        names = ", ".join(folder.name for folder in fits[:4])
        raise SessionNotFoundError(
            f"{session_id!r} fits {len(fits)} sessions ({names})", fix="Give more of its id"
        )
    raise SessionNotFoundError(
        f"no session {session_id!r} in {sessions_folder()}", fix="`dashboard sessions` lists them"
    )


def session_folders() -> list[Path]:
    """Give the folder of every session that has a journal, the newest last."""
    root = sessions_folder()
    if not root.is_dir():
        return []
    folders = (folder for folder in root.iterdir() if _SESSION_ID.fullmatch(folder.name))
    return sorted(folder for folder in folders if (folder / JOURNAL_NAME).is_file())


def check_private(folder: Path) -> None:
    """Refuse a folder that another user owns, or could change.

    Raises:
        SessionUnsafeError: it is owned by someone else, or others may write to it.
    """
    found = folder.stat()
    if found.st_uid != os.geteuid():
        raise SessionUnsafeError(
            f"{folder} belongs to another user (uid {found.st_uid})",
            "whoever owns it could read and forge what agents are told",
            f"Name a folder of your own with {HOME_VARIABLE}",
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SessionUnsafeError(
            f"others may write to {folder} (mode {stat.S_IMODE(found.st_mode):04o})",
            "whoever can write to it could forge what agents are told",
            f"chmod 700 {folder}",
        )


def check_local(folder: Path) -> None:
    """Refuse a network file system: SQLite's locks and shared memory do not work over one.

    Raises:
        SessionUnsafeError: the folder is on one (known on Linux, from the table of mounts).
    """
    kind = file_system(folder) if sys.platform == "linux" else ""
    if kind.startswith(_NETWORK):
        raise SessionUnsafeError(
            f"{folder} is on a network file system ({kind})",
            "several processes could not share a journal there safely",
            f"Name a local folder with {HOME_VARIABLE}",
        )


def file_system(folder: Path) -> str:
    """Give the type of the file system that holds a folder, as Linux's mount table names it, or ``""``."""
    try:
        table = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
    best, kind = -1, ""
    for line in table.splitlines():
        mount, _, source = line.partition(" - ")
        point = mount.split(" ")[4].replace("\\040", " ")
        if folder.resolve().is_relative_to(point) and len(point) >= best:
            best, kind = len(point), source.split(" ")[0]
    return kind
