"""Instructions and cache lines by kernel function in guests of Debian's 6.12. The tests take four minutes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schedlab.targets.vm import functions
from tests.cli.in_process import runner
from tests.targets.vm.guest_files import require_guest

pytestmark = pytest.mark.verify

WORDS = (
    "cost",
    "debian-6.12",
    "--path",
    "none",
    "--path",
    "pipe",
    "--path",
    "page-fault",
    "--loops",
    "51",
    "--seed",
    "1",
)


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """The JSON of three runs: without the plug-in, and twice with the plug-in."""
    require_guest("debian-6.12")
    if missing := list(functions.missing_requirements()):
        pytest.skip(str(missing[0]))
    schedlab = runner(monkeypatch)
    texts = {}
    for name, words in {"plain": (), "first": ("--functions",), "second": ("--functions",)}.items():
        output = tmp_path / f"{name}.json"
        store = ("--store", tmp_path / f"{name}.sqlite")
        assert schedlab(*WORDS, *words, *store, "--format", "json", "--output", output).code == 0
        texts[name] = json.loads(output.read_text())
    return texts


def test_the_plugin_changes_no_figure_and_its_counts_repeat_and_add_up(shown: dict[str, Any]) -> None:
    assert shown["first"]["paths"] == shown["second"]["paths"]
    for plain, counted in zip(shown["plain"]["paths"], shown["first"]["paths"], strict=True):
        (before,), (after,) = plain["columns"], counted["columns"]
        assert {key: after[key] for key in before} == before
        assert after["user"] + after["kernel"] == pytest.approx(before["instructions"], abs=5)


def test_a_fault_clears_its_page_in_one_function(shown: dict[str, Any]) -> None:
    (path,) = (path for path in shown["first"]["paths"] if path["path"] == "page-fault")
    largest = max(path["columns"][0]["functions"], key=lambda each: each["instructions"])
    assert largest["name"].startswith("clear_page")
    assert largest["instructions"] >= 4096


def test_tasks_of_one_cpu_keep_their_lines_in_its_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_guest("debian-6.12")
    if missing := list(functions.missing_requirements()):
        pytest.skip(str(missing[0]))
    output = tmp_path / "cost.json"
    words = ("--path", "futex-round", "--loops", "51", "--seed", "1", "--cache", "xeon-e5-2670v3")
    store = ("--store", tmp_path / "runs.sqlite")
    assert runner(monkeypatch)("cost", "debian-6.12", *words, *store, "--format", "json", "--output", output).code == 0
    (path,) = json.loads(output.read_text())["paths"]
    (column,) = path["columns"]
    lines = column["cache"]["lines"]
    assert lines["private"] > column["instructions"] / 4
    assert lines["cache-llc"] == lines["cache-far"] == 0
    assert column["cache"]["ns"] > column["cache"]["instructions_ns"] > 0
