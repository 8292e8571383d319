"""The inbox protocol, its simplest implementation, and the rehearsal of a reader (P1 to P3)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import cast

import pytest

from dashboard.core.errors import InboxSignatureError, NotAnInboxError
from dashboard.core.inbox import Inbox, QueueInbox, check_inbox


class WithoutParameter:
    def reader(self) -> Callable[[], list[str]]:
        return list


class AnyName:
    def reader(self, who: str) -> Callable[[], list[str]]:
        return list


class KeywordOnly:
    def reader(self, *, agent: str | None = None) -> Callable[[], list[str]]:
        return list


class Unreadable:
    reader = partial(max)  # implemented in C: its signature cannot be read


def test_anything_with_a_reader_is_an_inbox() -> None:
    assert isinstance(QueueInbox(), Inbox)
    assert isinstance(AnyName(), Inbox)


def test_a_drain_gives_what_came_since_its_last_call_oldest_first() -> None:
    inbox = QueueInbox()
    drain = inbox.reader("main")
    inbox.send("one")
    inbox.send("two")
    assert drain() == ["one", "two"]
    assert drain() == []


def test_eight_threads_lose_and_double_nothing() -> None:
    inbox = QueueInbox()
    drain = inbox.reader()

    def send_all(who: int) -> None:
        for number in range(500):
            inbox.send(f"{who}:{number}")

    senders = [threading.Thread(target=send_all, args=(who,)) for who in range(8)]
    for sender in senders:
        sender.start()
    read: list[str] = []
    while any(sender.is_alive() for sender in senders):
        read += drain()
    read += drain()
    assert sorted(read) == sorted(f"{who}:{number}" for who in range(8) for number in range(500))
    for who in range(8):  # first in, first out per sender
        assert [text for text in read if text.startswith(f"{who}:")] == [
            f"{who}:{number}" for number in range(500)
        ]


@pytest.mark.parametrize("inbox", [None, QueueInbox(), AnyName(), Unreadable()])
def test_a_fitting_inbox_and_none_pass_and_an_unreadable_signature_fails_open(inbox: object) -> None:
    check_inbox(inbox, "Agent(inbox=...)")


@pytest.mark.parametrize("inbox", [WithoutParameter(), KeywordOnly()])
def test_a_reader_that_cannot_be_called_names_class_signature_and_fix(inbox: object) -> None:
    with pytest.raises(TypeError) as refused:
        check_inbox(inbox, "Agent(inbox=...)")
    said = str(refused.value)
    assert type(inbox).__name__ in said
    assert "Agent(inbox=...)" in said
    assert "def reader(self, agent=None)" in said
    assert isinstance(refused.value, InboxSignatureError)


@pytest.mark.parametrize("inbox", ["mailbox", 7, object(), QueueInbox])
def test_what_is_no_inbox_is_a_value_error_with_the_place_and_the_fix(inbox: object) -> None:
    with pytest.raises(ValueError, match=r"Agent\(inbox=...\) is not an inbox") as refused:
        check_inbox(inbox, "Agent(inbox=...)")
    assert isinstance(refused.value, NotAnInboxError)
    assert "reader" in str(refused.value)


def test_a_queue_refuses_what_is_no_text_as_it_would_cost_the_run_its_reader() -> None:
    inbox = QueueInbox()
    inbox.send("hello")
    with pytest.raises(TypeError, match=r"QueueInbox\.send\(text\): it got a int; give a str"):
        inbox.send(cast("str", 5))
    assert inbox.reader()() == ["hello"]
