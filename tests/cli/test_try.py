"""``schedlab try``: from arguments to a stored run, on a simulated machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.in_process import Schedlab, runner

WORDS = (
    "try", "hackbench", "groups=1", "loops=2", "fds=2", "--variant", "batch:policy=batch", "--blocks", "6",
    "--target", "sim:laptop-4",
)  # fmt: skip


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Schedlab:
    return runner(monkeypatch, capsys)


@pytest.mark.slow
def test_try_prints_its_file_and_ends_in_the_report_and_the_store(schedlab: Schedlab, tmp_path: Path) -> None:
    done = schedlab(*WORDS, "--store", tmp_path / "s.sqlite", "--seed", 1)
    assert done.code == 0, done.err
    for words in ('use = "hackbench"\ngroups = 1\n', "[simulated]", "batch", f"store: {tmp_path}/s.sqlite"):
        assert words in done.out


@pytest.mark.slow
def test_the_stored_text_repeats_the_run(schedlab: Schedlab, tmp_path: Path) -> None:
    store = ("--store", tmp_path / "s.sqlite")
    schedlab(*WORDS, *store, "--seed", 1)
    file = tmp_path / "again.toml"
    file.write_text(schedlab("store", "show", 1, "--file", *store).out)
    assert schedlab("run", file, *store, "--seed", 1).code == 0
    first, second = (json.loads(schedlab("report", run, "--format", "json", *store).out) for run in (1, 2))
    assert first["rows"] == second["rows"]
    assert first["run"]["target"] == second["run"]["target"] == "sim:laptop-4"


def test_save_writes_a_new_file_that_loads(schedlab: Schedlab, tmp_path: Path) -> None:
    file, store = tmp_path / "new.toml", ("--store", tmp_path / "s.sqlite")
    done = schedlab(*WORDS, "--save", file, "--dry-run", *store)
    assert done.code == 0, done.err
    assert f"wrote {file}" in done.out
    assert "[[variant]]" not in done.out
    assert schedlab("run", file, "--dry-run", *store).code == 0
    written = file.read_text()
    again = schedlab(*WORDS, "--save", file, *store)
    assert again.code == 2
    assert f"{file}: exists already → name a new file with --save" in again.words
    assert file.read_text() == written
    assert not (tmp_path / "s.sqlite").exists()


def test_a_mistake_names_the_argument_and_runs_nothing(schedlab: Schedlab, tmp_path: Path) -> None:
    done = schedlab("try", "hackbench", "grups=4", "--store", tmp_path / "s.sqlite")
    assert (done.code, done.out) == (2, "")
    assert "hackbench grups=4: 'hackbench' has no parameter 'grups'; did you mean 'groups'?" in done.words
    assert not (tmp_path / "s.sqlite").exists()


def test_a_wrong_target_is_refused(schedlab: Schedlab) -> None:
    done = schedlab("try", "hackbench", "--target", "moon", "--dry-run")
    assert done.code == 2
    assert "--target: 'moon' is not a target" in done.words
