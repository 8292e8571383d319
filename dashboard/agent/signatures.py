"""From a function's signature to what a model is told of it, and to a struct that validates what it sends."""

from __future__ import annotations

import copy
import inspect
import re
import sys
import typing
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import msgspec

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_ARGUMENT = re.compile(r"(?P<name>\w+)\s*(?:\([^)]*\))?:\s*(?P<text>.*)")
_SECTION = re.compile(r"[A-Z][A-Za-z ]*:")
_DEFS = "#/$defs/"


class Signature(msgspec.Struct, frozen=True):
    """What ``read_signature`` found.

    Args:
        description: the first paragraph of the docstring, on one line.
        arguments: the struct that a call's JSON is decoded to.
        parameters: the JSON Schema of it, one object.
        injected: names of the parameters that the caller fills in, absent from the schema.
    """

    description: str
    arguments: type[msgspec.Struct]
    parameters: dict[str, Any]
    injected: tuple[str, ...]


def read_signature(function: Callable[..., Any], name: str, inject: type) -> Signature:
    """Read a function, closure or bound method, synchronous or not.

    Args:
        function: what a tool calls.
        name: the tool's name, for errors.
        inject: the type of parameters that the model does not fill in.

    Raises:
        TypeError: a parameter without a usable annotation, or one that cannot be passed by name.
    """
    taken = inspect.signature(function).parameters
    for parameter in taken.values():
        if parameter.kind not in _NAMED:
            raise TypeError(
                f"tool {name}: {parameter} cannot be passed by name; give it a plain parameter instead"
            )
        if parameter.annotation is inspect.Parameter.empty:
            raise TypeError(f"tool {name}: parameter {parameter.name} has no annotation; the model needs its type")
    hints = _resolve(function, name, {key: parameter.annotation for key, parameter in taken.items()})
    injected = tuple(key for key, hint in hints.items() if hint is inject)
    fields = [_field(parameter, hints[key]) for key, parameter in taken.items() if key not in injected]
    description, documented = _read_docstring(inspect.getdoc(function) or "")
    try:
        arguments = msgspec.defstruct(name, fields, forbid_unknown_fields=True, kw_only=True)
        parameters = _as_one_object(msgspec.json.schema(arguments))
    except (TypeError, NameError) as error:
        raise TypeError(f"tool {name}: its parameters cannot be described as JSON: {error}") from error
    for key, text in documented.items():
        if key in parameters["properties"]:
            parameters["properties"][key].setdefault("description", text)
    return Signature(description, arguments, parameters, injected)


def _field(parameter: inspect.Parameter, hint: Any) -> tuple[str, Any] | tuple[str, Any, Any]:  # noqa: ANN401 - a type
    default = parameter.default
    if default is inspect.Parameter.empty:
        return (parameter.name, hint)
    if isinstance(default, list | dict | set | bytearray):
        return (parameter.name, hint, msgspec.field(default_factory=lambda: copy.copy(default)))
    return (parameter.name, hint, default)


def _resolve(function: Callable[..., Any], name: str, annotations: Mapping[str, Any]) -> dict[str, Any]:
    """Evaluate string annotations; of the parameters alone, as nobody needs what a tool says it returns."""
    target: Any = inspect.unwrap(getattr(function, "__func__", function))
    scope = getattr(target, "__globals__", {})
    held = inspect.getclosurevars(target).nonlocals if inspect.isfunction(target) else {}
    hints: dict[str, Any] = {}
    for key, annotation in annotations.items():
        holder = SimpleNamespace(__annotations__={key: annotation})
        try:
            try:
                hints |= typing.get_type_hints(holder, scope, held, include_extras=True)
            except NameError:
                hints |= typing.get_type_hints(holder, scope, _local_names(target), include_extras=True)
        except (NameError, AttributeError, SyntaxError, TypeError) as error:
            raise TypeError(
                f"tool {name}: the annotation of {key} cannot be resolved ({error}); import "
                "its names at run time, outside of TYPE_CHECKING"
            ) from error
    return hints


def _local_names(target: object) -> dict[str, Any]:
    """Give the local names of whatever code of the function's own file is being run, innermost first.

    A closure holds only what its body uses: a class that its annotations alone name is found where it is made.
    """
    code = getattr(target, "__code__", None)
    names: dict[str, Any] = {}
    frame = sys._getframe()  # noqa: SLF001 - the only way to a caller's local names
    while code is not None and frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_filename == code.co_filename:
            names = {**frame.f_locals, **names}
    return names


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Give the first paragraph, and what a Google ``Args:`` section says of each argument."""
    first, _, _ = text.partition("\n\n")
    description = "" if _SECTION.fullmatch(first.split("\n", 1)[0].strip()) else " ".join(first.split())
    documented: dict[str, str] = {}
    inside, depth, current = False, 0, ""
    for line in text.splitlines():
        stripped = line.strip()
        indent = len(line) - len(line.lstrip())
        if indent == 0 and stripped:
            inside, depth, current = stripped == "Args:", 0, ""
        elif inside and stripped:
            depth = depth or indent
            found = _ARGUMENT.fullmatch(stripped) if indent == depth else None
            if found:
                current = found["name"]
                documented[current] = found["text"]
            elif current:
                documented[current] = f"{documented[current]} {stripped}".strip()
    return description, {key: value for key, value in documented.items() if value}


def _as_one_object(schema: dict[str, Any]) -> dict[str, Any]:
    """Put every ``$ref`` in place, as not every provider follows them; a recursive type keeps its references."""
    definitions = schema.get("$defs", {})
    kept: set[str] = set()

    def inline(node: Any, within: tuple[str, ...]) -> Any:  # noqa: ANN401 - any node of a schema
        if isinstance(node, list):
            return [inline(element, within) for element in node]
        if not isinstance(node, dict):
            return node
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return {key: inline(value, within) for key, value in node.items() if key != "$defs"}
        name = reference.removeprefix(_DEFS)
        if name in within:
            kept.add(name)
            return dict(node)
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return {**inline(definitions[name], (*within, name)), **beside}

    whole: dict[str, Any] = inline({key: value for key, value in schema.items() if key != "$defs"}, ())
    whole.pop("title", None)
    if kept:
        whole["$defs"] = definitions
    return whole
