"""The ledger and the export: every message with its fate and its text, and nothing of it is markup."""

from __future__ import annotations

import json

from dashboard.cli.plain.document import document
from dashboard.cli.plain.json_lines import json_line
from dashboard.cli.plain.ledger import ledger_json, ledger_lines
from dashboard.core import events as e
from dashboard.core.history import Assistant, User
from dashboard.core.messages import ReturnReason
from dashboard.core.outcomes import Outcome
from dashboard.core.records import Record
from tests.core.folding import called, fold, queued, said, start

MAIL = (
    start("r"),
    queued("m1", body="one\ntwo"),
    queued("m2", body="back"),
    queued("m3"),
    e.MessageDelivered(run_id="r", turn=1, round=2, history_index=1, message_id="m1"),
    said("r", 1, User("one\ntwo")),
    e.MessageReturned(message_id="m2", reason=ReturnReason.RUN_ENDED, run_id="r"),
    e.MessageForwarded(message_id="m2", to="main", session_id="other", as_id="m9", by="bob"),
)


def test_each_message_is_told_with_its_fate_first_and_all_of_its_text() -> None:
    projection = fold(*MAIL)
    lines = [line.split(" ", 1)[1] for line in ledger_lines(projection.messages.values(), projection)]
    assert [line for line in lines if not line.startswith("   msg")][:1] == ["read in round 2, main, after 3.0s"]
    text = "\n".join(lines)
    assert "> one\n   > two" in text
    assert "returned, main: the run ended before it read it" in text
    assert "sent on by bob to main of other, as m9" in text
    assert "pending, main reads it at its next round" in text


def test_as_json_every_message_is_an_object_with_its_whole_text() -> None:
    projection = fold(*MAIL)
    first, second, third = (json.loads(line) for line in ledger_json(projection.messages.values()))
    assert (first["state"], first["round"], first["body"]) == ("delivered", 2, "one\ntwo")
    assert (second["state"], second["reason"]) == ("undeliverable", "run_ended")
    assert second["sent_on"] == [{"to": "main", "session": "other", "id": "m9", "by": "bob"}]
    assert (third["state"], third["ended"]) == ("queued", None)


def test_a_json_line_is_ascii_whatever_was_written() -> None:
    line = json_line(Record(1, 2_000_000, queued("m", body="\x1b[2J\u202e\x9b가")))
    assert line.isascii()
    assert line.isprintable()
    told = json.loads(line)
    assert (told["seq"], told["time"]) == (1, "1970-01-01T00:00:02.000000Z")
    assert told["event"]["body"] == "\x1b[2J\u202e\x9b가"


def test_a_json_line_of_an_event_that_cannot_be_read_still_is_json() -> None:
    assert json.loads(json_line(Record(1, 1, e.Unknown("unreadable", "{torn"))))["event"]["payload"] == "{torn"


class TestTheDocument:
    def test_it_has_every_run_its_transcript_and_the_ledger(self) -> None:
        projection = fold(*MAIL, called(), said("r", 2, Assistant("the answer")))
        lines = list(document("s", projection, projection.tree(), 0))
        assert lines[0] == "# Session s"
        assert "## main" in lines
        assert "the answer" in lines
        assert any(line.startswith("**Message of operator ana**, read in round 2") for line in lines)
        assert "## Mail" in lines

    def test_a_fence_in_what_was_written_cannot_end_the_block(self) -> None:
        hostile = "```\n# not a heading\n````"
        projection = fold(start("r"), said("r", 1, Assistant(hostile)))
        lines = list(document("s", projection, projection.tree(), 0))
        opening = lines[lines.index("# not a heading") - 2]
        assert opening == "`````text"
        assert lines[lines.index("# not a heading") + 2] == "`````"

    def test_a_title_and_a_reason_are_never_markup(self) -> None:
        projection = fold(e.HostStarted(pid=1, version="0", title="a <b> [x](y) `c`\x1b"), start("r"))
        text = "\n".join(document("s", projection, projection.tree(), 0))
        assert "- About: a \\<b\\> \\[x\\](y) \\`c\\`\\<1B\\>" in text

    def test_one_run_alone_has_only_its_own_mail(self) -> None:
        projection = fold(
            *MAIL, start("a", "subagent-a", 1, "r"), e.RunFinished(run_id="a", outcome=Outcome.ANSWERED)
        )
        text = "\n".join(document("s", projection, [projection.runs["a"]], 0))
        assert "## subagent-a\\#1" in text
        assert "**Message" not in text
        assert "## Mail" not in text
