"""The commands that look after sessions and after the installation."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dashboard.cli.shared import Exit, any_session_argument, tells_errors


@click.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path), default=Path("screenshots"))
@tells_errors
def screenshots(folder: Path) -> None:
    """Draw the screenshots of the README into FOLDER, as SVG."""
    from dashboard.cli.screenshots import draw_all

    for path in draw_all(folder):
        click.echo(path)


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_context
@tells_errors
def sessions(context: click.Context, as_json: bool) -> None:
    """List the sessions: the newest first. Whoever looks ends the runs of a host that has died."""
    if context.invoked_subcommand is not None:
        return
    from dashboard.cli.listing import session_lines

    for line in session_lines(as_json=as_json):
        click.echo(line)


@sessions.command()
@click.option("--older", required=True, help="How long nothing has happened in them: 30d, 12h, 2w.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@tells_errors
def prune(older: str, yes: bool) -> None:
    """Delete the sessions in which nothing has happened for long; it shows them, and asks.

    A session that lives, that has mail which still waits, or that cannot be read is kept, and said to be.
    """
    from dashboard.cli.pruning import delete, plan, plan_lines, span

    found = plan(span(older))
    for line in plan_lines(found):
        click.echo(line)
    if not found.goes:
        return
    if not yes and not (sys.stdin.isatty() and click.confirm(f"Delete {len(found.goes)} for good?")):
        click.echo("nothing was deleted; --yes deletes without asking")
        return
    for line in delete(found):
        click.echo(line)


@sessions.command()
@any_session_argument
@tells_errors
def check(session: str | None) -> None:
    """Check that SESSION, or every session, is whole: the file, the order, the text, and each message's fate.

    Exit status: 0 if all is well; 1 if anything is not, and every fault is told.
    """
    from dashboard.cli.checking import check_lines

    sound = True
    for line, well in check_lines(session):
        sound = sound and well
        click.echo(line)
    sys.exit(Exit.DONE if sound else Exit.FAILED)


@click.command()
@tells_errors
def doctor() -> None:
    """Look at what the console stands on: folders, locks, file system, locale, terminal, tmux.

    Exit status: 0 if everything needed works, 1 if something does not; what could be better changes nothing.
    """
    from dashboard.cli.diagnosis import Level, diagnose, finding_lines

    findings = diagnose()
    for line in finding_lines(findings):
        click.echo(line)
    sys.exit(Exit.FAILED if any(finding.level is Level.FAIL for finding in findings) else Exit.DONE)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
@tells_errors
def completion(context: click.Context, shell: str) -> None:
    """Print what makes SHELL complete commands, sessions and runs.

    bash: eval "$(dashboard completion bash)" in ~/.bashrc; zsh the same in ~/.zshrc;
    fish: dashboard completion fish > ~/.config/fish/completions/dashboard.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    root = context.find_root()
    for program in ("dashboard", "subagent-dashboard"):
        variable = f"_{program.replace('-', '_').upper()}_COMPLETE"
        script = kind(root.command, {}, program, variable)
        click.echo(script.source_template % script.source_vars())
