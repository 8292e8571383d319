"""The packaged incident is what the generator makes, and holds the story that it tells."""

from __future__ import annotations

from pathlib import Path

from tests.incident.generate import STAGING, incident, write_files


def test_the_packaged_files_are_what_the_generator_writes(tmp_path: Path) -> None:
    folder = tmp_path / "staging"
    write_files(folder)
    made = {place.name: place.read_bytes() for place in folder.iterdir()}
    packaged = {place.name: place.read_bytes() for place in STAGING.iterdir()}
    assert sorted(made) == sorted(packaged)
    assert [name for name in made if made[name] != packaged[name]] == []


def test_the_incident_is_of_a_size_that_can_be_shipped_and_still_has_to_be_searched() -> None:
    files = incident()
    assert 8 <= len(files) <= 12
    assert 1_000_000 <= sum(map(len, files.values())) <= 3_000_000


def test_no_single_log_names_the_cause() -> None:
    files = incident()
    assert "max_connections: 40" in files["settings.v41.yaml"]
    assert "max_connections: 4\n" in files["settings.v42.yaml"]
    assert [name for name, text in files.items() if "r42" in text] == ["deploy.log"]
    assert [name for name, text in files.items() if "pool exhausted" in text] == ["worker.log"]
    told = [name for name, text in files.items() if "max_connections" in text and name.endswith(".log")]
    assert told == ["worker.log"]


def test_the_loudest_file_is_not_the_first() -> None:
    files = incident()
    begins = {
        name: next(number for number, line in enumerate(files[name].split("\n"), 1) if mark in line)
        for name, mark in {"worker.log": "pool exhausted", "api.log": "upstream timeout"}.items()
    }
    assert begins["worker.log"] < len(files["worker.log"].split("\n"))
    assert files["cache.log"].count("ERROR") > files["worker.log"].count("pool exhausted")
