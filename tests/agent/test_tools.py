from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest

from dashboard.agent.runtime import Runtime, in_thread
from dashboard.agent.tools import MAX_RESULT_CHARACTERS, Tool, ToolContext, call_tool, cap, tool
from dashboard.core.errors import ToolError
from dashboard.core.history import ToolCall, ToolResult
from tests.agent.fakes import Recorder, context, fake_runtime


class Place(msgspec.Struct):
    line: int
    column: int = 0


class Tree(msgspec.Struct):
    name: str
    children: list[Tree] = []


def search(pattern: str, limit: int = 20, *, case: Literal["keep", "fold"] = "keep") -> list[str]:
    """Find lines that
    match.

    More for people.

    Args:
        pattern: what to look for,
            as a regular expression.
        limit (int): how many lines at most.

    Returns:
        The lines.
    """
    return [f"{pattern} {case}"] * limit


async def call(made: Tool, arguments: str, runtime: Runtime | None = None) -> ToolResult:
    return await call_tool(
        {made.name: made}, ToolCall("call_1", made.name, arguments), context(runtime or fake_runtime(Recorder()))
    )


def test_a_schema_comes_from_the_hints_and_the_docstring() -> None:
    made = tool(search)
    assert (made.name, made.description, made.concurrent) == ("search", "Find lines that match.", True)
    assert made.parameters == {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "what to look for, as a regular expression."},
            "limit": {"type": "integer", "default": 20, "description": "how many lines at most."},
            "case": {"enum": ["fold", "keep"], "default": "keep"},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    }


def test_types_of_parameters_are_put_in_place_of_references() -> None:
    def mark(place: Place, others: list[Place]) -> str:
        return f"{place} {others}"

    parameters = tool(mark).parameters
    assert "$ref" not in str(parameters)
    assert parameters["properties"]["place"]["properties"]["line"] == {"type": "integer"}
    assert parameters["properties"]["others"]["items"]["required"] == ["line"]


def test_a_type_within_itself_keeps_its_reference_and_its_definition() -> None:
    def grow(tree: Tree) -> str:
        return tree.name

    parameters = tool(grow).parameters
    assert parameters["properties"]["tree"]["properties"]["name"] == {"type": "string"}
    assert "Tree" in parameters["$defs"]


def test_a_decorator_may_bring_arguments() -> None:
    @tool(name="grep", description="Search.", concurrent=False)
    def find() -> str:
        return ""

    assert (find.name, find.description, find.concurrent) == ("grep", "Search.", False)


async def test_constraints_of_annotated_hints_hold() -> None:
    def pick(count: Annotated[int, msgspec.Meta(ge=1)]) -> int:
        return count

    made = tool(pick)
    assert made.parameters["properties"]["count"]["minimum"] == 1
    assert (await call(made, '{"count": 0}')).is_error


async def test_plain_functions_async_functions_closures_and_bound_methods_are_called_alike() -> None:
    class Shelf:
        def __init__(self) -> None:
            self.books = ["one"]

        def read(self, index: int) -> str:
            return self.books[index]

    class Local(msgspec.Struct):
        index: int

    async def later(index: int) -> str:
        return f"later {index}"

    # only the annotation names the class: nothing of it is in the closure
    def local(place: Local) -> str:
        return f"local {place.index}"

    assert (await call(tool(Shelf().read), '{"index": 0}')).content == "one"
    assert (await call(tool(later), '{"index": 0}')).content == "later 0"
    assert (await call(tool(local), '{"place": {"index": 0}}')).content == "local 0"


async def test_a_wrapped_function_keeps_its_signature() -> None:
    def shout(function: Callable[..., str]) -> Callable[..., str]:
        @functools.wraps(function)
        def louder(**given: str) -> str:
            return function(**given).upper()

        return louder

    @tool
    @shout
    def say(text: str) -> str:
        return text

    assert (await call(say, '{"text": "a"}')).content == "A"


async def test_a_plain_function_that_gives_a_coroutine_is_awaited() -> None:
    async def inner() -> str:
        return "inner"

    assert (await call(tool(lambda: inner(), name="outer"), "{}")).content == "inner"


async def test_a_synchronous_tool_runs_outside_of_the_loops_thread() -> None:
    def where() -> int:
        return threading.get_ident()

    result = await call(tool(where), "{}", Runtime(run_blocking=in_thread))
    assert result.content != str(threading.get_ident())


async def test_the_context_is_filled_in_and_no_part_of_the_schema() -> None:
    def who(name: str, asking: ToolContext) -> str:
        return f"{name} {asking.run_id} {asking.tool_call_id}"

    made = tool(who)
    assert list(made.parameters["properties"]) == ["name"]
    assert (await call(made, '{"name": "a"}')).content == "a run_1 call_1"
    assert (await call(made, '{"name": "a", "asking": {}}')).is_error


async def test_a_mutable_default_is_not_shared_between_calls() -> None:
    def collect(into: list[str] = ["a"]) -> list[str]:  # noqa: B006 - what is tested
        into.append("b")
        return into

    made = tool(collect)
    assert [(await call(made, "{}")).content for _ in range(2)] == ['["a","b"]'] * 2


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ("{}", "`pattern`"),
        ('{"pattern": 3}', "`$.pattern`"),
        ('{"pattern": "a", "limits": 3}', "`limits`"),
        ('{"pattern": "a', "truncated"),
        ('["a"]', "`object`"),
        ('{"pattern": "\ud800"}', "surrogates"),
    ],
)
async def test_arguments_that_do_not_fit_come_back_with_the_place_and_the_fix(arguments: str, place: str) -> None:
    result = await call(tool(search), arguments)
    assert result.is_error
    assert "search" in result.content
    assert place in result.content
    assert "pattern (string, required), limit (integer, optional)" in result.content
    assert "case (one of fold, keep, optional)" in result.content


async def test_arguments_nested_without_end_come_back_like_any_that_do_not_fit() -> None:
    def take(anything: list[Any]) -> str:
        return str(anything)

    result = await call(tool(take), '{"anything": ' + "[" * 100_000)
    assert result.is_error
    assert "take do not fit" in result.content


async def test_no_arguments_at_all_are_an_empty_object() -> None:
    def ping() -> str:
        return "pong"

    assert (await call(tool(ping), "")).content == "pong"


async def test_an_unknown_tool_comes_back_with_the_known_ones() -> None:
    result = await call_tool(
        {"search": tool(search)}, ToolCall("call_1", "serach", "{}"), context(fake_runtime(Recorder()))
    )
    assert result.is_error
    assert "'serach'" in result.content
    assert "search" in result.content


async def test_what_a_tool_raises_comes_back_with_its_type() -> None:
    def fail(own: bool) -> str:
        raise ToolError("no such place", fix="Look up") if own else KeyError("missing")

    made = tool(fail)
    assert (await call(made, '{"own": false}')).content == "KeyError: 'missing'"
    assert (await call(made, '{"own": true}')) == ToolResult("call_1", "fail", "no such place. Look up", True)


async def test_a_result_is_text_as_it_is_or_json() -> None:
    def give(what: str) -> object:
        return {"text": "a\n", "place": Place(1), "path": Path("a/b"), "none": None}[what]

    made = tool(give)
    results = [(await call(made, f'{{"what": "{what}"}}')).content for what in ("text", "place", "path", "none")]
    assert results == ["a\n", '{"line":1,"column":0}', '"a/b"', "null"]


def test_a_long_result_keeps_its_head_and_tail_and_says_what_is_missing() -> None:
    text = "a" * 40_000 + "z" * 40_000
    capped = cap(text)
    assert len(capped) <= MAX_RESULT_CHARACTERS
    assert capped.startswith("aaa")
    assert capped.endswith("zzz")
    head, note, tail = capped.split("\n")
    assert note == f"[{80_000 - len(head) - len(tail)} characters left out]"
    assert cap("a" * MAX_RESULT_CHARACTERS) == "a" * MAX_RESULT_CHARACTERS


def test_a_lone_surrogate_is_replaced_before_anything_is_stored() -> None:
    assert cap("a\ud800b") == "a\ufffdb"


def no_hint(pattern) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001
    return str(pattern)


def many(*patterns: str) -> str:
    return str(patterns)


def nowhere(pattern: Nowhere) -> str:  # type: ignore[name-defined]  # noqa: F821
    return str(pattern)


def not_json(pattern: threading.Thread) -> str:
    return str(pattern)


@pytest.mark.parametrize("function", [no_hint, many, nowhere, not_json])
def test_a_function_that_cannot_be_described_is_a_programmers_error(function: Callable[..., str]) -> None:
    with pytest.raises(TypeError, match=f"tool {function.__name__}: .*pattern|cannot be described"):
        tool(function)
