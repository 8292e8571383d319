"""The lines around the wall: what the session is doing above, receipts and keys below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from dashboard.core.projection import Counts
from dashboard.core.sanitize import sanitize_line
from dashboard.core.sessions import HostState, HostStatus
from dashboard.ui.commands import Command, Mode, footer
from dashboard.ui.glyphs import Glyphs
from dashboard.ui.receipts import ReceiptLine
from dashboard.ui.wording import amount, duration

_HOST_STYLES = {
    HostState.STARTING: "$warning",
    HostState.RUNNING: "$success",
    HostState.NOT_RESPONDING: "$warning bold",
    HostState.CLOSED: "$faint",
    HostState.LOST: "$error bold",
    HostState.REPLAY: "$replay bold",
}
_TONES = {"pending": "$operator", "read": "$success", "withdrawn": "$warning", "returned": "$error"}


class StatusBar(Static):
    """The session in one line."""

    def show(
        self,
        session_id: str,
        title: str,
        counts: Counts,
        host: HostStatus,
        now: int,
        glyphs: Glyphs,
        played: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Say what the session is, what its runs are doing, and how its host is.

        Args:
            session_id: the session's name.
            title: what its host said that it is about.
            counts: the runs by what they do, over the same runs as the tree.
            host: what is known of the host.
            now: microseconds since the epoch, UTC.
            glyphs: the set in use.
            played: what is said of a recording, each with its style, in the place of the host.
        """
        words = str(host.state)
        if host.state is HostState.NOT_RESPONDING:
            words += f" for {duration(now - host.heartbeat_at)}"
        # what matters most comes first; the last of these are left out where there is no room
        facts = [
            *(played or [(f"host {words}", _HOST_STYLES[host.state])]),
            (f"{counts.asking} {'needs' if counts.asking == 1 else 'need'} you", "$warning bold")
            if counts.asking
            else None,
            (f"{counts.pending} pending", "$operator bold" if counts.pending else "$faint"),
            (f"{counts.live} live", "$primary" if counts.live else "$faint"),
            (f"{counts.idle} idle", "$secondary") if counts.idle else None,
            (f"{counts.failed} failed", "$error bold") if counts.failed else None,
            (f"{counts.lost} lost", "$error bold") if counts.lost else None,
            (f"{counts.done} done", "$success" if counts.done else "$faint"),
            (f"{counts.stopped} stopped", "$warning") if counts.stopped else None,
            (sanitize_line(title, 60) or session_id, "bold"),
            (f"{amount(counts.tokens)} tok", "$faint"),
            (session_id, "$faint") if title else None,
        ]
        room = self.size.width - 1
        parts: list[tuple[str, str]] = [(" ", "")]
        for fact in facts:
            if fact is None:
                continue
            room -= cell_len(fact[0]) + 3
            if room < 0:
                break
            parts.extend([(f" {glyphs.dot} ", "$faint"), fact] if len(parts) > 1 else [fact])
        self.update(Content.assemble(*parts))


class ReceiptBar(Static):
    """The latest messages of this console, and their fate."""

    def show(self, lines: Sequence[ReceiptLine]) -> None:
        """Show these receipts, the newest last."""
        self.display = bool(lines)
        contents = [
            Content.assemble((f" {line.words}  ", f"{_TONES[line.tone]} bold"), (line.body, "$faint"))
            for line in lines
        ]
        self.update(Content("\n").join(contents))


class KeyBar(Static):
    """The keys of the mode that is on, from the one table of commands."""

    def show(self, mode: Mode) -> None:
        """Name the keys that work now."""
        self.update(key_words(footer(mode)))


def key_words(commands: Iterable[Command], style: str = "bold $primary") -> Content:
    """Give the keys of some commands on a line, each with what it does.

    Args:
        commands: in order.
        style: of the keys.
    """
    parts: list[tuple[str, str]] = []
    for command in commands:
        parts.extend([(f" {command.shown}", style), (f" {command.label} ", "$faint")])
    return Content.assemble(*parts)
