"""Where sessions live, and what is refused as a place for them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from dashboard.core.errors import SessionNotFoundError, SessionUnsafeError
from dashboard.journal import home


def make(session_id: str) -> Path:
    folder = home.make_session_folder(session_id)
    (folder / home.JOURNAL_NAME).touch()
    return folder


def test_a_session_folder_is_private_to_its_user() -> None:
    folder = home.make_session_folder("20260101-000000-aaaa")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_session_ids_sort_by_time_and_can_be_typed() -> None:
    assert home.new_session_id(1_800_000_000_000_000, bytes([8, 9, 255])) == "20270115-080000-22abh"
    moments = [0, 2_000, 40_000, 500_000, 999_999, 1_000_000, 61_000_000]
    ids = [home.new_session_id(1_800_000_000_000_000 + at, bytes([255 - at % 200] * 3)) for at in moments]
    assert ids == sorted(ids)


def test_a_session_is_found_by_its_id_and_by_a_beginning_that_only_it_has() -> None:
    one, two = make("20260101-000000-aaaa"), make("20260102-000000-bbbb")
    assert home.find_session("20260101-000000-aaaa") == one
    assert home.find_session("20260102") == two
    assert home.session_folders() == [one, two]


@pytest.mark.parametrize("session_id", ["nosuch", "", "../20260101-000000-aaaa", "20260101-000000-aaaa/."])
def test_an_unknown_session_names_the_folder_that_was_looked_in(session_id: str) -> None:
    make("20260101-000000-aaaa")
    with pytest.raises(SessionNotFoundError, match="sessions"):
        home.find_session(session_id)


def test_a_beginning_that_several_have_names_them() -> None:
    make("20260101-000000-aaaa")
    make("20260101-000000-bbbb")
    with pytest.raises(SessionNotFoundError, match="fits 2 sessions.*aaaa.*bbbb"):
        home.find_session("20260101")


def test_a_folder_that_others_may_write_to_is_refused_with_the_way_out(state_home: Path) -> None:
    state_home.chmod(0o777)
    with pytest.raises(SessionUnsafeError, match="others may write.*chmod 700"):
        home.make_session_folder("20260101-000000-aaaa")


def test_a_folder_of_another_user_is_refused(state_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: state_home.stat().st_uid + 1)
    with pytest.raises(SessionUnsafeError, match="belongs to another user"):
        home.make_session_folder("20260101-000000-aaaa")


def test_a_network_file_system_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "file_system", lambda folder: "nfs4")
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(SessionUnsafeError, match="network file system .nfs4."):
        home.make_session_folder("20260101-000000-aaaa")


def test_a_place_that_cannot_be_made_says_which_and_what_to_set(
    state_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (state_home / "file").touch()
    monkeypatch.setenv(home.HOME_VARIABLE, str(state_home / "file"))
    with pytest.raises(SessionUnsafeError, match="DASHBOARD_HOME"):
        home.make_session_folder("20260101-000000-aaaa")
