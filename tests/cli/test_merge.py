"""``schedlab store merge``, and stores as arguments of ``import`` and ``compare``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.in_process import Schedlab, runner
from tests.cli.test_gate import changed, store_of, wave

pytestmark = pytest.mark.slow


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Schedlab:
    return runner(monkeypatch, capsys)


@pytest.fixture
def stores(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first = store_of(tmp_path / "a", wave).rename(tmp_path / "a.sqlite")
    return first, store_of(tmp_path / "b", changed(1.5)).rename(tmp_path / "b.sqlite")


@pytest.mark.parametrize("command", [["store", "merge"], ["import"]], ids=" ".join)
def test_runs_get_new_numbers_which_are_reported(
    schedlab: Schedlab, tmp_path: Path, stores: tuple[Path, Path], command: list[str]
) -> None:
    both = tmp_path / "both.sqlite"
    done = schedlab(*command, *stores, "--to", both, "--format", "json")
    assert [(run["run"], run["number"], run["new"]) for run in json.loads(done.out)["runs"]] == [
        (1, 1, True),
        (1, 2, True),
    ]
    assert "already existed" in schedlab(*command, stores[1], "--to", both).out
    before = json.loads(schedlab("report", "1", "--store", stores[1], "--format", "json").out)
    after = json.loads(schedlab("report", "2", "--store", both, "--format", "json").out)
    assert (after["rows"], after["warnings"]) == (before["rows"], before["warnings"])


def test_a_dry_run_copies_no_store(schedlab: Schedlab, tmp_path: Path, stores: tuple[Path, Path]) -> None:
    done = schedlab("import", stores[0], "--dry-run", "--to", tmp_path / "new.sqlite")
    assert (done.code, "is an SQLite file" in done.words) == (2, True)
    assert not (tmp_path / "new.sqlite").exists()


def test_a_store_cannot_be_merged_into_itself(schedlab: Schedlab, stores: tuple[Path, Path]) -> None:
    done = schedlab("store", "merge", stores[0], "--to", stores[0])
    assert done.code == 2
    assert "is the store to add to" in done.err


def test_the_newest_runs_of_two_stores_are_compared(schedlab: Schedlab, stores: tuple[Path, Path]) -> None:
    rows = json.loads(schedlab("compare", *stores, "--format", "json").out)["rows"]
    assert {row["variant"] for row in rows} == {"a:changed", "b:base", "b:changed"}
    assert {row["verdict"] for row in rows if row["variant"] == "b:changed"} == {"worse"}
    assert schedlab("compare", *stores, "--fail-on", "worse").code == 1


def test_latest_is_the_newest_run(schedlab: Schedlab, stores: tuple[Path, Path], tmp_path: Path) -> None:
    both = tmp_path / "both.sqlite"
    assert "there is no store" in schedlab("report", "latest", "--store", both).err
    schedlab("store", "merge", *stores, "--to", both)
    for words in (["report"], ["store", "show"]):
        latest, second = (schedlab(*words, word, "--format", "json", "--store", both).out for word in ("latest", "2"))
        assert latest == second
    rows = json.loads(schedlab("compare", "1", "latest:base", "--format", "json", "--store", both).out)["rows"]
    assert {row["variant"] for row in rows} == {"2:base"}
