"""The protocol that the loop speaks to a model: one turn in, deltas out, the complete reply last."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Protocol

import msgspec

from dashboard.core.history import Assistant, Entry


class ToolSchema(msgspec.Struct, frozen=True):
    """What a model is told of a tool. ``parameters`` is a JSON Schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]


class ModelRequest(msgspec.Struct, frozen=True):
    """One request: the history as stored, byte for byte (H2), and the tools on offer.

    Args:
        label: the label of the run that asks.
        history: every entry so far.
        tools: what may be called; empty when tools are off, as for a wrap-up.
        output: the JSON Schema that the reply's text has to fit, for a structured run; ``None`` for plain text.
    """

    label: str
    history: tuple[Entry, ...]
    tools: tuple[ToolSchema, ...] = ()
    output: dict[str, Any] | None = None


class TextPart(msgspec.Struct, frozen=True):
    """A piece of the reply's text, as it streams."""

    text: str


class ReasoningPart(msgspec.Struct, frozen=True):
    """A piece of the model's reasoning, as it streams."""

    text: str


class Reply(msgspec.Struct, frozen=True):
    """The end of the stream: the complete entry. The parts before it add up to its text and reasoning.

    Args:
        entry: what the history will hold.
        input_tokens: what the request cost, 0 where the provider does not say.
        output_tokens: what the reply cost, 0 where the provider does not say.
        truncated: the provider cut the reply short.
    """

    entry: Assistant
    input_tokens: int = 0
    output_tokens: int = 0
    truncated: bool = False


ModelEvent = TextPart | ReasoningPart | Reply


class ModelClient(Protocol):
    """Anything that can take a turn: an object with ``stream``, an asynchronous generator.

    For example::

        class Echo:
            async def stream(self, request):
                text = request.history[-1].content
                yield TextPart(text)  # as it comes, for display
                yield Reply(Assistant(text))  # last: what the history will hold, with any tool calls
    """

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Take one turn.

        Args:
            request: the history, and what may be called.

        Yields:
            Parts as they come, then exactly one ``Reply``.

        Raises:
            ModelError: the request failed; what was yielded before stands as shown. If nothing was, the request is
                made again, twice at the most (H3). Any other error ends the turn at once.
        """
        ...
