"""The points and cells of a sweep. A cell is a point in one block, and the smallest piece of work.

A point is a combination of the factors' values. Every point is measured once in each block of ``[design]``. On
simulated machines and in deterministic guests a block is a seed, which all points share (common random numbers). Points
and cells depend only on the file and the run's random seed, so that a resumed sweep has the same cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from schedlab.errors import ExperimentError
from schedlab.experiment.model import Experiment, Variant
from schedlab.experiment.plan import Plan, Row, Trial, rows
from schedlab.experiment.sweep_table import (
    KERNEL,
    KERNEL_MODEL,
    MACHINE,
    MACHINE_MODEL,
    TARGET,
    VARIANT,
    WORKLOAD,
    Factor,
    SweepTable,
    Value,
)
from schedlab.notation.units import counted
from schedlab.tunables import model_setting

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SIMULATOR = "sim:"
"""Beginning of the names of simulated targets."""

TARGETS = ("host", "ssh", "vm", "sim")
"""Beginnings of the names of all targets."""

MOST_CELLS = 1_000_000
"""Most cells of a sweep: a plan is a list in memory."""


@dataclass(frozen=True)
class Point:
    """A combination of the factors' values.

    Attributes:
        values: value of each factor, by name.
        variant: the file's variant with the point's tunables, named after the point: ``p01``.
        row: the file's workload with the point's parameters.
        target: the target's name; None for the targets of the file.
        machine, kernel: names of the models; of the kernel also where the target is a virtual machine.
        machine_keys, kernel_keys: values of keys of the models, by dotted key.
    """

    values: Mapping[str, Value]
    variant: Variant
    row: Row
    target: str | None
    machine: str | None
    kernel: str | None
    machine_keys: Mapping[str, Value]
    kernel_keys: Mapping[str, Value]


@dataclass(frozen=True)
class Sweep:
    """The points of a sweep; ``plan`` has a trial for each cell, block by block."""

    factors: tuple[Factor, ...]
    points: tuple[Point, ...]
    plan: Plan

    def point_of(self, trial: Trial) -> Point:
        """Return the point of a cell."""
        return self.points[trial.index % len(self.points)]

    @property
    def simulated(self) -> bool:
        """Whether the points are simulated."""
        return _is_simulated(self.plan.experiment, {factor.name: factor for factor in self.factors})


def sweep(experiment: Experiment, seed: int) -> Sweep:
    """Return the sweep of a file; ExperimentError when the file has no sweep, or describes no cells."""
    table = require_sweep(experiment)
    name = experiment.experiment.name
    if experiment.design.iterations != 1:
        todo = "remove iterations; each point is measured once in each of the [design] blocks"
        raise ExperimentError("a sweep has no iterations", where=name, todo=todo)
    size = prod(len(factor.levels) for factor in table.factors.values()) if table.samples is None else table.samples
    if size * experiment.design.blocks > MOST_CELLS:
        message = f"the sweep has {size * experiment.design.blocks:,} cells; at most {MOST_CELLS:,} are possible"
        raise ExperimentError(message, where=name, todo="use fewer values, samples or blocks")
    combined = _combinations(table, seed)
    width = len(str(len(combined)))
    base = base_row(experiment, table)
    points = tuple(
        point(experiment, base, table.factors, values, f"p{number:0{width}}")
        for number, values in enumerate(combined, start=1)
    )
    distinct = {each.row.key: each.row for each in points}
    trials = (
        Trial(block * len(points) + index, "measure", block + 1, each.variant, each.row, 0)
        for block in range(experiment.design.blocks)
        for index, each in enumerate(points)
    )
    plan = Plan(experiment, seed, tuple(each.variant for each in points), tuple(distinct.values()), tuple(trials))
    return Sweep(tuple(table.factors.values()), points, plan)


def require_sweep(experiment: Experiment) -> SweepTable:
    """Return the table of factors; ExperimentError when the file has no table or another design as well."""
    name = experiment.experiment.name
    if experiment.sweep is None:
        todo = "add [sweep.factors]; docs/sweeps.md has the keys"
        raise ExperimentError("the file has no [sweep]", where=name, todo=todo)
    bare = [each for each in experiment.sweep.factors.values() if not each.levels]
    if bare and experiment.sweep.design == "grid":
        todo = 'write { from = 1, to = 64, count = 7 }, or choose design = "latin-hypercube"'
        raise ExperimentError(f"{bare[0].name}: a range of a grid needs step or count", where=name, todo=todo)
    if len(experiment.variant) != 1:
        todo = "keep one [[variant]]: factors replace the others"
        raise ExperimentError("a sweep has one variant", where=name, todo=todo)
    if fault := _fault_of_targets(experiment, experiment.sweep.factors):
        raise ExperimentError(fault[0], where=name, todo=fault[1])
    return experiment.sweep


def _is_simulated(experiment: Experiment, factors: Mapping[str, Factor]) -> bool:
    if TARGET in factors:
        return all(str(level).startswith(SIMULATOR) for level in factors[TARGET].levels)
    return experiment.target.kind == "sim" or MACHINE in factors


def _fault_of_targets(experiment: Experiment, factors: Mapping[str, Factor]) -> tuple[str, str] | None:
    """Return why the points cannot be compared on their targets, and what to do; None if the points can."""
    named = [str(level) for level in factors[TARGET].levels] if TARGET in factors else []
    kinds = {level.partition(":")[0] for level in named} or {experiment.target.kind}
    if named and (MACHINE in factors or experiment.machine):
        other = "the factor machine" if MACHINE in factors else "[[machine]]"
        return f"the factor target and {other} both name machines", f"remove {other}"
    if unknown := [level for level in named if level.partition(":")[0] not in TARGETS]:
        return f"{TARGET}: {unknown[0]!r} is not a target", "name host, ssh:HOST, vm:KERNEL@TOPOLOGY or sim:MACHINE"
    if len(kinds) > 1:
        todo = "make a sweep for each kind; 'schedlab sim twin' compares a machine with its model"
        return f"a sweep has targets of one kind, not {' and '.join(sorted(kinds))}", todo
    return None if _is_simulated(experiment, factors) else _fault_of_real(kinds.pop(), experiment, factors)


def _fault_of_real(kind: str, experiment: Experiment, factors: Mapping[str, Factor]) -> tuple[str, str] | None:
    """Return what a sweep on real kernels of this kind of target cannot do, and a remedy."""
    keys = [name for name in factors if name.startswith((MACHINE_MODEL, KERNEL_MODEL))]
    if keys:
        todo = 'write [target] with kind = "sim" and a machine, or give the factor machine'
        return f"{keys[0]} is a factor of simulated machines", todo
    if kind != "vm" and KERNEL in factors:
        return "kernel is a factor of models and guests", "'schedlab run' boots the kernels of a machine"
    if kind == "vm" and not experiment.target.deterministic:
        todo = "write [target] with kind = \"vm\", a kernel and deterministic = true; other guests: 'schedlab run'"
        return "a sweep needs deterministic guests: others at the same time would disturb each other", todo
    return None


def base_row(experiment: Experiment, table: SweepTable) -> Row:
    """Return the file's row; ExperimentError when the file has several rows, or a factor has a value twice."""
    of_file = rows(experiment)
    if len(of_file) != 1:
        name = experiment.experiment.name
        todo = 'keep one [[workload]], and move lists of its parameters to [sweep.factors]: "workload.NAME" = [1, 2]'
        raise ExperimentError(
            f"a sweep has one row; the file has {counted(len(of_file), 'row')}", where=name, todo=todo
        )
    for factor in table.factors.values():
        _require_different_levels(experiment, of_file[0], factor)
    return of_file[0]


def _require_different_levels(experiment: Experiment, base: Row, factor: Factor) -> None:
    """Raise ExperimentError if two values of a list are the same in different notations: ``"1ms"``, ``"1000us"``."""
    known: dict[str, Value] = {}
    for level in factor.levels if factor.low is None else ():
        state = replace(point(experiment, base, {factor.name: factor}, {factor.name: level}, ""), values={})
        key = repr((state.row.validated, replace(state, row=base)))
        if (same := known.setdefault(key, level)) is not level:
            raise ExperimentError(
                f"{factor.name}: {same!r} and {level!r} are the same value",
                where=experiment.experiment.name,
                todo="keep one of them: each value makes a point",
            )


def point(
    experiment: Experiment, base: Row, factors: Mapping[str, Factor], values: Mapping[str, Value], name: str
) -> Point:
    """Return the point of these values; ExperimentError for a parameter that the workload does not have or refuses."""
    texts = {key: f"{value}{factors[key].unit}" if factors[key].unit else value for key, value in values.items()}
    parameters = {key.removeprefix(WORKLOAD): value for key, value in texts.items() if key.startswith(WORKLOAD)}
    row = replace(base, parameters={**base.parameters, **parameters})
    try:
        _ = row.validated
    except ValidationError as error:
        fault = error.errors()[0]
        place = WORKLOAD + ".".join(map(str, fault["loc"]))
        reason = "the workload has no such parameter" if fault["type"] == "extra_forbidden" else fault["msg"]
        todo = f"parameters of {row.use}: {', '.join(row.adapter.parameters.model_fields)}"
        raise ExperimentError(f"{place}: {reason}", where=experiment.experiment.name, todo=todo) from error
    settings = [model_setting(key, value) for key, value in texts.items() if factors[key].is_tunable]
    tunables = {**experiment.baseline.tunables, **{setting.name: setting for setting in settings}}
    changes = {"name": name, "description": "", "tunables": tunables, **attributes(factors, values)}
    variant = experiment.baseline.model_copy(update=changes)
    machine, kernel = values.get(MACHINE, experiment.target.machine), values.get(KERNEL, experiment.target.kernel)
    return Point(
        values,
        variant if KERNEL not in values else variant.model_copy(update={"kernel": str(kernel)}),
        row,
        str(values[TARGET]) if TARGET in values else None,
        None if machine is None else str(machine),
        None if kernel is None else str(kernel),
        _keys(values, MACHINE_MODEL),
        _keys(values, KERNEL_MODEL),
    )


def attributes(factors: Mapping[str, Factor], values: Mapping[str, Value]) -> dict[str, Any]:
    """Return the scheduling attributes of a point; ExperimentError for values that no variant can have."""
    texts = attribute_texts(factors, values)
    try:
        checked = Variant.model_validate({"name": "point", **texts})
    except ValidationError as error:
        fault = error.errors()[0]
        place = VARIANT + ".".join(map(str, fault["loc"]))
        raise ExperimentError(fault["msg"], where=place, todo="docs/experiments.md has the ranges") from error
    return {name: getattr(checked, name) for name in texts}


def attribute_texts(factors: Mapping[str, Factor], values: Mapping[str, Value]) -> dict[str, Value]:
    """Return the scheduling attributes of a point as an experiment file writes them."""
    return {
        name.removeprefix(VARIANT): f"{value}{factors[name].unit}" if factors[name].unit else value
        for name, value in values.items()
        if factors[name].is_attribute
    }


def _keys(values: Mapping[str, Value], prefix: str) -> dict[str, Value]:
    return {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}


def _combinations(table: SweepTable, seed: int) -> Sequence[dict[str, Value]]:
    """Return the values of each point; the last factor of a grid varies fastest."""
    names = list(table.factors)
    if table.design == "grid":
        levels = [factor.levels for factor in table.factors.values()]
        return [dict(zip(names, values, strict=True)) for values in product(*levels)]
    factors = list(table.factors.values())
    return [
        {factor.name: factor.at(float(share)) for factor, share in zip(factors, shares, strict=True)}
        for shares in _shares(table, seed)
    ]


def _shares(table: SweepTable, seed: int) -> NDArray[np.float64]:
    """Return points in the unit cube: a Latin hypercube (McKay, Beckman & Conover 1979) or a scrambled Sobol sequence
    (Sobol 1967; Owen 1998)."""
    from scipy.stats import qmc  # slow to load, and a grid needs no samples

    sampler = qmc.LatinHypercube if table.design == "latin-hypercube" else qmc.Sobol
    assert table.samples is not None
    return sampler(len(table.factors), rng=seed).random(table.samples)
