"""The commands that tell a session to people and programs: ``tail`` and ``export``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from dashboard.cli.shared import Exit, complete_run, find, operator, say_error, session_argument, tells_errors


@click.command()
@session_argument
@click.option("--agent", help="Only this run, or the runs of this label.", shell_complete=complete_run)
@click.option("-f", "--follow", is_flag=True, help="Go on until the session is over.")
@click.option("-n", "--lines", "last", type=click.IntRange(0), help="Only so many of the lines so far.")
@click.option("--json", "as_json", is_flag=True, help="One event a line, as JSON.")
@tells_errors
def tail(session: str, agent: str | None, follow: bool, last: int | None, as_json: bool) -> None:
    """Tell what happens in SESSION, line by line, in plain words."""
    from dashboard.cli.following import tail as tail_lines

    try:
        for line in tail_lines(find(session), operator(), agent, follow=follow, as_json=as_json, last=last):
            click.echo(line)
    except KeyboardInterrupt:
        sys.exit(Exit.DONE)  # that is how one leaves it


@click.command()
@session_argument
@click.option("--format", "form", type=click.Choice(["md", "jsonl"]), default="md", show_default=True)
@click.option("--agent", help="Only this run, or the runs of this label.", shell_complete=complete_run)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A file that is not there yet.")
@tells_errors
def export(session: str, form: str, agent: str | None, output: Path | None) -> None:
    """Write all of SESSION: a Markdown document to read, or every event as JSON lines."""
    from dashboard.cli.reading import export_lines

    lines = export_lines(find(session), agent, form)
    if output is None:
        for line in lines:
            click.echo(line)
        return
    try:
        # for its user alone, as the journal is
        number = os.open(output, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except OSError as error:
        say_error(
            f"cannot write {output}: {error.strerror}. Name a file that is not there yet, in a folder that is"
        )
        sys.exit(Exit.FAILED)
    with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.writelines(f"{line}\n" for line in lines)
    click.echo(str(output))
