"""``schedlab init``: experiment files with comments, from arguments and from answers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import typer

from schedlab.experiment.load import load
from tests.cli.in_process import Schedlab, runner


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Schedlab:
    return runner(monkeypatch, capsys)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Answers of a user at a terminal, in order; the test fails if a question has no answer."""
    remaining: list[str] = []
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(typer, "prompt", lambda question, **options: remaining.pop(0))
    return remaining


WORDS = ("hackbench", "groups=1,4", "--variant", "batch:policy=batch", "--variant", "slow:sched.base_slice_ns=6ms")


def test_words_make_a_file_with_comments_that_loads(schedlab: Schedlab, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    done = schedlab("init", file, *WORDS, "--blocks", 12, "--delta", "2%", "--question", "Is it?")
    assert done.code == 0, done.err
    assert f"schedlab run {file} --dry-run" in " ".join(done.out.split())
    experiment, text = load(file)
    assert (experiment.experiment.name, experiment.experiment.question) == ("mine", "Is it?")
    assert [variant.name for variant in experiment.variant] == ["baseline", "batch", "slow"]
    assert (experiment.design.blocks, experiment.analysis.delta) == (12, 0.02)
    assert text.count("# A state of the machine.") == 1
    assert "\n# loops = 100  # Messages from each sender" in text
    assert "# groups" not in text


def test_a_default_in_a_comment_can_be_uncommented(schedlab: Schedlab, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    for workload in ("hackbench", "stream", "schedbench", "kernbench"):
        file.unlink(missing_ok=True)
        assert schedlab("init", file, workload).code == 0
        head, _, defaults = file.read_text().partition("[[workload]]\n")
        lines = [line.removeprefix("# ") for line in defaults.splitlines()]
        file.write_text("\n".join([head + "[[workload]]", *lines]))
        load(file)


def test_an_existing_file_is_refused_before_any_question(schedlab: Schedlab, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("mine")
    done = schedlab("init", file)
    assert (done.code, file.read_text()) == (2, "mine")
    assert f"{file}: exists already → name a new file" in done.words


def test_without_a_terminal_a_workload_is_needed(schedlab: Schedlab, tmp_path: Path) -> None:
    done = schedlab("init", tmp_path / "mine.toml")
    assert done.code == 2
    assert "nobody can be asked → schedlab init FILE hackbench" in done.words
    assert not (tmp_path / "mine.toml").exists()


def test_a_mistake_names_the_argument_and_writes_nothing(schedlab: Schedlab, tmp_path: Path) -> None:
    done = schedlab("init", tmp_path / "mine.toml", "hackbench", "grups=4")
    assert done.code == 2
    assert "hackbench grups=4: 'hackbench' has no parameter 'grups'; did you mean 'groups'?" in done.words
    assert not (tmp_path / "mine.toml").exists()


def test_answers_make_the_file_and_wrong_answers_are_asked_again(
    schedlab: Schedlab, tmp_path: Path, answers: list[str]
) -> None:
    file = tmp_path / "asked.toml"
    answers += ["Is pinning worse?", "hackbanch", "hackbench 'x", "hackbench groups=2", "one:cpsu=0", "one:cpus=0", ""]
    done = schedlab("init", file)
    assert (done.code, answers) == (0, []), done.err
    assert "did you mean 'hackbench'?" in done.words
    assert "did you mean 'cpus'?" in done.words
    assert "close the quotation" in done.words
    experiment, _ = load(file)
    assert experiment.experiment.question == "Is pinning worse?"
    assert [variant.cpus for variant in experiment.variant] == [None, "0"]
