"""The commands that begin and end a session: ``demo``, ``run``, ``stop``, and the hidden ``host``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from dashboard.cli.shared import any_session_argument, find, need_terminal, operator, tells_errors

_speed = click.option(
    "--speed",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0, 100),
    help="How fast scripted text streams; 0 never waits.",
)
_detach = click.option("--detach", is_flag=True, help="Start the host and leave it; print the session's id.")
_linger = click.option(
    "--linger",
    default=600.0,
    show_default=True,
    type=click.FloatRange(0),
    help="Seconds the host stays without work or console.",
)


@click.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path, readable=False))
@_speed
@_detach
@_linger
@tells_errors
def demo(folder: Path | None, speed: float, detach: bool, linger: float) -> None:
    """Run the demo roster over the files of FOLDER, and open the console on it.

    Without FOLDER it investigates a staging incident that comes with the package. No key, no network and no model
    server is needed: the model follows a script, everything else is real.
    """
    from dashboard.cli.launch import check_folder

    root = check_folder(folder) if folder is not None else None
    arguments = [*(["--root", str(root)] if root else []), "--speed", str(speed), "--linger", str(linger)]
    _launch("demo", arguments, "", detach=detach)


@click.command()
@click.argument("roster", type=click.Path(path_type=Path, readable=False))
@click.argument("task")
@click.option(
    "--root",
    type=click.Path(path_type=Path, readable=False),
    default=Path(),
    help="The folder that the file tools see; the current one by default.",
)
@_speed
@_detach
@_linger
@tells_errors
def run(roster: Path, task: str, root: Path, speed: float, detach: bool, linger: float) -> None:
    """Run the roster of a TOML file on TASK, and open the console on it.

    A TASK of - is read from standard input.
    """
    from dashboard.cli.launch import check_file, check_folder
    from dashboard.cli.sending import read_text

    file, folder = check_file(roster), check_folder(root)
    text = read_text() if task == "-" else task
    arguments = ["--file", str(file), "--root", str(folder), "--speed", str(speed), "--linger", str(linger)]
    _launch("roster", arguments, text, detach=detach)


@click.command()
@any_session_argument
@tells_errors
def stop(session: str | None) -> None:
    """Stop every run of SESSION and end it. Without one: the only live session."""
    from dashboard.cli.stopping import stop_session

    click.echo(stop_session(find(session, live=True), operator()))


@click.group(hidden=True)
def host() -> None:
    """Be the host process of a session that was just made."""


@host.command("demo")
@click.argument("session")
@click.option("--root", type=click.Path(path_type=Path))
@click.option("--speed", type=float, default=1.0)
@click.option("--linger", type=float, default=600.0)
@tells_errors
def host_demo(session: str, root: Path | None, speed: float, linger: float) -> None:
    """Host the demo."""
    from dashboard.host.demo.roster import demo_roster
    from dashboard.host.process import host_main
    from dashboard.journal.home import make_session_folder

    host_main(make_session_folder(session), lambda folder: demo_roster(root, folder, speed), linger)


@host.command("roster")
@click.argument("session")
@click.option("--file", type=click.Path(path_type=Path), required=True)
@click.option("--root", type=click.Path(path_type=Path), required=True)
@click.option("--speed", type=float, default=1.0)
@click.option("--linger", type=float, default=600.0)
@tells_errors
def host_roster(session: str, file: Path, root: Path, speed: float, linger: float) -> None:
    """Host a roster file; its task comes by standard input, where no list of processes shows it."""
    from dashboard.host.process import host_main
    from dashboard.host.roster_file import load_roster
    from dashboard.journal.home import make_session_folder

    task = sys.stdin.buffer.read().decode()
    host_main(make_session_folder(session), lambda _: load_roster(file, task, root, speed), linger)


def _launch(kind: str, arguments: Sequence[str], task: str, *, detach: bool) -> None:
    from dashboard.cli.launch import start_host
    from dashboard.cli.watching import open_console

    if not detach:
        need_terminal()
    session = start_host(kind, arguments, task)
    if detach:
        click.echo(session.name)
    else:
        open_console(session)
