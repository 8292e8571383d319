"""A structured run: one model request whose reply is decoded to a type; no tools, no rounds, no mail (P11)."""

from __future__ import annotations

from typing import Any

import msgspec

from dashboard.agent.rounds import request
from dashboard.agent.run_state import RunState
from dashboard.core.errors import ModelError, RosterError
from dashboard.core.history import User
from dashboard.core.outcomes import Outcome, RunEnd


def output_schema(schema: object, where: str) -> dict[str, Any]:
    """Describe a type as JSON Schema.

    Args:
        schema: what the reply is decoded to.
        where: the place that it was given at, for the error.

    Raises:
        RosterError: it is no type, or JSON cannot hold it (a ``ValueError``).
    """
    if not isinstance(schema, type) and not hasattr(schema, "__origin__") and not hasattr(schema, "__args__"):
        raise RosterError(
            f"{where} is not a type", f"it got {schema!r}", "Give a dataclass, a Struct, or list[str]"
        )
    try:
        return msgspec.json.schema(schema)
    except (TypeError, NameError) as error:
        raise RosterError(
            f"{where} cannot be described as JSON", str(error), "Give a dataclass or a Struct of plain types"
        ) from error


async def structured_turn(run: RunState, task: str, schema: Any) -> tuple[RunEnd, object]:  # noqa: ANN401 - a type
    """Make the one request, and decode its reply.

    Returns:
        The end, and the value.

    Raises:
        ModelError: the request failed for good, or its reply does not fit.
    """
    run.history.append(User(task))
    run.open_turn()
    reply = await request(run, tools_on=False, output=output_schema(schema, "schema"))
    run.history.close_calls()  # a model may ask for tools all the same
    text = run.answer = reply.entry.content  # kept also if it does not fit
    try:
        value = msgspec.json.decode(text, type=schema)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        name = getattr(schema, "__name__", str(schema))
        raise ModelError(
            f"the reply does not fit schema={name}",
            str(error),
            "Ask again, or give a schema that is easier to fit",
        ) from error
    return RunEnd(Outcome.ANSWERED, text), value
