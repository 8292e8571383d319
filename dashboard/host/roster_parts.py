"""What a roster file names: models and tools, by their names."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from dashboard.agent.tools import Tool, tool
from dashboard.core.errors import RosterError
from dashboard.core.history import Assistant, ToolCall
from dashboard.host.toolbox import file_tools
from dashboard.models.base import ModelClient, ModelRequest
from dashboard.models.scripted import Pace, Script, ScriptedModel, Sleep

PROVIDERS = ("scripted", "python")


class CallTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tool call of a scripted reply."""

    tool: str
    arguments: dict[str, Any] = {}


class ReplyTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One scripted reply: what is said, and what is called."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[CallTable, ...] = ()


class ModelTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[models.<name>]``: the replies of a scripted model, by round; the last stands for every later round."""

    replies: Annotated[tuple[str | ReplyTable, ...], msgspec.Meta(min_length=1)]


class Parts:
    """Builds what a roster names.

    Args:
        beside: the folder of the roster file, where its Python modules are looked for first.
        root: the folder that the file tools see.
        models: the scripted models of the file.
        speed: how fast they stream.
        sleep: how to wait, in seconds.
    """

    def __init__(
        self, beside: Path, root: Path, models: Mapping[str, ModelTable], speed: float, sleep: Sleep
    ) -> None:
        self._beside = beside
        self._models = models
        self._pace = Pace.readable(speed)
        self._sleep = sleep
        self._toolbox = {made.name: made for made in file_tools(root)}

    def model(self, name: str) -> ModelClient:
        """Give the model of a name, ``provider:model``, split at the first colon.

        Raises:
            RosterError: there is no such provider or model.
        """
        provider, _, which = name.partition(":")
        match provider:
            case "scripted":
                if which not in self._models:
                    known = ", ".join(self._models) or "none"
                    fix = f"Write its replies in [models.{which or 'NAME'}]; there are: {known}"
                    raise RosterError(f"no scripted model {which!r}", fix=fix)
                return ScriptedModel(_script(self._models[which].replies), self._pace, self._sleep)
            case "python":
                made = self._imported(which)
                if isinstance(made, type) or not callable(getattr(made, "stream", None)):
                    raise RosterError(
                        f"{which} is no model", f"it is {made!r}", "Name an object with stream(request)"
                    )
                client: ModelClient = made
                return client
            case _:
                known = ", ".join(f"{provider}:..." for provider in PROVIDERS)
                raise RosterError(f"no provider {provider!r} in {name!r}", fix=f"Use one of: {known}")

    def tool(self, name: str) -> Tool:
        """Give the tool of a name: of the toolbox, or ``python:MODULE:NAME``.

        Raises:
            RosterError: there is no such tool.
        """
        if name in self._toolbox:
            return self._toolbox[name]
        provider, _, which = name.partition(":")
        if provider != "python":
            known = ", ".join(self._toolbox)
            raise RosterError(f"no tool {name!r}", fix=f"Use any of: {known}, or python:MODULE:NAME")
        made = self._imported(which)
        if isinstance(made, Tool):
            return made
        try:
            return tool(made)
        except TypeError as error:
            raise RosterError(f"{which} cannot be a tool", str(error)) from error

    def _imported(self, which: str) -> Any:  # noqa: ANN401 - whatever stands there
        module_name, _, attribute = which.partition(":")
        if not module_name or not attribute:
            raise RosterError(f"python:{which} names no attribute of a module", fix="Write python:MODULE:NAME")
        if str(self._beside) not in sys.path:
            sys.path.insert(0, str(self._beside))
        try:
            made: Any = importlib.import_module(module_name)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise RosterError(f"the module {module_name} cannot be imported", why) from error
        for part in attribute.split("."):
            if not hasattr(made, part):
                raise RosterError(f"{module_name} has no {attribute}", fix="Name something that it defines")
            made = getattr(made, part)
        return made


def _script(replies: tuple[str | ReplyTable, ...]) -> Script:
    """Give a script that knows its place from the history alone, so that several runs can follow it at once."""

    def script(request: ModelRequest) -> Assistant:
        at = sum(isinstance(entry, Assistant) for entry in request.history)
        reply = replies[min(at, len(replies) - 1)]
        if isinstance(reply, str):
            return Assistant(reply)
        offered = {schema.name for schema in request.tools}
        calls = tuple(
            ToolCall("", call.tool, msgspec.json.encode(call.arguments).decode())
            for call in reply.calls
            if offered  # at a wrap-up nothing may be called
        )
        return Assistant(reply.text, reply.reasoning, calls)

    return script
