"""``schedlab kernels build``, and other commands on built kernels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schedlab.experiment.load import load, parse
from schedlab.kernels import experiment_file
from schedlab.kernels.build_cache import Record
from tests.cli.in_process import Schedlab, runner
from tests.kernels.tiny_tree import repository_with_series, tiny_tree


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Schedlab:
    """The command line with a separate cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return runner(monkeypatch, capsys)


@pytest.mark.slow
def test_a_series_with_a_patch_that_does_not_build_is_reported_and_written_to_a_file(
    schedlab: Schedlab, tmp_path: Path
) -> None:
    repository = repository_with_series(tmp_path / "linux")
    file = tmp_path / "stack.toml"
    words = ("kernels", "build", repository.folder, "--range", f"{repository.base}..", "--name", "stack")
    plan = schedlab(*words, "--dry-run", "--verbose").out.splitlines()
    assert plan[0] == f"stack: 4 kernels: {repository.base[:12]} base, then with 3 patches"
    assert plan[2:5] == ["to build: 4; 0 in the cache", "time: not known before the first build", "missing: nothing"]
    assert [line.split()[:3] for line in plan[5:]] == [
        [f"built:stack{prefix}", "to", "build"] for prefix in ("", "+01", "+02", "+03")
    ]
    assert not (tmp_path / "cache").exists()
    done = schedlab(*words, "--to", file)
    assert done.code == 4
    messages = [line.split()[:2] for line in done.out.splitlines() if line.startswith("built:")]
    assert messages == [
        ["built:stack", "built"],
        ["built:stack+01", "built"],
        ["built:stack+02", "gap"],
        ["built:stack+03", "built"],
    ]
    assert "gap: make bzImage failed: kernel/core.c:3" in done.out
    assert "CONFIG_SMP=y was requested" not in done.out
    assert "CONFIG_SCHEDSTATS=y was requested, which this kernel does not have; the value is n" in done.out

    experiment, _ = load(file)
    assert experiment.attribution is not None
    assert experiment.attribution.stack == ["base", "01", "02", "03"]
    assert [variant.kernel for variant in experiment.variant] == [line[0] for line in messages]
    assert experiment.variant[3].description == "sched: return two"

    plan = schedlab(*words, "--dry-run").out.splitlines()
    assert plan[2:4] == ["to build: 0; 4 in the cache", "time: none"]
    assert "to build: 1; 3 in the cache" in schedlab(*words, "--dry-run", "--again").out
    again = schedlab(*words)
    assert again.code == 4
    assert [line.split()[1] for line in again.out.splitlines() if line.startswith("built:")] == [
        "cached",
        "cached",
        "gap",
        "cached",
    ]
    assert '[attribution]\nstack = ["base", "01", "02", "03"]' in again.out
    assert "# A gap: make bzImage failed" in again.out

    listed = schedlab("kernels", "list").out
    assert "built:stack+03  6.99.0-03" in listed
    kernels = json.loads(schedlab("kernels", "list", "--format", "json").out)["kernels"]
    assert [kernel["name"] for kernel in kernels] == [line[0] for line in messages]
    assert all(set(kernel) == {"name", "release", "size", "about"} for kernel in kernels)
    shown = schedlab("kernels", "show", "built:stack+02").out
    assert "title:    sched: return what is not there" in shown
    assert "gap:      make bzImage failed" in shown
    assert "release:  6.99.0-03" in schedlab("kernels", "show", "built:stack+03").out


def test_an_existing_file_is_not_overwritten_and_nothing_is_built(schedlab: Schedlab, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("mine")
    done = schedlab("kernels", "build", tiny_tree(tmp_path / "linux"), "--to", file)
    assert done.code == 2
    assert "exists already" in done.words
    assert file.read_text() == "mine"
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("kernels", "build", "/nonexistent"), "there is no such folder"),
        (("kernels", "build", "linux", "--timeout", "soon"), "--timeout"),
        (("kernels", "build", "linux", "--name", "a b"), "cannot name a series"),
        (("kernels", "build", "linux", "--patches", "nowhere"), "cannot be read"),
        (("kernels", "build", "linux", "--config", "mine.cfg"), "mine.cfg"),
        (("kernels", "show", "built:nothing"), "no built kernel has this name"),
        (("kernels", "fetch", "linux-6.12"), "is not a kernel of Debian"),
    ],
)
def test_wrong_arguments_are_refused_with_a_message(
    schedlab: Schedlab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], expected: str
) -> None:
    tiny_tree(tmp_path / "linux")
    monkeypatch.chdir(tmp_path)
    done = schedlab(*words)
    assert done.code == 2
    assert expected in done.words


def test_any_patch_title_makes_a_valid_variant(tmp_path: Path) -> None:
    titles = ['say "hello" \\ to\x7f all', "déjà vu 🐧", "", "[[variant]]"]
    records = [Record("k", f"{i:02}", title, "s", "c", reason="two\nlines") for i, title in enumerate(titles)]
    experiment = parse(experiment_file.experiment("x", records), "made.toml")
    assert [variant.description for variant in experiment.variant] == [title.replace("\x7f", "") for title in titles]
