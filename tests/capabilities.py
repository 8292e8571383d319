"""What some tests need of the machine: where it is missing CI fails, and others are told what is passed over."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


@dataclass(frozen=True, slots=True)
class Capability:
    """Something that a test needs and not every machine can do.

    Args:
        name: what it is, for people.
        missing: says why it is not there; empty where it is.
    """

    name: str
    missing: Callable[[], str]


def needs(capability: Capability, environment: Mapping[str, str] = os.environ) -> None:
    """Go on only where the machine can do this; call it first thing in a test, or in a fixture.

    Args:
        capability: what is needed.
        environment: ``CI=true`` says that every test has to run: then what is missing is a failure.
    """
    why = capability.missing()
    if not why:
        return
    said = f"needs {capability.name}: {why}"
    if environment.get("CI") == "true":
        pytest.fail(f"{said}; with CI=true no test is passed over", pytrace=False)
    pytest.skip(said)


def _no_small_disk() -> str:
    if sys.platform != "linux":
        return f"{sys.platform} has no tmpfs"
    if os.geteuid() != 0:
        return "only root may mount one"
    with TemporaryDirectory() as name:
        tried = mount_small_disk(Path(name), "1m")
        if not tried:
            unmount(Path(name))
        return tried


def mount_small_disk(where: Path, size: str) -> str:
    """Mount a tmpfs.

    Args:
        where: an empty folder.
        size: as ``mount`` takes it, such as ``1m``.

    Returns:
        Why that failed; empty if it did not.
    """
    mount = shutil.which("mount")
    if mount is None:
        return "there is no mount command"
    done = subprocess.run(
        [mount, "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(where)],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else done.stderr.strip() or "it cannot be mounted"


def unmount(where: Path) -> None:
    """Take it away again, also while a process that was left behind still uses it."""
    subprocess.run(["umount", "-l", str(where)], check=True)


def _no_other_user() -> str:
    if not hasattr(os, "setuid"):
        return "there are no users to become"
    return "" if os.geteuid() == 0 else "only root may become another user"


def _no_fork() -> str:
    there = hasattr(os, "fork") and hasattr(os, "waitid")
    return "" if there else f"{sys.platform} has no fork, or cannot wait for what it forked"


SMALL_DISK = Capability("a small disk of its own", _no_small_disk)
OTHER_USER = Capability("another user", _no_other_user)
FORK = Capability("processes by fork", _no_fork)
