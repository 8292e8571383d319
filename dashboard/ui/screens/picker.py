"""The picker: anything that has a name, by a few letters of it. ``@`` picks a run to write to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.fuzzy import FuzzySearch
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from dashboard.core.projection import Projection
from dashboard.core.sanitize import sanitize_line
from dashboard.ui.drafts import Target
from dashboard.ui.glyphs import Glyphs
from dashboard.ui.widgets.panel import STATE_STYLES

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Choice(Generic[T]):
    """One row of the picker.

    Args:
        value: what is picked.
        name: what it is found by.
        glyph: its state as a glyph.
        words: its state, or what it stands for.
        style: the colour of the state.
        more: what else is known of it, as far as there is room.
    """

    value: T
    name: str
    glyph: str
    words: str
    style: str
    more: str = ""


def choices(projection: Projection, glyphs: Glyphs) -> list[Choice[Target]]:
    """Give what can be picked: the runs that read mail, then the labels that the roster can still spawn."""
    runs = [run for run in projection.runs.values() if run.live and run.reading]
    found = [
        Choice(
            value=Target(run.run_id, run.name),
            name=run.name,
            glyph=glyphs.states[run.state],
            words=f"{run.state} r{run.round}",
            style=STATE_STYLES[run.state],
            more=sanitize_line(run.task, 120),
        )
        for run in runs
    ]
    for label in projection.labels:
        live = [run for run in runs if run.label == label]
        if len(live) != 1:
            words = f"{len(live)} live runs: pick one" if live else "waits for the next one to start"
            found.append(Choice(Target(label, label), label, glyphs.pending, words, "$faint"))
    return found


def why_none(projection: Projection, query: str) -> str:
    """Say why no run fits: one of that name may just have ended."""
    search = FuzzySearch()
    ended = [run for run in projection.runs.values() if not run.live and search.match(query, run.name)[0] > 0]
    if not ended:
        return "no run fits; Esc leaves"
    return f"{sanitize_line(ended[-1].name, 60)} is {ended[-1].state} and reads nothing more; Esc leaves"


def rank(query: str, offered: Sequence[Choice[T]]) -> list[Choice[T]]:
    """Give the choices that fit a query, the best first. An exact name comes before everything else."""
    query = query.strip().removeprefix("@")
    if not query:
        return list(offered)
    search = FuzzySearch()
    scored = [(choice.name == query, search.match(query, choice.name)[0], choice) for choice in offered]
    fitting = [entry for entry in scored if entry[0] or entry[1] > 0]
    fitting.sort(key=lambda entry: (-entry[0], -round(entry[1], 3)))  # equal scores keep the order of the roster
    return [choice for _, _, choice in fitting]


class Picker(ModalScreen[T | None]):
    """Type a few letters, move with the arrows, Enter picks, Esc leaves.

    Args:
        offer: gives what can be picked now.
        why: what will be done with the pick.
        none: says why nothing fits a query.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,ctrl+g", "dismiss(None)", "Leave"),
        Binding(
            "enter", "pick", "Pick", priority=True
        ),  # itself, not by Input's message: the next key waits for it
        ("down,ctrl+n,tab", "move(1)", "Next"),
        ("up,shift+tab", "move(-1)", "Previous"),
    ]

    def __init__(self, offer: Callable[[], Sequence[Choice[T]]], why: str, none: Callable[[str], str]) -> None:
        super().__init__()
        self._offered = offer
        self._why = why
        self._none = none
        self._shown: list[Choice[T]] = []
        self._query: str | None = None

    def compose(self) -> ComposeResult:
        """Lay out the query and what fits it."""
        with Vertical(classes="box"):
            yield Input(placeholder="a few letters of a name, such as res2")
            yield OptionList(markup=False)
            yield Static(" Enter pick   ↑ ↓ move   Esc leave", markup=False, classes="keys")

    def on_mount(self) -> None:
        """Offer everything, and take the keys at once."""
        self.set_focus(self.query_one(Input))
        self.query_one(".box").border_title = Content.styled(self._why, "bold")
        self._offer("")

    @on(Input.Changed)
    def narrow(self, event: Input.Changed) -> None:
        """Offer what fits."""
        event.stop()
        self._offer(event.value)

    def action_pick(self) -> None:
        """Pick the row that is marked; with none, stay, so that a typo does not send anything anywhere."""
        self._offer(self.query_one(Input).value)  # the query as it is now: its message may be on its way still
        at = self.query_one(OptionList).highlighted
        if at is not None and self._shown:
            self.dismiss(self._shown[at].value)

    @on(OptionList.OptionSelected)
    def pick_clicked(self, event: OptionList.OptionSelected) -> None:
        """Pick the row that was clicked."""
        event.stop()
        self.dismiss(self._shown[event.option_index].value)

    def action_move(self, step: int) -> None:
        """Mark another row, while the query keeps the keys."""
        options = self.query_one(OptionList)
        if self._shown:
            options.highlighted = ((options.highlighted or 0) + step) % len(self._shown)

    def _offer(self, query: str) -> None:
        if query == self._query:
            return
        self._query = query
        self._shown = rank(query, self._offered())
        options = self.query_one(OptionList)
        options.clear_options()
        width = max((len(choice.name) for choice in self._shown), default=0)
        options.add_options(
            Option(
                Content.assemble(
                    (f"{choice.glyph} ", choice.style),
                    (sanitize_line(choice.name, 60).ljust(width + 2), "bold"),
                    (f"{choice.words}  ", choice.style),
                    (choice.more, "$faint"),
                )
            )
            for choice in self._shown
        )
        if self._shown:
            options.highlighted = 0
        else:
            options.add_option(Option(Content.styled(self._none(query), "$faint"), disabled=True))
