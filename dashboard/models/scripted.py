"""A model that follows a script: a pure function of the request. The demo and the tests run on it, offline."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

import msgspec

from dashboard.core.history import Assistant, ToolCall
from dashboard.models.base import ModelEvent, ModelRequest, ReasoningPart, Reply, TextPart

Script = Callable[[ModelRequest], Assistant]
Sleep = Callable[[float], Awaitable[None]]
_WORDS = re.compile(r"\S+\s*|\s+")


class Pace(msgspec.Struct, frozen=True):
    """How fast a script streams. The default does not wait at all.

    Args:
        think: seconds before the first word.
        word: seconds after each word.
    """

    think: float = 0.0
    word: float = 0.0

    @classmethod
    def readable(cls, speed: float) -> Pace:
        """Give a pace that a person can follow: about nine words a second at 1, faster above; 0 never waits."""
        return cls() if speed <= 0 else cls(think=0.9 / speed, word=0.11 / speed)


class ScriptedModel:
    """A ``ModelClient`` that streams what its script says, word by word.

    Args:
        script: what to reply; it sees the whole request. One that keeps state, as that of ``replies`` does, gives
            its turns in the order of all requests, whichever run they are of.
        pace: how fast to stream.
        sleep: how to wait, in seconds; tests and recordings bring a virtual one.
    """

    def __init__(self, script: Script, pace: Pace | None = None, sleep: Sleep = asyncio.sleep) -> None:
        self._script = script
        self._pace = pace or Pace()
        self._sleep = sleep

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Stream the script's reply to this request; what the script raises, the stream raises."""
        entry = _with_call_ids(self._script(request), len(request.history))
        if self._pace.think:
            await self._sleep(self._pace.think)
        for part, text in ((ReasoningPart, entry.reasoning), (TextPart, entry.content)):
            for word in _WORDS.findall(text):
                yield part(word)
                if self._pace.word:
                    await self._sleep(self._pace.word)
        yield Reply(entry, _tokens(map(str, request.history)), _tokens((entry.reasoning, entry.content)))


def replies(*turns: str | ToolCall | Assistant | Exception) -> Script:
    """Give a script that answers the first request with the first turn, and so on.

    Args:
        turns: a text, one tool call, a complete entry, or an exception to raise in that turn's place.

    Raises:
        IndexError: from the script, once more turns are asked for than were given.
    """
    remaining = list(turns)

    def script(request: ModelRequest) -> Assistant:  # noqa: ARG001 - a fixed list does not look at what was asked
        if not remaining:
            raise IndexError(f"the script has {len(turns)} turns, and one more was asked for")
        turn = remaining.pop(0)
        if isinstance(turn, Exception):
            raise turn
        if isinstance(turn, ToolCall):
            return Assistant("", tool_calls=(turn,))
        return Assistant(turn) if isinstance(turn, str) else turn

    return script


def call(name: str, /, **arguments: object) -> ToolCall:
    """Give a tool call for a script; the model fills in its id, unique within the run."""
    return ToolCall("", name, msgspec.json.encode(arguments).decode())


def _with_call_ids(entry: Assistant, length: int) -> Assistant:
    calls = tuple(
        msgspec.structs.replace(asked, id=asked.id or f"call_{length}_{position}")
        for position, asked in enumerate(entry.tool_calls, 1)
    )
    return msgspec.structs.replace(entry, tool_calls=calls)


def _tokens(texts: Iterable[str]) -> int:
    """Count as four characters a token, the rule of thumb: a script has no tokeniser."""
    return sum(len(text) for text in texts) // 4
