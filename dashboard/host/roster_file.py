"""A roster as a TOML file: the root, the types that it can spawn, and the models they run on."""

from __future__ import annotations

import asyncio
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from dashboard.agent import Agent, Tool, make_subagent_tool
from dashboard.agent.agent import DEFAULT_MAX_ITERATIONS
from dashboard.core.errors import RosterError
from dashboard.core.inbox import Drain, Inbox
from dashboard.core.labels import AGENT_TYPE, ROOT_LABEL
from dashboard.core.sanitize import sanitize_line
from dashboard.host.roster import Roster
from dashboard.host.roster_parts import ModelTable, Parts
from dashboard.models.scripted import Sleep

TOP = ("title", "main", "agents", "models")
Count = Annotated[int, msgspec.Meta(ge=1)]
Place = tuple[str, ...]
A = TypeVar("A")
R = TypeVar("R")
T = TypeVar("T")
_HEADER = re.compile(r"\s*\[([^\[\]]+)\]\s*(?:#.*)?$")
_UNKNOWN = re.compile(r"unknown field `(.+)`")
_FIRST_KEY = re.compile(r"\.(\w+)")


class AgentTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[main]``, or one ``[agents.<type>]``.

    Args:
        model: ``scripted:NAME`` for a ``[models.NAME]`` of this file, or ``python:MODULE:NAME`` for a client.
        system_message: what the agent is told that it is.
        tools: names of the toolbox (``list_dir``, ``grep``, ``read_file``), or ``python:MODULE:NAME``.
        max_iterations: rounds a turn without a person in the loop.
        inbox: whether it can be written to.
        approval: ``marked``, ``all``, ``none``, or names of tools that wait for an operator's word.
        spawns: the types that it may spawn; every type without it.
        max_depth: of ``[main]``: how many runs may stand below it, one under the other.
    """

    model: str
    system_message: str = ""
    tools: tuple[str, ...] = ()
    max_iterations: Count = DEFAULT_MAX_ITERATIONS
    inbox: bool = True
    approval: str | tuple[str, ...] = "marked"
    spawns: tuple[str, ...] | None = None
    max_depth: Count | None = None


def load_roster(file: Path, task: str, root: Path, speed: float = 1.0, sleep: Sleep = asyncio.sleep) -> Roster:
    """Read a roster file, and build all of it: what is wrong with it is told before anything runs.

    Args:
        file: the TOML file; modules that it names are looked for beside it first.
        task: the root's first prompt.
        root: the folder that the file tools see.
        speed: how fast scripted text streams: 1 can be read along, 0 never waits.
        sleep: how to wait, in seconds.

    Raises:
        RosterError: it cannot be read, or something in it cannot be used: file, line, table and key are named.
    """
    document = _Document(file)
    main = document.table(("main",), AgentTable)
    if main is None:
        raise RosterError(f"{file}: it has no [main]", fix="The root agent is described there")
    agents = document.tables("agents", AgentTable)
    models = document.tables("models", ModelTable)
    document.check_names(agents)
    parts = Parts(file.parent, root, models, speed, sleep)
    built = {
        name: {
            "system_message": table.system_message,
            "model": document.built(("agents", name), "model", parts.model, table.model),
            "tools": _tools(document, ("agents", name), parts, table),
            "max_iterations": table.max_iterations,
            "approval": table.approval,
            **({} if table.inbox else {"inbox": None}),
            **({} if table.spawns is None else {"spawns": table.spawns}),
        }
        for name, table in agents.items()
    }
    model = document.built(("main",), "model", parts.model, main.model)
    tools = _tools(document, ("main",), parts, main)

    def make_root(inbox: Inbox) -> Agent:
        spawns: tuple[Tool, ...] = ()
        if agents:
            depth = main.max_depth or 1
            spawns = (make_subagent_tool(model, agent_types=built, max_depth=depth, inbox=inbox),)
        return Agent(
            model, main.system_message, (*tools, *spawns), main.max_iterations, ROOT_LABEL,
            inbox if main.inbox else None, main.approval,
        )  # fmt: skip

    document.built(("main",), "", make_root, _NoInbox())
    title = document.title or file.stem
    return Roster(sanitize_line(title, 80), task, tuple(agents), make_root)


class _NoInbox:
    """Stands for the session's inbox while a roster is only checked."""

    def reader(self, agent: str | None = None) -> Drain:  # noqa: ARG002 - the protocol's
        """Give nothing: nobody runs on it."""
        return list


class _Document:
    """The tables of a roster file, each read by itself, so that an error can name where it stands."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._text = _read(file)
        try:
            self._tables = tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as error:
            raise RosterError(f"{file} is not TOML", str(error)) from error
        for key in self._tables:
            if key not in TOP:
                raise self._error((), key, "unknown", f"Use any of: {', '.join(TOP)}")
        self.title = self._tables.get("title", "")
        if not isinstance(self.title, str):
            raise self._error((), "title", "it is no text", "Put it in quotes")

    def table(self, path: Place, kind: type[T]) -> T | None:
        """Give a table as its struct; ``None`` if it is not there."""
        value: Any = self._tables
        for part in path:
            if not isinstance(value, dict) or part not in value:
                return None
            value = value[part]
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            what, _, where = str(error).partition(" - at `$")
            unknown, inside = _UNKNOWN.search(what), _FIRST_KEY.match(where)
            key = unknown[1] if unknown else inside[1] if inside else ""
            names = ", ".join(field.name for field in msgspec.structs.fields(kind))  # type: ignore[arg-type]
            raise self._error(path, key, "unknown" if unknown else what, f"Its keys are: {names}") from None

    def tables(self, name: str, kind: type[T]) -> dict[str, T]:
        """Give every table below one."""
        below = self._tables.get(name, {})
        if not isinstance(below, dict):
            raise self._error((), name, "it is no table", f"Write [{name}.<name>] for each")
        found = {key: self.table((name, key), kind) for key in below}
        return {key: table for key, table in found.items() if table is not None}

    def check_names(self, agents: Mapping[str, AgentTable]) -> None:
        """Refuse what only the whole roster shows to be wrong."""
        for name, table in agents.items():
            path = ("agents", name)
            if not AGENT_TYPE.fullmatch(name):
                fix = "Give it 1 to 63 letters, digits, '_', '.' or '-', beginning with a letter or a digit"
                raise self._error(path, "", f"{name!r} cannot be the name of a type", fix)
            if table.max_depth is not None:
                raise self._error(path, "max_depth", "only [main] has one", "Move it there")
            for other in table.spawns or ():
                if other not in agents:
                    fix = f"Use any of: {', '.join(agents)}"
                    raise self._error(path, "spawns", f"it names an unknown type {other!r}", fix)

    def built(self, path: Place, key: str, build: Callable[[A], R], given: A) -> R:
        """Build a part; what it says is wrong gets the place where the part is named."""
        try:
            return build(given)
        except RosterError as error:
            what = f"{error.what}: {error.why}" if error.why else error.what
            raise self._error(path, key, what, error.fix) from error

    def _error(self, path: Place, key: str, what: str, fix: str) -> RosterError:
        line = _line_of(self._text, path, key)
        where = " ".join(part for part in (f"[{'.'.join(path)}]" if path else "", key) if part)
        return RosterError(f"{self._file}{f':{line}' if line else ''}: {where}", what, fix)


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode()
    except OSError as error:
        raise RosterError(f"{file} cannot be read", error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise RosterError(f"{file} is not UTF-8", f"byte {error.start} is none", "TOML is UTF-8") from error


def _tools(document: _Document, path: Place, parts: Parts, table: AgentTable) -> tuple[Tool, ...]:
    return tuple(document.built(path, "tools", parts.tool, name) for name in table.tools)


def _line_of(text: str, path: Place, key: str) -> int:
    """Find the line of a key, or of its table's header; 0 where it is written in a way that is not looked for."""
    within: Place = ()
    header = 0
    for number, line in enumerate(text.splitlines(), 1):
        opened = _HEADER.match(line)
        if opened:
            within = tuple(part.strip().strip("\"'") for part in opened[1].split("."))
            header = number if within == path else header
        elif within == path and key and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*=""", line):
            return number
    return header
