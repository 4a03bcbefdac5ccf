"""``schedlab init --example``."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.files import shipped
from tests.cli.in_process import Schedlab, runner


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Schedlab:
    return runner(monkeypatch, capsys)


def test_every_example_is_listed_with_its_question(schedlab: Schedlab) -> None:
    done = schedlab("init", "--example", "list")
    assert done.code == 0, done.err
    for file in shipped.examples().glob("*.toml"):
        assert file.stem in done.out
    assert "Do SCHED_BATCH or pinning" in " ".join(done.out.split())


def test_an_example_is_printed_as_it_is(schedlab: Schedlab) -> None:
    assert schedlab("init", "--example", "first").out == (shipped.examples() / "first.toml").read_text()


def test_an_example_is_copied_to_a_file_or_a_folder_and_replaces_nothing(schedlab: Schedlab, tmp_path: Path) -> None:
    assert schedlab("init", tmp_path, "--example", "first.toml").code == 0
    assert schedlab("init", tmp_path / "mine.toml", "--example", "first").code == 0
    assert (tmp_path / "mine.toml").read_text() == (tmp_path / "first.toml").read_text()
    (tmp_path / "mine.toml").write_text("mine")
    again = schedlab("init", tmp_path / "mine.toml", "--example", "first")
    assert (again.code, (tmp_path / "mine.toml").read_text()) == (2, "mine")
    assert "exists already" in again.words


def test_an_unknown_example_names_the_nearest(schedlab: Schedlab) -> None:
    done = schedlab("init", "--example", "frist")
    assert done.code == 2
    assert "there is no example 'frist' → did you mean 'first'?" in done.words
