"""A confirmation that no one gives by accident: the focus is on Cancel, and it is deaf for its first moments."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Static

DEAF_SECONDS = 0.4


class Confirm(ModalScreen[bool]):
    """Ask before something that cannot be undone.

    Args:
        question: what will happen, with its count.
        detail: what it means.
        confirm: the word on the button that does it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,ctrl+g,n", "dismiss(False)", "Cancel"),
        ("left,right,h,l,tab", "app.focus_next", "Other button"),
    ]

    def __init__(self, question: str, detail: str, confirm: str) -> None:
        super().__init__()
        self._question = question
        self._detail = detail
        self._confirm = confirm
        self._deaf = True

    def compose(self) -> ComposeResult:
        """Lay out the question, what it means, and the two buttons."""
        with Vertical(classes="box"):
            yield Static(Content.styled(self._question, "bold"))
            yield Static(Content.styled(self._detail, "$faint"), classes="detail")
            with Horizontal():
                yield Button(Content("Cancel"), id="cancel", compact=True)
                yield Button(Content(self._confirm), id="confirm", variant="error", compact=True)

    def on_mount(self) -> None:
        """Be deaf for a moment: keys typed before the question came up are not its answer."""
        self.query_one("#cancel", Button).focus()
        self.set_timer(DEAF_SECONDS, self._listen)

    def _listen(self) -> None:
        self._deaf = False

    @on(Button.Pressed)
    def answer(self, event: Button.Pressed) -> None:
        """Take the answer, unless it came too soon to be one."""
        event.stop()
        if not self._deaf:
            self.dismiss(event.button.id == "confirm")
