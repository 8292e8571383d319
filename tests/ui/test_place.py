"""A reader's place in a transcript: what is in sight is right, and it moves only when the reader moves it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.core.transcript import TextEntry, TextKind, TranscriptEntry
from dashboard.core.views import RunView
from dashboard.ui.entry_lines import WALL, ZOOMED, Folding, Line, Sheet, entry_lines, starts_paragraph
from dashboard.ui.glyphs import UNICODE
from dashboard.ui.reading import AT_ONCE, Reading


def run_of(*entries: TranscriptEntry) -> RunView:
    run = RunView("r", "subagent-a", 1, "t", None, 0, reading=True, started_at=0, max_iterations=10)
    run.entries.extend(entries)
    return run


def answer(text: str) -> TextEntry:
    entry = TextEntry(TextKind.ANSWER, 1, 0, 1)
    entry.grow(text)
    return entry


def note(text: str) -> TextEntry:
    entry = TextEntry(TextKind.NOTICE, 1, 0, 1)
    entry.replace(text)
    return entry


def words(lines: list[Line]) -> list[str]:
    return ["".join(text for text, _ in line) for line in lines]


def all_lines(run: RunView, width: int, folding: Folding = WALL) -> list[str]:
    """The transcript from the start, wrapped anew."""
    lines: list[Line] = []
    for index, entry in enumerate(run.entries):
        if starts_paragraph(entry, run.entries[index - 1] if index else None):
            lines.append(())
        lines.extend(entry_lines(entry, run, Sheet(width, folding, UNICODE)))
    return words(lines)


def in_sight(reading: Reading) -> list[str]:
    rows = (reading.row(y) for y in range(reading.height))
    return words([row[2] for row in rows if row is not None])


def at_top(reading: Reading) -> tuple[int, int] | None:
    row = reading.row(0)
    return row[:2] if row else None


def opened(run: RunView, width: int = 40, height: int = 10) -> Reading:
    reading = Reading(run, UNICODE)
    reading.resize(width, height)
    return reading


def many(entries: int) -> RunView:
    return run_of(*(note(f"note {at} {'word ' * (at % 37)}") for at in range(entries)))


TEXT = st.text(st.sampled_from("ab \n가👩"), min_size=1, max_size=60)
ACTIONS = st.one_of(
    st.tuples(st.just("note"), TEXT),
    st.tuples(st.just("begin"), TEXT),
    st.tuples(st.just("grow"), TEXT),
    st.tuples(st.just("replace"), TEXT),
    st.tuples(st.just("scroll"), st.integers(-30, 30)),
    st.tuples(st.just("width"), st.integers(8, 60)),
    st.tuples(st.just("height"), st.integers(1, 20)),
    st.tuples(st.just("refine"), st.integers(0, 5)),
    st.tuples(st.just("fold"), st.sampled_from([WALL, ZOOMED])),
)


class Story:
    """A reading that things happen to, beside what it must show."""

    def __init__(self, before: int) -> None:
        self.run = many(before)
        self.reading = opened(self.run)
        self.folding = WALL

    def act(self, name: str, value: object) -> None:
        reading, entries = self.reading, self.run.entries
        first = len(entries)
        match name, value:
            case "note", str(text):
                entries.append(note(text))
                reading.take(first)
            case "begin", str(text):
                entries.append(answer(text))
                reading.take(first)
            case "grow" | "replace", str(text):
                if entries and isinstance(last := entries[-1], TextEntry):
                    last.grow(text) if name == "grow" else last.replace(text)
                    reading.take(first - 1)
            case "scroll", int(lines):
                reading.scroll(lines)
            case "width", int(width):
                reading.resize(width, reading.height)
            case "height", int(height):
                reading.resize(reading.width, height)
            case "refine", int(steps):
                left = iter(range(steps))
                reading.refine(lambda: next(left, None) is not None)
            case "fold", Folding() as folding:
                self.folding = folding
                reading.fold(folding)

    def check(self) -> None:
        """What is in sight is a piece of the whole, and the last one if the reader follows."""
        lines, seen = all_lines(self.run, self.reading.width, self.folding), in_sight(self.reading)
        assert len(seen) == min(self.reading.height, len(lines))
        if self.reading.follow:
            assert seen == lines[len(lines) - len(seen) :]
        else:
            assert any(lines[at : at + len(seen)] == seen for at in range(len(lines)))


@settings(max_examples=60)
@given(st.sampled_from([0, 3, AT_ONCE + 40]), st.lists(ACTIONS, max_size=25))
def test_what_is_in_sight_is_always_a_piece_of_the_transcript(
    before: int, actions: list[tuple[str, object]]
) -> None:
    story = Story(before)
    for name, value in actions:
        was, followed = at_top(story.reading), story.reading.follow
        story.act(name, value)
        story.check()
        if not followed and name in ("note", "begin", "grow", "refine"):
            assert at_top(story.reading) == was
    story.act("refine", 10_000)
    lines = all_lines(story.run, story.reading.width, story.folding)
    assert story.reading.total == len(lines)
    assert in_sight(story.reading) == lines[story.reading.top : story.reading.top + story.reading.height]


def test_growth_out_of_sight_does_not_count_estimates_as_new_lines() -> None:
    run = many(300)
    reading = opened(run)
    reading.scroll(-50)
    assert reading.unseen == 0
    reading.refine(lambda: True)
    assert reading.unseen == 0
    run.entries.append(note("one more"))
    total = reading.total
    reading.take(300)
    assert reading.unseen == reading.total - total == len(all_lines(run, 40)) - total


def test_a_change_is_reported_from_the_first_line_that_can_look_different() -> None:
    run = run_of(note("first"), answer("a b c\n" * 20))
    reading = opened(run)
    total = reading.total
    growing = run.entries[1]
    assert isinstance(growing, TextEntry)
    reading.take(1)
    growing.grow("more")
    assert reading.take(1) >= total - 1
    growing.grow(" and more")
    assert reading.take(1) == total


def test_only_what_is_in_sight_is_wrapped_of_a_long_transcript() -> None:
    reading = opened(many(5_000))
    assert reading.inexact > 4_900
    reading.scroll(-1_000)
    assert reading.inexact > 4_000


def test_a_reading_without_a_width_waits_for_one() -> None:
    run = many(3)
    reading = Reading(run, UNICODE)
    reading.resize(0, 10)
    assert reading.row(0) is None
    reading.resize(40, 10)
    assert in_sight(reading) == all_lines(run, 40)
