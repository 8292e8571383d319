from __future__ import annotations

import pytest

from dashboard.core.errors import ModelError
from dashboard.core.history import Assistant, ToolCall, User
from dashboard.models.base import ModelEvent, ModelRequest, ReasoningPart, Reply, TextPart
from dashboard.models.scripted import Pace, ScriptedModel, call, replies

REQUEST = ModelRequest("main", (User("p"),))


class FakeSleep:
    def __init__(self) -> None:
        self.waited: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.waited.append(seconds)


async def played(model: ScriptedModel, request: ModelRequest = REQUEST) -> list[ModelEvent]:
    return [event async for event in model.stream(request)]


async def test_the_parts_add_up_to_the_reply_which_comes_last() -> None:
    entry = Assistant("  two words\nand more ", reasoning="first think")
    *parts, reply = await played(ScriptedModel(replies(entry)))
    assert "".join(part.text for part in parts if isinstance(part, TextPart)) == entry.content
    assert "".join(part.text for part in parts if isinstance(part, ReasoningPart)) == entry.reasoning
    assert isinstance(reply, Reply)
    assert reply.entry == entry


async def test_reasoning_comes_before_text() -> None:
    parts = (await played(ScriptedModel(replies(Assistant("b", reasoning="a")))))[:-1]
    assert parts == [ReasoningPart("a"), TextPart("b")]


async def test_replies_come_in_order_and_an_exception_takes_its_turn() -> None:
    model = ScriptedModel(replies("A", ModelError("overloaded"), "B"))
    assert isinstance((await played(model))[-1], Reply)
    with pytest.raises(ModelError, match="overloaded"):
        await played(model)
    (_, reply) = await played(model)
    assert isinstance(reply, Reply)
    assert reply.entry.content == "B"


async def test_a_script_that_is_used_up_says_so() -> None:
    with pytest.raises(IndexError, match="0 turns"):
        await played(ScriptedModel(replies()))


async def test_calls_without_an_id_get_one_that_no_other_round_has() -> None:
    entry = Assistant("", tool_calls=(call("a", text="x"), call("b"), ToolCall("own", "c", "{}")))
    seen: list[str] = []
    for history in ((User("p"),), (User("p"), User("q"))):
        reply = (await played(ScriptedModel(replies(entry)), ModelRequest("main", history)))[-1]
        assert isinstance(reply, Reply)
        assert reply.entry.tool_calls[0].arguments == '{"text":"x"}'
        assert reply.entry.tool_calls[2].id == "own"
        seen += [asked.id for asked in reply.entry.tool_calls[:2]]
    assert len(set(seen)) == 4


async def test_a_script_sees_the_whole_request() -> None:
    model = ScriptedModel(lambda request: Assistant(f"{request.label} {len(request.history)}"))
    reply = (await played(model))[-1]
    assert isinstance(reply, Reply)
    assert reply.entry.content == "main 1"


async def test_a_pace_waits_before_the_first_word_and_after_each() -> None:
    sleep = FakeSleep()
    await played(ScriptedModel(replies("two words"), Pace(think=1.0, word=0.1), sleep))
    assert sleep.waited == [1.0, 0.1, 0.1]


async def test_the_default_pace_does_not_wait() -> None:
    sleep = FakeSleep()
    await played(ScriptedModel(replies("two words"), sleep=sleep))
    assert sleep.waited == []


def test_a_readable_pace_is_faster_at_a_higher_speed_and_none_at_zero() -> None:
    assert Pace.readable(2).word == Pace.readable(1).word / 2
    assert Pace.readable(0) == Pace()


async def test_the_usage_counts_what_was_asked_and_what_was_said() -> None:
    reply = (await played(ScriptedModel(replies("a" * 400))))[-1]
    assert isinstance(reply, Reply)
    assert reply.output_tokens == 100
    assert reply.input_tokens > 0


async def test_a_call_alone_is_a_turn_that_asks_for_it() -> None:
    reply = (await played(ScriptedModel(replies(call("look", path=".")))))[-1]
    assert isinstance(reply, Reply)
    assert [(asked.name, asked.arguments) for asked in reply.entry.tool_calls] == [("look", '{"path":"."}')]
