"""Tools: functions that a model can call, what it is told of them, and how one call is carried out."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, overload

import msgspec

from dashboard.agent.runtime import Runtime
from dashboard.agent.signatures import read_signature
from dashboard.core.errors import ToolError
from dashboard.core.history import ToolCall, ToolResult
from dashboard.core.text import storable
from dashboard.models.base import ToolSchema

MAX_RESULT_CHARACTERS = 32 * 1024
_NOTE_ROOM = 64  # what the line about the left-out part may take


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Who calls a tool. A parameter of this type is filled in by the loop, and the model does not see it.

    Args:
        run_id: the run that asks.
        label: its label.
        depth: how many runs stand above it; 0 for a root.
        tool_call_id: the call.
        runtime: what the roster shares.
    """

    run_id: str
    label: str
    depth: int
    tool_call_id: str
    runtime: Runtime


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model can call. Made by ``tool``.

    Args:
        name: what the model calls it.
        description: what the model is told.
        parameters: JSON Schema of one object.
        function: what runs; synchronous functions run in a thread.
        arguments: the struct that a call's JSON is validated against.
        injected: names of the function's ``ToolContext`` parameters.
        concurrent: whether it may overlap with other calls of its round; otherwise it runs alone.
        max_characters: the cap on a result, from 64.
        needs_approval: whether a call waits for an operator's word, as long as the agent's ``approval`` asks.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    function: Callable[..., Any]
    arguments: type[msgspec.Struct]
    injected: tuple[str, ...] = ()
    concurrent: bool = True
    max_characters: int = MAX_RESULT_CHARACTERS
    needs_approval: bool = False

    @property
    def schema(self) -> ToolSchema:
        """What a request offers."""
        return ToolSchema(self.name, self.description, self.parameters)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    function: Callable[..., Any], /, *, name: str | None = None, description: str | None = None,
    concurrent: bool = True, max_characters: int = MAX_RESULT_CHARACTERS, needs_approval: bool = False,
) -> Tool: ...  # fmt: skip
@overload
def tool(
    *, name: str | None = None, description: str | None = None, concurrent: bool = True,
    max_characters: int = MAX_RESULT_CHARACTERS, needs_approval: bool = False,
) -> Callable[[Callable[..., Any]], Tool]: ...  # fmt: skip
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    concurrent: bool = True,
    max_characters: int = MAX_RESULT_CHARACTERS,
    needs_approval: bool = False,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a function, closure or bound method; also a decorator, with or without arguments.

    What it returns is what the history holds, after the cap (H1); what it raises becomes an error for the model.

    Args:
        function: every parameter needs a type hint; those of type ``ToolContext`` are filled in by the loop.
        name: instead of the function's own.
        description: instead of the first paragraph of its docstring.
        concurrent: whether it may overlap with other calls of its round.
        max_characters: the cap on a result, from 64.
        needs_approval: whether a call waits for an operator's word (H4).

    Raises:
        TypeError: a parameter that has no usable type hint, or that cannot be passed by name.
    """

    def make(function: Callable[..., Any]) -> Tool:
        called = name or getattr(function, "__name__", "")
        if not called:
            raise TypeError(f"tool: {function!r} has no name of its own; give it one with name=...")
        read = read_signature(function, called, ToolContext)
        return Tool(
            called,
            read.description if description is None else description,
            read.parameters,
            function,
            read.arguments,
            read.injected,
            concurrent,
            max_characters,
            needs_approval,
        )

    return make if function is None else make(function)


Admit = Callable[[Tool], Awaitable[None]]


async def call_tool(
    tools: Mapping[str, Tool], call: ToolCall, context: ToolContext, admit: Admit | None = None
) -> ToolResult:
    """Carry out one call. Whatever goes wrong comes back as a result, for the model to correct.

    Args:
        tools: what is on offer, by name.
        call: what the model asked for.
        context: who asks.
        admit: returns once the call may run, and raises a ``ToolError`` if it may not; asked only about calls
            whose arguments fit, so that nobody has to approve what cannot run.

    Returns:
        What the history will hold: capped, and an error where the call or the tool failed.
    """
    asked = tools.get(call.name)
    limit = MAX_RESULT_CHARACTERS if asked is None else asked.max_characters
    try:
        if asked is None:
            raise _unknown(call.name, tools)
        arguments = _decode(asked, call.arguments)
        if admit is not None:
            await admit(asked)
        text = await _run(asked, arguments, context)
    except ToolError as error:
        return ToolResult(call.id, call.name, cap(str(error), limit), is_error=True)
    except (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # the model, not the program, has to deal with whatever a tool does
        return ToolResult(call.id, call.name, cap(f"{type(error).__name__}: {error}", limit), is_error=True)
    return ToolResult(call.id, call.name, cap(text, limit))


def cap(text: str, limit: int = MAX_RESULT_CHARACTERS) -> str:
    """Keep the head and the tail of a text that is over the limit, and say between them how much is missing.

    A lone surrogate becomes U+FFFD here, before the text is stored: no request could carry it.

    Args:
        text: what a tool returned.
        limit: how many characters to give at most, from 64.
    """
    text = storable(text)
    if len(text) <= limit:
        return text
    keep = max(limit - _NOTE_ROOM, 0)
    head = keep - keep // 2
    tail = keep // 2
    return f"{text[:head]}\n[{len(text) - keep} characters left out]\n{text[len(text) - tail :]}"


async def _run(asked: Tool, arguments: msgspec.Struct, context: ToolContext) -> str:
    given = {key: getattr(arguments, key) for key in arguments.__struct_fields__}
    given |= dict.fromkeys(asked.injected, context)
    function = asked.function
    if inspect.iscoroutinefunction(function):
        result = await function(**given)
    else:
        result = await context.runtime.run_blocking(lambda: function(**given))
        if inspect.isawaitable(result):  # a plain function that wraps an async one
            result = await result
    return result if isinstance(result, str) else msgspec.json.encode(result, enc_hook=str).decode()


def _decode(asked: Tool, arguments: str) -> msgspec.Struct:
    try:
        # some models send nothing at all where there are no arguments
        return msgspec.json.decode(arguments.strip() or "{}", type=asked.arguments)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ToolError(
            f"the arguments of {asked.name} do not fit", str(error), f"Call it again with {_expected(asked)}"
        ) from error


def _expected(asked: Tool) -> str:
    required = asked.parameters.get("required", ())
    wanted = [
        f"{key} ({', '.join(_words(schema, key in required))})"
        for key, schema in asked.parameters["properties"].items()
    ]
    return f"one JSON object: {', '.join(wanted)}" if wanted else "an empty JSON object"


def _words(schema: Mapping[str, Any], required: bool) -> Iterable[str]:
    kind = schema.get("type")
    if isinstance(kind, str):
        yield kind
    elif "enum" in schema:
        yield f"one of {', '.join(map(str, schema['enum']))}"
    yield "required" if required else "optional"


def _unknown(name: str, tools: Mapping[str, Tool]) -> ToolError:
    known = ", ".join(sorted(tools))
    fix = f"Call one of: {known}" if known else "Answer without tools"
    return ToolError(f"there is no tool called {name!r}", fix=fix)
