"""One table of commands: it feeds the bindings, the footer, the help and the palette."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from textual.binding import Binding, BindingType


class Mode(StrEnum):
    """What keys do now; always visible."""

    WATCH = "watch"  # single keys act
    WRITE = "write"  # the composer has the keys


_BOTH = (Mode.WATCH, Mode.WRITE)
_WRITE = (Mode.WRITE,)


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
    Command("write", "m,enter", "m", "write", "message", "Write to the selected run"),
    Command("pick", "at,t", "@", "pick", "to…", "Pick any run by name, and write to it"),
    Command("left", "h,left", "h", "select('left')", "", "Select the panel to the left"),
    Command("down", "j,down", "j", "select('down')", "", "Select the panel below"),
    Command("up", "k,up", "k", "select('up')", "", "Select the panel above"),
    Command("right", "l,right", "l", "select('right')", "", "Select the panel to the right"),
    Command("zoom", "z", "z", "zoom", "zoom", "Show the selected run alone, or all of them again"),
    Command("page_up", "pageup", "PgUp", "scroll('up')", "", "Scroll the transcript up; it stays where you are"),
    Command("page_down", "pagedown", "PgDn", "scroll('down')", "", "Scroll the transcript down"),
    Command("start", "g,home", "g", "scroll('start')", "", "Go to the start of the transcript"),
    Command("end", "G,end", "G", "scroll('end')", "", "Go to its end, and follow what streams in"),
    Command("help", "question_mark", "?", "help", "help", "Show every key"),
    Command("detach", "q,ctrl+q", "q", "detach", "detach", "Leave the console; the agents go on"),
    Command("tree", "d", "d", "toggle_tree", "tree", "Show or hide the delegation tree"),
    Command("palette", "colon,ctrl+p", ":", "palette", "palette", "Find a command by name"),
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
)


def bindings(mode: Mode) -> list[BindingType]:
    """Give the bindings of the commands that work in a mode; every action is the screen's."""
    return [
        Binding(command.keys, f"screen.{command.action}", command.help, id=f"{mode}.{command.id}", show=False)
        for command in COMMANDS
        if mode in command.modes
    ]


def keys_of(*command_ids: str) -> frozenset[str]:
    """Give the keys of some commands."""
    return frozenset(key for command in COMMANDS if command.id in command_ids for key in command.keys.split(","))


def footer(mode: Mode) -> list[Command]:
    """Give the commands that the footer names in a mode, in order."""
    leaving = "leave" if mode is Mode.WATCH else ""  # it works while watching too, but there it only ends a zoom
    return [command for command in COMMANDS if mode in command.modes and command.label and command.id != leaving]


def palette() -> list[Command]:
    """Give the commands that the palette offers: what can be done while watching, from anywhere."""
    aside = {"palette", "leave", "interrupt"}
    return [command for command in COMMANDS if Mode.WATCH in command.modes and command.id not in aside]
