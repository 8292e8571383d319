"""One table of commands: it feeds the bindings, the footer, the help and the palette."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from textual.binding import Binding, BindingType


class Mode(StrEnum):
    """What keys do now; always visible."""

    WATCH = "watch"  # single keys act
    WRITE = "write"  # the composer has the keys
    REPLAY = "replay"  # single keys move a recording, and nothing is sent


_BOTH = (Mode.WATCH, Mode.WRITE)
_WRITE = (Mode.WRITE,)
_LOOK = (Mode.WATCH, Mode.REPLAY)
_REPLAY = (Mode.REPLAY,)


@dataclass(frozen=True, slots=True)
class Command:
    """One thing that an operator can do.

    Args:
        id: the binding's id, for the settings.
        keys: comma-separated, the one that is advertised first.
        shown: how that key is written for people.
        action: the screen's action.
        label: one or two words for the footer; empty keeps it out of there.
        help: what it does, for the help and the palette.
        modes: where it works.
    """

    id: str
    keys: str
    shown: str
    action: str
    label: str
    help: str
    modes: tuple[Mode, ...] = (Mode.WATCH,)


COMMANDS: tuple[Command, ...] = (
    Command("play", "space", "space", "play", "play/pause", "Play the recording, or pause it", _REPLAY),
    Command(
        "step", "full_stop", ".", "jump('step')", "step", "Show the next event; streamed text is skipped", _REPLAY
    ),
    Command(
        "next_mail", "n", "n", "jump('mail')", "next message", "Go to where an operator's mail moves next", _REPLAY
    ),
    Command("next_error", "e", "e", "jump('error')", "next error", "Go to the next thing that fails", _REPLAY),
    Command("faster", "plus,equals_sign", "+", "speed('faster')", "faster", "Play twice as fast", _REPLAY),
    Command("slower", "minus", "-", "speed('slower')", "slower", "Play half as fast", _REPLAY),
    Command("restart", "0", "0", "restart", "restart", "Start again at the beginning", _REPLAY),
    Command("write", "m,enter", "m", "write", "message", "Write to the selected run"),
    Command("pick", "at,t", "@", "pick", "to…", "Pick any run by name, and write to it"),
    Command("forward", "r", "r", "forward", "", "Send on a message that came back, to a run that lives"),
    Command("left", "h,left", "h", "select('left')", "", "Select the panel to the left", _LOOK),
    Command("down", "j,down", "j", "select('down')", "", "Select the panel below", _LOOK),
    Command("up", "k,up", "k", "select('up')", "", "Select the panel above", _LOOK),
    Command("right", "l,right", "l", "select('right')", "", "Select the panel to the right", _LOOK),
    Command("zoom", "z", "z", "zoom", "zoom", "Show the selected run alone, or all of them again", _LOOK),
    Command(
        "page_up", "pageup", "PgUp", "scroll('up')", "", "Scroll the transcript up; it stays where you are", _LOOK
    ),
    Command("page_down", "pagedown", "PgDn", "scroll('down')", "", "Scroll the transcript down", _LOOK),
    Command("start", "g,home", "g", "scroll('start')", "", "Go to the start of the transcript", _LOOK),
    Command("end", "G,end", "G", "scroll('end')", "", "Go to its end, and follow what streams in", _LOOK),
    Command("help", "question_mark", "?", "help", "help", "Show every key", _LOOK),
    Command("detach", "q,ctrl+q", "q", "detach", "detach", "Leave the console; the agents go on"),
    Command("leave_replay", "q,ctrl+q", "q", "detach", "leave", "Leave the replay; nothing was changed", _REPLAY),
    Command("tree", "d", "d", "toggle_tree", "tree", "Show or hide the delegation tree", _LOOK),
    Command("palette", "colon,ctrl+p", ":", "palette", "palette", "Find a command by name", _LOOK),
    Command("stop_all", "Q", "Q", "stop_all", "stop all", "Stop every run and end the session; asks first"),
    Command("send", "enter", "Enter", "send", "send", "Send the draft", _WRITE),
    Command("newline", "ctrl+j", "ctrl+j", "newline", "new line", "Start a new line in the draft", _WRITE),
    Command("preset", "tab", "Tab", "next_preset(1)", "how", "Change how it is read", _WRITE),
    Command(
        "preset_back", "shift+tab", "Shift+Tab", "next_preset(-1)", "", "The same, the other way round", _WRITE
    ),
    Command("retarget", "ctrl+t", "ctrl+t", "retarget", "to…", "Change the target, and take the draft", _WRITE),
    Command("leave", "escape,ctrl+g", "Esc", "leave", "leave", "Back to watching; a draft is kept", _BOTH),
    Command("interrupt", "ctrl+c", "ctrl+c", "interrupt", "", "Copy the selection, else clear the draft", _BOTH),
    Command("unzoom", "escape,ctrl+g", "Esc", "leave", "", "Show all runs again", _REPLAY),
    Command("say_leave", "ctrl+c", "ctrl+c", "interrupt", "", "Say how to leave", _REPLAY),
)


_TRANSPORT = ("play", "step", "next_mail", "next_error", "faster", "slower")


def bindings(mode: Mode) -> list[BindingType]:
    """Give the bindings of the commands that work in a mode; every action is the screen's."""
    return [
        Binding(command.keys, f"screen.{command.action}", command.help, id=f"{mode}.{command.id}", show=False)
        for command in COMMANDS
        if mode in command.modes
    ]


def refusals() -> list[BindingType]:
    """Give bindings for the keys that act in a live console and not in a replay: there they say why."""
    taken = keys_of(*(command.id for command in COMMANDS if Mode.REPLAY in command.modes))
    live = [command for command in COMMANDS if Mode.WATCH in command.modes and Mode.REPLAY not in command.modes]
    left = {command.id: [key for key in command.keys.split(",") if key not in taken] for command in live}
    return [
        Binding(",".join(keys), "screen.refuse", "Nothing is sent in a replay", id=f"refused.{name}", show=False)
        for name, keys in left.items()
        if keys
    ]


def keys_of(*command_ids: str) -> frozenset[str]:
    """Give the keys of some commands."""
    return frozenset(key for command in COMMANDS if command.id in command_ids for key in command.keys.split(","))


def footer(mode: Mode) -> list[Command]:
    """Give the commands that the footer names in a mode, in order; those of ``transport`` stand above it."""
    aside = {"leave"} if mode is Mode.WATCH else set()  # it works while watching too, but only ends a zoom there
    aside.update(_TRANSPORT)
    return [command for command in COMMANDS if mode in command.modes and command.label and command.id not in aside]


def transport() -> list[Command]:
    """Give the commands that move a recording, in order: they are named where one would write otherwise."""
    return [command for command in COMMANDS if command.id in _TRANSPORT]


def palette(mode: Mode = Mode.WATCH) -> list[Command]:
    """Give the commands that the palette offers: what can be done while nothing is written, from anywhere.

    Args:
        mode: what the console is for: ``WATCH`` or ``REPLAY``.
    """
    aside = {"palette", "leave", "interrupt", "unzoom", "say_leave"}
    return [command for command in COMMANDS if mode in command.modes and command.id not in aside]
