"""Cells of a sweep and blocks of a search on several machines: which machine, in which order, and what is stored."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schedlab.errors import CannotRunHere
from schedlab.execution import cells
from schedlab.execution.optimisation import execute_blocks
from schedlab.execution.sweep import Chunks, _chunks
from schedlab.execution.workers import Ended, Next, Place, Work
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Plan, Trial, plan
from schedlab.experiment.sweep import Sweep, sweep
from schedlab.store import reader, writer
from schedlab.store.file import open_store
from schedlab.targets.scripted import Scripted
from schedlab.targets.several import Several, joined

TEXT = """
[experiment]
name = "fleet"
[[machine]]
host = "anna"
[[machine]]
host = "berta"
[design]
blocks = 4
warmup = 2
[sweep.factors]
"variant.nice" = [0, 1, 2, 3, 4, 5]
[[variant]]
name = "base"
[[workload]]
use = "hackbench"
"""


@pytest.fixture
def whole() -> Sweep:
    return sweep(parse(TEXT, "e"), 3)


def scripted(script: Callable[[Trial], float] = lambda trial: 1.0, name: str = "ssh:anna") -> Scripted:
    target = Scripted(script)
    target.name = name
    return target


def test_all_points_of_a_block_are_measured_on_one_machine_of_a_fleet(whole: Sweep) -> None:
    lanes = {trial.block: cells.lane_of(whole, trial) for trial in whole.plan.trials}
    assert lanes == {1: "ssh:anna", 2: "ssh:berta", 3: "ssh:anna", 4: "ssh:berta"}


def test_a_factor_puts_each_block_on_every_target() -> None:
    text = TEXT.replace('[[machine]]\nhost = "anna"\n[[machine]]\nhost = "berta"\n', "")
    factors = '[sweep.factors]\ntarget = ["ssh:anna", "ssh:berta"]\n'
    on_both = sweep(parse(text.replace("[sweep.factors]\n", factors), "e"), 3)
    lanes = [cells.lane_of(on_both, trial) for trial in on_both.plan.trials if trial.block == 2]
    assert lanes == 6 * ["ssh:anna"] + 6 * ["ssh:berta"]


def test_the_cells_of_a_block_on_a_machine_are_in_random_order(whole: Sweep) -> None:
    chunks = _chunks(whole, list(whole.plan.trials))
    order = list(chunks.cells["ssh:anna"])
    assert sorted(order) == [*range(6), *range(12, 18)]
    assert sorted(order[:6]) == list(range(6)) != order[:6]
    assert list(_chunks(whole, list(whole.plan.trials)).cells["ssh:anna"]) == order
    assert _chunks(whole, list(whole.plan.trials[:3])).cells.keys() == {"ssh:anna"}


def test_blocks_of_native_workloads_reach_other_processes() -> None:
    """The parameters of a native workload have a class that no other process can import."""
    text = TEXT.replace('"hackbench"', '"pipetest"').replace('"variant.nice" = [0', '"sched.migration_cost_ns" = [0')
    on_fleet = sweep(parse(text, "e"), 3)
    assert on_fleet.plan.rows[0].validated
    plan_there, trial = pickle.loads(pickle.dumps((on_fleet.plan, on_fleet.plan.trials[0])))
    assert (plan_there, trial) == (on_fleet.plan, on_fleet.plan.trials[0])


def test_a_lane_gets_only_its_own_cells_and_its_own_repetitions() -> None:
    chunks = Chunks()
    chunks.cells["a"].append(1)
    chunks.cells["b"].append(2)
    assert (chunks.next("a"), chunks.next("a")) == ([1], None)
    chunks.repeated["a"].append([1])
    assert (chunks.next("b"), chunks.next("b"), chunks.next("a")) == ([2], None, [1])


def test_a_session_begins_with_the_warm_up_which_is_not_returned(whole: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    target = scripted(lambda trial: float(trial.index + 1))
    monkeypatch.setattr(cells, "choose", lambda spec, experiment: target)
    trials = whole.plan.trials[3:5]
    measured = cells.on_target(whole.plan, 1, ("ssh:anna", trials))
    assert [metric.value for each in measured for metric in each.metrics] == [4.0, 5.0]
    assert [each for each in target.log if isinstance(each, Trial)] == [trials[0], trials[0], *trials]
    assert target.closed


def test_a_machine_that_could_not_be_left_as_it_was_ends_the_sweep(
    whole: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = scripted()
    target.leftovers = ["sched.base_slice_ns is 7"]
    monkeypatch.setattr(cells, "choose", lambda spec, experiment: target)
    with pytest.raises(CannotRunHere, match=r"not put back: sched\.base_slice_ns is 7"):
        cells.on_target(whole.plan, 1, ("ssh:anna", whole.plan.trials[:1]))


def test_several_targets_are_examined_and_named_together(whole: Sweep) -> None:
    fleet = Several([scripted(), scripted(name="ssh:berta")])
    assert (fleet.name, fleet.kind, fleet.warms) == ("ssh:anna,berta", "scripted", True)
    assert fleet.fingerprint()["targets"].keys() == {"ssh:anna", "ssh:berta"}
    assert fleet.missing_requirements(whole.plan) == []
    assert joined(["sim:a", "vm:b"]) == "sim:a,vm:b"
    other = scripted()
    other.kind = "real"
    with pytest.raises(CannotRunHere, match="different kinds: scripted, real"):
        Several([scripted(), other])


VARIANTS = TEXT.replace('[sweep.factors]\n"variant.nice" = [0, 1, 2, 3, 4, 5]\n', "") + (
    '[[variant]]\nname = "nice"\nnice = 5\n'
)


@pytest.mark.slow
def test_blocks_of_a_confirmation_are_whole_and_a_lost_block_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = VARIANTS.replace("warmup = 2", "warmup = 0")
    run_plan: Plan = plan(parse(text, "e"), 3)
    engine = open_store(tmp_path / "s.sqlite", create=True)
    new = writer.NewRun(run_plan, "ssh:anna,berta", "scripted", False, text, "e", {}, "")
    run_id = writer.begin(engine, new)
    monkeypatch.setattr(cells, "choose", lambda spec, experiment: scripted())
    lost: list[Any] = []

    def ended(place: Place, work: Work, next_chunk: Next) -> Ended:
        while (chunk := next_chunk("ssh:berta")) is not None:
            if len(lost) < 1:
                lost.append(chunk)
                yield chunk, None
            else:
                yield chunk, work(chunk)

    monkeypatch.setattr(Place, "ended", ended)
    execute_blocks(run_plan, engine, run_id, lambda trial, measured: None, Place(None, None, ("ssh:berta",)))
    run = reader.run(engine, run_id)
    assert (run.state, run.recorded) == ("complete", 4 * 3)
    assert {trial.block for trial in lost[0][1]} == {1}
