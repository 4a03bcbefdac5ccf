"""Runs begin and go on in one place: seed, purpose and machine of a run that is resumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

import schedlab
from schedlab.errors import StoreError
from schedlab.execution import runs
from schedlab.execution.runs import Request, begin, resumed, text_source
from schedlab.execution.watch import Watch, measuring
from schedlab.experiment.changes import Changes
from schedlab.experiment.plan import Trial, plan
from schedlab.experiment.seeds import run_seed
from schedlab.store import reader
from schedlab.store.design import Purpose
from schedlab.store.file import open_store
from schedlab.store.location import Location
from schedlab.targets.scripted import Scripted
from tests.conftest import TWO_VARIANTS


class Machine(Scripted):
    """A target that notices when its processor changes."""

    def __init__(self, name: str = "one", cpu: str = "old") -> None:
        super().__init__(lambda trial: 1.0)
        self.name, self.cpu = name, cpu

    def fingerprint(self) -> Mapping[str, Any]:
        """Return the processor."""
        return {"cpu": self.cpu}

    def changes(self, fingerprint: Mapping[str, Any]) -> Sequence[str]:
        """Return the difference."""
        return [] if fingerprint == self.fingerprint() else [f"cpu ({fingerprint['cpu']} → {self.cpu})"]


@pytest.fixture
def request_(tmp_path: Path) -> Request:
    return Request(text_source("f.toml", TWO_VARIANTS, Changes()), Location(tmp_path / "s.sqlite"))


@pytest.fixture
def engine(request_: Request) -> Engine:
    return open_store(request_.store, create=True)


def began(engine: Engine, request: Request, seed: int, place: Machine | None = None) -> int:
    return begin(engine, request, plan(request.source.experiment, seed), place or Machine())


def test_no_other_module_makes_a_run() -> None:
    folder = Path(schedlab.__file__).parent
    files = {path: path.read_text(encoding="utf-8").count("NewRun(") for path in folder.rglob("*.py")}
    assert {path.name: count for path, count in files.items() if count} == {"runs.py": 1}


@pytest.mark.parametrize(("given", "of_file", "seed"), [(3, 4, 3), (0, 4, 0), (None, 4, 4)])
def test_the_seed_is_the_user_s_then_the_file_s(given: int | None, of_file: int | None, seed: int) -> None:
    assert run_seed(given, of_file) == seed
    assert 0 <= run_seed(None, None) < 1 << 32


def test_the_newest_run_with_the_named_seed_goes_on(engine: Engine, request_: Request) -> None:
    first, second = (began(engine, request_, seed) for seed in (1, 2))
    place = Machine()
    assert resumed(engine, request_, lambda run: place).id == second
    assert resumed(engine, replace(request_, seed=1), lambda run: place).id == first
    with pytest.raises(StoreError, match="run 2 has seed 2 and is of full size"):
        resumed(engine, replace(request_, seed=3), lambda run: place)
    with pytest.raises(StoreError, match="run 2 has seed 2 and is of full size"):
        resumed(engine, replace(request_, quick=True), lambda run: place)


@pytest.mark.parametrize(
    ("purpose", "noun"),
    [(Purpose(), "run"), (Purpose(bisection=True), "bisection"), (Purpose(tuning="tpe"), "search"),
     (Purpose(sweep=True), "sweep"), (Purpose(candidate="{}"), "campaign")],
)  # fmt: skip
def test_a_run_of_another_purpose_does_not_go_on(
    engine: Engine, request_: Request, purpose: Purpose, noun: str
) -> None:
    other = Purpose(bisection=not purpose.bisection)
    began(engine, replace(request_, purpose=other), 1)
    wanted = replace(request_, purpose=purpose)
    with pytest.raises(StoreError, match=f"contains no unfinished {noun} of 'test'"):
        resumed(engine, wanted, lambda run: Machine())
    number = began(engine, wanted, 1)
    assert resumed(engine, wanted, lambda run: Machine()).id == number
    assert reader.run(engine, number).design.purpose == purpose


@pytest.mark.parametrize(
    ("place", "changed"),
    [(Machine("two"), r"target \(one → two\)"), (Machine(cpu="new"), r"cpu \(old → new\)")],
)
def test_a_run_goes_on_only_on_its_machine(engine: Engine, request_: Request, place: Machine, changed: str) -> None:
    began(engine, request_, 1)
    with pytest.raises(StoreError, match=f"run 1 was begun on another machine or configuration: {changed}"):
        resumed(engine, request_, lambda run: place)


def test_a_python_program_is_warned_of_a_value_that_was_not_put_back() -> None:
    target = Machine()
    target.leftovers = ["kernel.x is 2"]
    with pytest.warns(UserWarning, match="not put back: kernel.x is 2"), measuring(Watch(), target):
        pass


def test_a_program_s_run_is_interrupted_and_goes_on(request_: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Machine()

    def script(trial: Trial) -> float:
        if trial.index == 5 and len(place.log) < 20:
            raise KeyboardInterrupt
        return 1.0

    place._script = script
    monkeypatch.setattr(runs, "choose", lambda *_: place)
    with pytest.raises(KeyboardInterrupt):
        runs.run(request_, Watch())
    engine, number = runs.run(replace(request_, resume=True), Watch())
    assert (number, reader.run(engine, number).state) == (1, "complete")
