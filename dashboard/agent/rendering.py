"""Two renderers of a streamed run: lines for a terminal, and frames for JSON."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterable, Coroutine, Iterable
from typing import Any, TextIO, overload

from dashboard.agent.chunks import Chunk, ChunkKind
from dashboard.core.sanitize import sanitize, sanitize_line

_SHOWN = 200  # characters of a tool's arguments or result on its line


@overload
def pretty_print(
    stream: Iterable[Chunk], *, show_thinking: bool = True, show_tools: bool = True, file: TextIO | None = None
) -> str: ...
@overload
def pretty_print(
    stream: AsyncIterable[Chunk],
    *,
    show_thinking: bool = True,
    show_tools: bool = True,
    file: TextIO | None = None,
) -> Coroutine[Any, Any, str]: ...
def pretty_print(
    stream: Iterable[Chunk] | AsyncIterable[Chunk],
    *,
    show_thinking: bool = True,
    show_tools: bool = True,
    file: TextIO | None = None,
) -> str | Coroutine[Any, Any, str]:
    """Print a streamed run as it comes. Source: "Give a running agent an inbox", "Seeing it happen"; P7.

    A message that the run reads is ``[message] <text>`` on a line of its own, whatever is shown otherwise: it is
    what explains why a run changes its direction. Nothing that is printed can control the terminal.

    Args:
        stream: what ``run_sync(..., stream=True)`` gave; or ``run(..., stream=True)``, and then this is awaited.
        show_thinking: print the model's reasoning.
        show_tools: print tool calls and what came back, a line each.
        file: where to; standard output without one.

    Returns:
        The answer.
    """
    printer = _Printer(file or sys.stdout, show_thinking, show_tools)
    if isinstance(stream, AsyncIterable):
        return _print_async(stream, printer)
    for chunk in stream:
        printer.take(chunk)
    return printer.answer


def frame(chunk: Chunk) -> dict[str, Any]:
    """Give a chunk as one JSON object, for a web client.

    A message is ``{"type": "inbox", "text": ...}``, a frame of its own; what the loop itself prompted is ``loop``.
    Source: "Give a running agent an inbox", "Seeing it happen"; P7.

    Args:
        chunk: of a streamed run.
    """
    kind = "loop" if chunk.kind is ChunkKind.CONTINUING else chunk.kind.value
    return {"type": kind, **chunk.content}


async def _print_async(stream: AsyncIterable[Chunk], printer: _Printer) -> str:
    async for chunk in stream:
        printer.take(chunk)
    return printer.answer


class _Printer:
    def __init__(self, file: TextIO, show_thinking: bool, show_tools: bool) -> None:
        self._file = file
        self._show_thinking = show_thinking
        self._show_tools = show_tools
        self._open: ChunkKind | None = None  # the kind of text whose line is not ended yet
        self.answer = ""

    def take(self, chunk: Chunk) -> None:
        """Print a chunk, if it is to be seen."""
        content = chunk.content
        match chunk.kind:
            case ChunkKind.GENERATING:
                self._grow(chunk.kind, content["text"])
            case ChunkKind.THINKING:
                if self._show_thinking:
                    self._grow(chunk.kind, content["text"])
            case ChunkKind.TOOL_CALLING:
                if self._show_tools:
                    asked = f"{content['name']} {content['arguments']}"
                    self._line(f"[tool] {sanitize_line(asked, _SHOWN)}")
            case ChunkKind.TOOL_RETURNED:
                if self._show_tools:
                    mark = "error" if content["is_error"] else "result"
                    self._line(f"[{mark}] {sanitize_line(content['name'] + ': ' + content['text'], _SHOWN)}")
            case ChunkKind.APPROVAL:
                asked = f"{content['name']} {content['arguments']}"
                self._line(f"[approval] {sanitize_line(asked, _SHOWN)} waits for somebody's word")
            case ChunkKind.CONTINUING:
                self._line(f"[loop] {content['kind']}")
            case ChunkKind.INBOX:
                self._line(f"[message] {sanitize(content['text'])}")
            case ChunkKind.DONE:
                self._end_line()
                self.answer = content["answer"]
                if content["error"]:
                    self._line(f"[{content['outcome']}] {sanitize(content['error'])}")
        self._file.flush()

    def _grow(self, kind: ChunkKind, text: str) -> None:
        if self._open is not kind:
            self._end_line()
            if kind is ChunkKind.THINKING:
                self._file.write("[thinking] ")
        self._open = kind
        self._file.write(sanitize(text))

    def _line(self, text: str) -> None:
        self._end_line()
        self._file.write(f"{text}\n")

    def _end_line(self) -> None:
        if self._open is not None:
            self._file.write("\n")
            self._open = None
