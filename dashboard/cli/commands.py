"""The command line: every command, each in the module of its subject.

A command imports what it needs when it runs, so that the console never loads the model stack.
"""

from __future__ import annotations

import sys

import click

from dashboard import __version__
from dashboard.cli.hosting import demo, host, run, stop
from dashboard.cli.shared import Exit, say_error
from dashboard.cli.speaking import control, mail, send
from dashboard.cli.telling import export, tail
from dashboard.cli.upkeep import completion, doctor, screenshots, sessions
from dashboard.cli.watching import attach, replay


class _InOurOrder(click.Group):
    """Lists its commands in the order in which a person meets them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's
        return list(self.commands)


@click.group(cls=_InOurOrder, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dashboard")
def main() -> None:
    """Watch running sub-agents, one live panel each, and write to them while they work."""
    if sys.platform == "win32":
        say_error("Linux, macOS and WSL are supported; on Windows, run it inside WSL")
        sys.exit(Exit.FAILED)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")  # a locale without a character must not lose the line


COMMANDS = (
    demo, run, attach, replay, sessions, stop,
    send, tail, mail, control, export,
    doctor, completion, screenshots, host,
)  # fmt: skip
for command in COMMANDS:
    main.add_command(command)
