"""A store that is deleted or replaced while a run writes to it ends the run with an error, and its content is kept."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine

from schedlab.errors import StoreError
from schedlab.execution.loop import execute
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import Trial, plan
from schedlab.store import reader
from schedlab.store.file import open_store
from schedlab.targets.scripted import Scripted
from tests.conftest import begin


def deleted(path: Path) -> None:
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()


def replaced(path: Path) -> None:
    deleted(path)
    open_store(path, create=True).dispose()


def with_its_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


CHANGES: dict[str, Callable[[Path], object]] = {
    "deleted": deleted,
    "only the store is deleted": Path.unlink,
    "renamed": lambda path: path.rename(path.with_name("other.sqlite")),
    "replaced": replaced,
    "deleted with its folder": with_its_folder,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("position", [0, 3, -1])
def test_a_run_whose_store_is_deleted_ends_with_an_error_and_keeps_its_trials(
    tmp_path: Path, experiment: Experiment, change: str, position: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stores").mkdir()
    (tmp_path / "working").mkdir()
    monkeypatch.chdir(tmp_path / "working")
    path = tmp_path / "stores" / "store.sqlite"
    engine = open_store(path, create=True)
    trials = plan(experiment, 1)
    last = trials.trials[position].index
    run = begin(engine, trials)
    measured = []

    def value(trial: Trial) -> float:
        measured.append(trial.index)
        if trial.index == last:
            CHANGES[change](path)
        return 1.0

    with pytest.raises(StoreError, match="was deleted or replaced while this command wrote to it") as ended:
        execute(trials, Scripted(value), engine, run, lambda *_: None)
    assert measured[-1] == last
    folder = tmp_path / ("working" if change == "deleted with its folder" else "stores")
    saved = folder / "store-saved-1.sqlite"
    assert f"the results until now are in {saved}" in str(ended.value)
    assert _recorded(open_store(saved, create=False), run) == len(measured)
    assert list(folder.glob("*saved*.sqlite")) == [saved]


def test_a_deleted_store_is_not_made_again_by_a_new_connection(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    engine = open_store(path, create=True)
    deleted(path)
    with pytest.raises(Exception, match="unable to open database file"):
        engine.connect()
    assert os.listdir(tmp_path) == []


def _recorded(engine: Engine, run: int) -> int:
    return reader.run(engine, run).recorded
