"""The file tools: rooted, bounded, and honest about what they left out."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dashboard.core.errors import ToolError
from dashboard.host.reports import ReportFolder, report_tool
from dashboard.host.toolbox import MAX_LINE, Limits, RootedFiles, file_tools, shown_name


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "a.log").write_text("one\nERROR two\nthree\n")
    (folder / "b.log").write_text("error four\n")
    (folder / "sub").mkdir()
    (folder / "sub" / "c.log").write_text("fine\nError five\n")
    (tmp_path / "secret.txt").write_text("error secret\n")
    return folder


ODD_NAMES = ("a\x1b]52;c;aGk=\x07", "x:1: y", '"q"', " s", "-d", "a\nb", "\u202ertl", "a|b", "`c`")


def ticking(step: float) -> Callable[[], float]:
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += step
        return now

    return clock


def test_a_listing_gives_sizes_lines_and_names(root: Path) -> None:
    (root / "empty").touch()
    assert RootedFiles(root).list_dir() == "\n".join(
        ["4 entries in .", "20 3 a.log", "11 1 b.log", "0 0 empty", "- - sub/"]
    )


def test_an_empty_folder_lists_as_empty(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert RootedFiles(tmp_path / "empty").list_dir() == "0 entries in ."


def test_a_listing_of_a_file_is_refused(root: Path) -> None:
    with pytest.raises(ToolError, match="is a file"):
        RootedFiles(root).list_dir("a.log")


def test_a_long_listing_says_that_it_is_cut(root: Path) -> None:
    text = RootedFiles(root, Limits(entries=1)).list_dir()
    assert text.split("\n") == ["3 entries in .", "note: only the first 1 are listed", "20 3 a.log"]


def test_grep_searches_a_folder_with_all_that_is_below(root: Path) -> None:
    assert RootedFiles(root).grep("error").split("\n") == [
        "3 matches in 3 files",
        "count: 1 in a.log",
        "count: 1 in b.log",
        "count: 1 in sub/c.log",
        "a.log:2: ERROR two",
        "b.log:1: error four",
        "sub/c.log:2: Error five",
    ]


def test_grep_can_tell_upper_from_lower_case(root: Path) -> None:
    assert RootedFiles(root).grep("error", ignore_case=False).split("\n") == [
        "1 match in 1 file",
        "b.log:1: error four",
    ]


def test_grep_counts_what_it_does_not_list(root: Path) -> None:
    (root / "many.log").write_text("error\n" * 50)
    text = RootedFiles(root).grep("error", "many.log", max_matches=2)
    assert text.split("\n") == [
        "50 matches in 1 file, the first 2 listed",
        "many.log:1: error",
        "many.log:2: error",
    ]


def test_a_result_stays_below_the_cap_of_the_tool_layer(root: Path) -> None:
    (root / "wide.log").write_text(f"error {'x' * 480}\n" * 400)
    files = RootedFiles(root)
    assert len(files.grep("error", "wide.log", max_matches=1000)) < 32 * 1024
    assert len(files.read_file("wide.log", lines=400)) < 32 * 1024


@pytest.mark.parametrize("path", ["..", "../secret.txt", "/etc/passwd", "sub/../../secret.txt", "out", "outdir/x"])
def test_nothing_outside_the_root_is_read(root: Path, path: str) -> None:
    (root / "out").symlink_to(root.parent / "secret.txt")
    (root / "outdir").symlink_to(root.parent)
    files = RootedFiles(root)
    for read in (files.list_dir, files.read_file, lambda path: files.grep("x", path)):
        with pytest.raises(ToolError, match="outside the folder") as caught:
            read(path)
        assert caught.value.fix


def test_a_search_passes_over_links_that_leave_the_root_and_says_so(root: Path) -> None:
    (root / "out").symlink_to(root.parent / "secret.txt")
    (root / "outdir").symlink_to(root.parent)
    text = RootedFiles(root).grep("error")
    assert "secret" not in text
    assert "note: skipped, a link that leaves the folder: out" in text
    assert "- outside out\n- outside outdir" in RootedFiles(root).list_dir()


def test_a_link_inside_the_root_is_followed_and_counted_once(root: Path) -> None:
    (root / "again.log").symlink_to(root / "a.log")
    assert RootedFiles(root).read_file("again.log").startswith("lines 1-3 of 3 in a.log")
    assert RootedFiles(root).grep("two").startswith("1 match in 1 file")


def test_links_in_a_circle_harm_nothing(root: Path) -> None:
    (root / "loop").symlink_to(root / "loop")
    (root / "sub" / "up").symlink_to(root)
    files = RootedFiles(root)
    assert files.grep("error").startswith("3 matches")
    assert "- unreadable loop" in files.list_dir()
    with pytest.raises(ToolError):
        files.read_file("loop")


def test_binary_and_compressed_files_are_skipped_and_named(root: Path) -> None:
    (root / "blob").write_bytes(b"error\0error\n")
    with gzip.open(root / "old.gz", "wb") as stream:
        stream.write(b"error\n")
    text = RootedFiles(root).grep("error")
    assert text.startswith("3 matches")
    assert "note: skipped, binary: blob, old.gz" in text
    assert "12 binary blob" in RootedFiles(root).list_dir()
    with pytest.raises(ToolError, match="cannot read 'blob' as text: binary"):
        RootedFiles(root).read_file("blob")


def test_an_unreadable_file_is_named_and_fails_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really_open = os.open

    def refusing(path: Path, *arguments: int) -> int:
        if Path(path).name == "a.log":
            raise PermissionError(13, "Permission denied")
        return really_open(path, *arguments)

    monkeypatch.setattr("dashboard.host.toolbox.os.open", refusing)
    assert "note: skipped, unreadable: a.log" in RootedFiles(root).grep("error")
    assert "20 unreadable a.log" in RootedFiles(root).list_dir()


def test_a_pipe_is_not_waited_for(root: Path) -> None:
    os.mkfifo(root / "pipe")
    assert "note: skipped, special: pipe" in RootedFiles(root).grep("error")
    assert "0 special pipe" in RootedFiles(root).list_dir()


def test_long_lines_are_cut_with_a_mark(root: Path) -> None:
    (root / "long.log").write_text(f"{'x' * (MAX_LINE + 7)}\nshort\n")
    text = RootedFiles(root).read_file("long.log")
    assert f"1: {'x' * MAX_LINE} …[+7 characters]\n2: short" in text


def test_a_line_of_megabytes_counts_as_one(root: Path) -> None:
    (root / "huge.log").write_text(f"{'x' * 3_000_000}\nlast\n")
    assert RootedFiles(root).read_file("huge.log", start=2).endswith("lines 2-2 of 2 in huge.log\n2: last")


def test_only_newlines_end_lines(root: Path) -> None:
    (root / "odd.log").write_bytes("a\x0bb\u2028c\r\nd\xff\n".encode("latin-1", "replace"))
    assert RootedFiles(root).read_file("odd.log").endswith("1: a\x0bb?c\n2: d�")


def test_reading_starts_where_it_is_told(root: Path) -> None:
    assert RootedFiles(root).read_file("a.log", start=2, lines=1) == "lines 2-2 of 3 in a.log\n2: ERROR two"
    assert RootedFiles(root).read_file("a.log", start=-5, lines=1).startswith("lines 1-1 of 3")


def test_reading_past_the_end_says_where_the_end_is(root: Path) -> None:
    with pytest.raises(ToolError, match=r"line 9 is past the end: 'a.log' has 3 lines"):
        RootedFiles(root).read_file("a.log", start=9)


def test_an_empty_file_reads_as_empty(root: Path) -> None:
    (root / "empty").touch()
    assert RootedFiles(root).read_file("empty") == "0 lines in empty"


@pytest.mark.parametrize("path", ["nothing.log", "a.log/b", "bad\0name", "x" * 5000])
def test_a_file_that_is_not_there_is_a_clear_error(root: Path, path: str) -> None:
    with pytest.raises(ToolError):
        RootedFiles(root).read_file(path)
    with pytest.raises(ToolError):
        RootedFiles(root).grep("x", path)


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "*", "a" * 1001])
def test_a_bad_regular_expression_is_refused(root: Path, pattern: str) -> None:
    with pytest.raises(ToolError) as caught:
        RootedFiles(root).grep(pattern)
    assert caught.value.fix


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*[bc]"])
def test_a_pattern_that_runs_away_on_a_line_is_stopped_and_named_with_the_line(root: Path, pattern: str) -> None:
    (root / "long.log").write_text("fine\n" + "a" * 4_000 + "!\n")
    with pytest.raises(ToolError, match="takes too long: it took more than 0.5 s on line 2 of long.log"):
        RootedFiles(root).grep(pattern, "long.log")


@pytest.mark.parametrize("pattern", [r"\(a+\)+", "(a|b)+", "a+b+", "(?:ab)*", r"\((\w+)\)"])
def test_an_ordinary_regular_expression_is_taken(root: Path, pattern: str) -> None:
    assert RootedFiles(root).grep(pattern).split("\n")[0].endswith(("file", "files"))


def test_a_search_stops_at_its_bounds_and_says_so(root: Path) -> None:
    by_size = RootedFiles(root, Limits(scan_bytes=25)).grep("e")
    assert "note: stopped after 31 bytes; counts are a lower bound" in by_size
    by_time = RootedFiles(root, Limits(seconds=5), ticking(2)).grep("e")
    assert "note: stopped after 5 s" in by_time
    by_files = RootedFiles(root, Limits(files=1)).grep("error")
    assert by_files.startswith("1 match in 1 file\nnote: stopped after 1 files")


@pytest.mark.parametrize(
    "name", ["a\x1b]52;c;aGk=\x07", "x:1: y", '"q"', " s", "-d", "a\nb", "\u202ertl", "a|b", "`c`"]
)
def test_a_name_that_could_be_misread_is_printed_as_json(root: Path, name: str) -> None:
    (root / name).write_text("needle\n")
    files = RootedFiles(root)
    printed = shown_name(name)
    assert printed.startswith('"')
    assert printed.isprintable()
    assert f"7 1 {printed}" in files.list_dir().split("\n")
    assert files.grep("needle").endswith(f"\n{printed}:1: needle")
    assert files.read_file(name) == f"lines 1-1 of 1 in {printed}\n1: needle"


def test_a_name_that_is_not_text_passes_without_surrogates(root: Path) -> None:
    (Path(os.fsdecode(os.fsencode(root) + b"/\xff.log"))).write_text("needle\n")
    for text in (RootedFiles(root).list_dir(), RootedFiles(root).grep("needle")):
        assert "\\udcff.log" in text.encode().decode()


def test_a_report_is_written_for_its_owner_alone(tmp_path: Path) -> None:
    folder = ReportFolder(tmp_path)
    assert folder.write_report("incident-report", "# é\n") == "wrote reports/incident-report.md (5 bytes)"
    folder.write_report("incident-report", "# again\n")
    place = tmp_path / "reports" / "incident-report.md"
    assert place.read_text() == "# again\n"
    assert place.stat().st_mode & 0o777 == 0o600
    assert place.parent.stat().st_mode & 0o777 == 0o700
    assert list(place.parent.iterdir()) == [place]


def test_a_report_does_not_write_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "reports" / "r.md").symlink_to(tmp_path / "victim")
    ReportFolder(tmp_path).write_report("r.md", "text")
    assert (tmp_path / "victim").read_text() == "mine"


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/x", ".hidden", "a\0b", "a\nb", "x" * 101])
def test_a_report_with_a_name_that_is_not_plain_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ToolError, match="not a plain file name"):
        ReportFolder(tmp_path / "session").write_report(name, "text")
    assert not (tmp_path / "session").exists()


def test_the_tools_carry_their_names_and_say_what_their_arguments_are(root: Path) -> None:
    made = (*file_tools(root), report_tool(root))
    assert [tool.name for tool in made] == ["list_dir", "grep", "read_file", "write_report"]
    assert list(made[1].parameters["properties"]) == ["pattern", "path", "ignore_case", "max_matches"]
    assert all(tool.description for tool in made)
