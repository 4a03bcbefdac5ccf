"""The work of a worker: cells of a sweep and blocks of a search, on their targets.

A worker gets texts, numbers and trials, and returns measurements. It may be on another machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from schedlab.errors import CannotRunHere
from schedlab.execution.loop import pause_of, require_runnable, run_trial
from schedlab.execution.workers import Lane
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Plan, Trial
from schedlab.experiment.sweep import Sweep, sweep
from schedlab.results.measurement import Measurement
from schedlab.targets.protocol import Target
from schedlab.targets.selection import choose, machines, name_of
from schedlab.targets.several import several
from schedlab.targets.sim.cells import simulate_cell
from schedlab.tunables import restore_on_signals

Block = tuple[Lane, Sequence[Trial]]
"""Trials that follow each other on a target. The lane is a machine, or None for the target of the file."""


def measured(text: str, seed: int, run_id: int, indices: Sequence[int]) -> list[Measurement]:
    """Return the measurements of cells by their index in the plan; a cell's error is a failed measurement.

    Args:
        text: text of the experiment file.
        seed: the run's random seed.
        run_id: the run.
        indices: indices of the cells, all of one target.
    """
    whole = _sweep(text, seed)
    trials = [whole.plan.trials[index] for index in indices]
    if whole.simulated:
        groups = whole.plan.experiment.group
        return [simulate_cell(whole.point_of(trial), trial, seed, groups) for trial in trials]
    return on_target(whole.plan, run_id, (spec_of(whole, trials[0]), trials))


@lru_cache(maxsize=2)
def _sweep(text: str, seed: int) -> Sweep:
    return sweep(parse(text, "the sweep"), seed)


def spec_of(whole: Sweep, trial: Trial) -> str | None:
    """Return the target of a cell as ``--target`` names it; None for the file's target.

    The blocks of a fleet go to its machines in turn, so that all points of a block are measured on one machine.
    """
    fleet = machines(None, whole.plan.experiment)
    return fleet[(trial.block - 1) % len(fleet)] if fleet else whole.point_of(trial).target


def lane_of(whole: Sweep, trial: Trial) -> Lane:
    """Return the machine that a cell needs for itself; None for a simulation or a guest, which needs a CPU."""
    name, is_virtual = name_of(spec_of(whole, trial), whole.plan.experiment)
    return None if is_virtual else name


def target_of(whole: Sweep) -> Target:
    """Return the target, or all targets, of a sweep that is not simulated."""
    experiment = whole.plan.experiment.model_copy(update={"variant": [point.variant for point in whole.points]})
    specs = dict.fromkeys(spec_of(whole, trial) for trial in whole.plan.trials)
    return several([choose(spec, experiment) for spec in specs])


def on_target(plan: Plan, run_id: int, block: Block) -> list[Measurement]:
    """Measure trials in a session of their own, and return the measurements.

    The warm-up of ``[design]`` runs before the first trial, on targets that a warm-up affects, and is not stored.
    CannotRunHere if the target could not be left as it was.
    """
    spec, trials = block
    variants = tuple({trial.variant.name: trial.variant for trial in trials}.values())
    rows = tuple({trial.row.key: trial.row for trial in trials}.values())
    experiment = plan.experiment.model_copy(update={"variant": list(variants), "sweep": None, "tune": None})
    own = replace(plan, experiment=experiment, variants=variants, rows=rows, trials=())
    target = choose(spec, experiment)
    if target.virtual:  # this node may lack the kernel or QEMU; the command has examined machines
        require_runnable(own, target)
    warm_up = [trials[0]] * (experiment.design.warmup if target.warms else 0)
    with restore_on_signals(), target.session(own, run_id) as session:
        measured = [run_trial(session, trial, pause_of(own, target)) for trial in (*warm_up, *trials)]
    if target.leftovers:
        raise CannotRunHere(f"not put back: {'; '.join(target.leftovers)}", where=target.name)
    return measured[len(warm_up) :]
