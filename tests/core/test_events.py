"""Events come back as they went in; what is not known is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.core.events import KnownEvent, RunStarted, TextDelta, Unknown
from dashboard.core.records import decode, encode, run_of

TEXT = st.text()


@given(st.builds(TextDelta, run_id=TEXT, round=st.integers(0, 10_000), text=TEXT))
def test_an_event_comes_back_equal(event: KnownEvent) -> None:
    assert decode(encode(event)) == event


def test_a_field_that_a_newer_version_adds_is_passed_over() -> None:
    stored = b'{"type":"TextDelta","run_id":"r","round":1,"text":"t","colour":"red"}'
    assert decode(stored) == TextDelta(run_id="r", round=1, text="t")


@pytest.mark.parametrize(
    ("stored", "type_", "run_id"),
    [
        (b'{"type":"HologramShown","run_id":"run_1","depth":3}', "HologramShown", "run_1"),
        (b'{"type":"TextDelta","run_id":"run_1"}', "TextDelta", "run_1"),
        (b'{"no":"type"}', "untyped", None),
        (b"[1,2]", "unreadable", None),
        (b"\xff\xfe", "unreadable", None),
        (b'{"type":"TextDelta","run_id":7}', "TextDelta", None),
    ],
)
def test_what_is_not_known_is_kept_and_never_an_error(stored: bytes, type_: str, run_id: str | None) -> None:
    event = decode(stored)
    assert isinstance(event, Unknown)
    assert (event.type, run_of(event)) == (type_, run_id)


def test_an_unknown_event_goes_back_as_it_came() -> None:
    stored = b'{"type":"HologramShown","depth":3}'
    assert encode(decode(stored)) == stored


@given(st.binary(max_size=200))
def test_no_bytes_at_all_make_decoding_fail(stored: bytes) -> None:
    decode(stored)


def test_every_event_is_tagged_with_its_own_name() -> None:
    for event_type in KnownEvent.__args__:
        assert event_type.__struct_config__.tag == event_type.__name__


def test_defaults_are_not_written() -> None:
    event = RunStarted(run_id="r", label="main", ordinal=1, task="t", max_iterations=10)
    assert b"parent_run_id" not in encode(event)
