"""What the operator is writing, and to whom: one draft per target, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field

from dashboard.core.messages import Preset


@dataclass(frozen=True, slots=True)
class Target:
    """Where a draft goes.

    Args:
        address: a run id, or a bare label.
        name: what people call it.
    """

    address: str
    name: str


@dataclass(slots=True)
class Draft:
    """Text that was not sent yet, and how it is to be read."""

    text: str = ""
    preset: Preset = Preset.STEER


@dataclass(slots=True)
class Drafts:
    """Every draft of this console, by address."""

    _drafts: dict[str, Draft] = field(default_factory=dict)

    def of(self, target: Target) -> Draft:
        """Give the draft for a target; an empty one if there is none."""
        return self._drafts.setdefault(target.address, Draft())

    def move(self, source: Target, to: Target) -> None:
        """Take a draft along to another target. Two texts are joined, so that neither is lost."""
        if source.address == to.address:
            return
        moved, there = self._drafts.pop(source.address, Draft()), self.of(to)
        there.text = "\n".join(text for text in (there.text, moved.text) if text)
        there.preset = moved.preset

    def unsent(self) -> int:
        """Count the drafts with something in them."""
        return sum(bool(draft.text.strip()) for draft in self._drafts.values())
