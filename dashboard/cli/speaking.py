"""The commands that write to a session without the console: ``send``, ``mail``, ``control``."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from dashboard.cli.shared import Exit, complete_run, find, operator, session_argument, tells_errors
from dashboard.core.events import ControlAction
from dashboard.core.messages import Preset

if TYPE_CHECKING:
    from dashboard.journal.session import JournalOperatorSession


@click.command()
@session_argument
@click.argument("to", shell_complete=complete_run)
@click.argument("text")
@click.option("--steer", "preset", flag_value="steer", default="steer", help="Read before its next request.")
@click.option("--followup", "preset", flag_value="followup", help="Answered once it has finished.")
@click.option("--inject", "preset", flag_value="inject", help="To hand, if it makes another request.")
@click.option("--wait", is_flag=True, help="Wait until it was read or came back, and tell which.")
@click.option(
    "--timeout", type=click.FloatRange(0), help="Seconds to wait at most; without it, as long as it takes."
)
@tells_errors
def send(session: str, to: str, text: str, preset: str, wait: bool, timeout: float | None) -> None:
    """Write TEXT to the run TO of SESSION, while it works. A TEXT of - is read from standard input.

    TO is a name such as subagent-researcher#2, short or long, a run id, or a label that one live run has.

    Exit status: 0 once it is stored, or with --wait once it was read; 1 if it was refused, and nothing is stored;
    3 if it still waits when the time is up; 4 if it came back unread.
    """
    from dashboard.cli.sending import await_fate, fate, read_text
    from dashboard.cli.sending import send as store_message

    body = read_text() if text == "-" else text
    with _opened(session) as opened:
        receipt = store_message(opened, to, body, Preset(preset))
        status = Exit.DONE
        if wait or timeout is not None:
            try:
                status = await_fate(opened, receipt.message_id, timeout)
            except KeyboardInterrupt:
                click.echo(f"{receipt.message_id} waits on: {fate(opened, receipt.message_id)}", err=True)
                sys.exit(Exit.PENDING)
        click.echo(f"{receipt.message_id} {fate(opened, receipt.message_id)}")
    sys.exit(status)


@click.command()
@session_argument
@click.option("--agent", help="Only the mail of this run, or of this label.", shell_complete=complete_run)
@click.option("--open", "which", flag_value="open", help="Only what still waits.")
@click.option("--returned", "which", flag_value="returned", help="Only what came back unread.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@tells_errors
def mail(session: str, agent: str | None, which: str | None, as_json: bool) -> None:
    """Tell every message of SESSION and its fate, in the order in which they were accepted."""
    from dashboard.cli.reading import mail_lines

    lines = 0
    for line in mail_lines(find(session), agent, which, as_json=as_json):
        click.echo(line)
        lines += 1
    if not lines and not as_json:
        click.echo(
            {"open": "no message waits", "returned": "no message came back"}.get(which or "", "no mail yet")
        )


@click.group()
@session_argument
def control(session: str) -> None:
    """Ask the host of SESSION for something, and wait for its answer.

    Exit status: 0 once it is done; 1 if it was refused; 3 if there is no answer yet.
    """
    del session  # each command below takes it from here


_run = click.argument("run", shell_complete=complete_run)
_which = click.argument("which", required=False, shell_complete=complete_run)


@control.command("stop")
@_run
@click.option("--subtree", is_flag=True, help="Also every run below it.")
@click.pass_context
@tells_errors
def stop_run(context: click.Context, run: str, subtree: bool) -> None:
    """Stop RUN, or the turn of a root. `dashboard stop` ends a whole session."""
    _ask(context, ControlAction.CANCEL_SUBTREE if subtree else ControlAction.CANCEL, run)


@control.command()
@_run
@click.pass_context
@tells_errors
def pause(context: click.Context, run: str) -> None:
    """Hold RUN at its next boundary; its mail waits."""
    _ask(context, ControlAction.PAUSE, run)


@control.command()
@_run
@click.pass_context
@tells_errors
def step(context: click.Context, run: str) -> None:
    """Let a paused RUN make one round."""
    _ask(context, ControlAction.STEP, run)


@control.command()
@_run
@click.pass_context
@tells_errors
def resume(context: click.Context, run: str) -> None:
    """Let a paused RUN go on."""
    _ask(context, ControlAction.RESUME, run)


@control.command()
@click.pass_context
@tells_errors
def approvals(context: click.Context) -> None:
    """Tell the tool calls that wait for somebody's word, with their arguments."""
    from dashboard.cli.controlling import approval_lines

    with _opened(context.parent.params["session"] if context.parent else "") as opened:
        for line in approval_lines(opened):
            click.echo(line)


@control.command()
@_which
@click.pass_context
@tells_errors
def allow(context: click.Context, which: str | None) -> None:
    """Allow the tool call WHICH: the id of an approval, or a run; none where only one waits."""
    _answer(context, ControlAction.ALLOW, which, "")


@control.command()
@_which
@click.option("--reason", default="", help="Why, for the agent to read.")
@click.pass_context
@tells_errors
def deny(context: click.Context, which: str | None, reason: str) -> None:
    """Deny the tool call WHICH: the id of an approval, or a run; none where only one waits."""
    _answer(context, ControlAction.DENY, which, reason)


@contextlib.contextmanager
def _opened(session: str) -> Iterator[JournalOperatorSession]:
    from dashboard.cli.sending import session_at

    opened = session_at(find(session), operator())
    try:
        yield opened
    finally:
        opened.close()


def _ask(context: click.Context, action: ControlAction, run: str) -> None:
    from dashboard.cli.addressing import live_run
    from dashboard.cli.controlling import ask
    from dashboard.journal.store import Store

    with _opened(context.parent.params["session"] if context.parent else "") as opened:
        found = live_run(run, opened.look(Store.runs))
        status, words = ask(opened, action, found.run_id, found.name)
    _tell(status, words)


def _answer(context: click.Context, action: ControlAction, which: str | None, reason: str) -> None:
    from dashboard.cli.controlling import ask, find_approval

    with _opened(context.parent.params["session"] if context.parent else "") as opened:
        run, asked = find_approval(opened, which)
        status, words = ask(opened, action, run.run_id, run.name, asked.approval_id, reason)
    _tell(status, words)


def _tell(status: Exit, words: str) -> None:
    click.echo(words, err=status is not Exit.DONE)
    sys.exit(status)
