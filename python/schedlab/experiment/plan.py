"""The plan: an experiment expanded into ordered trials.

The unit of evidence is the block: one pass in which every variant is put in place once. The order is a contract:

- Warm-up trials come first, ``warmup`` passes over every cell in the file's order, and are never analysed.
- Within a block the variants' order, and the rows' order (the same for all variants of the block), are permutations
  drawn from the seed: element *i* of kind *k* in block *b* is placed by SHA-256 of ``"{seed}/{b}/{k}/{i}"``. Any
  language on any platform can recompute the order.
- The A/A control measures the baseline a second time, as a variant called ``control``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import product
from typing import Any, Literal

from schedlab.errors import ExperimentError
from schedlab.experiment import groups
from schedlab.experiment.model import BesideTable, Experiment, Variant, WorkloadTable
from schedlab.experiment.seeds import permutation, run_seed
from schedlab.notation.units import counted
from schedlab.results.metrics import MetricSpec
from schedlab.workloads.base import AnyAdapter, Parameters
from schedlab.workloads.command.figures import Figure
from schedlab.workloads.registry import adapter


@dataclass(frozen=True)
class Row:
    """A workload with a value for each parameter.

    ``parameters`` are the values in the file, without the workload's defaults. ``judged`` are the metrics that get a
    verdict. A trial ends after ``timeout`` seconds. ``figures`` are the metrics that the file declares, and
    ``surroundings`` are parameters that do not name the row, such as ``setup``. The workload runs in the control group
    ``group``; ``beside`` are the workloads that run as loads. ``conditions`` describe both: figures under other
    conditions are not of the same row.
    """

    label: str
    use: str
    parameters: Mapping[str, Any]
    judged: tuple[str, ...]
    timeout: float
    figures: tuple[Figure, ...] = ()
    surroundings: Mapping[str, Any] = field(default_factory=dict)
    group: str | None = None
    beside: tuple[Row, ...] = ()
    conditions: Mapping[str, str] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is derived: the classes of native workloads' parameters are made at run time, and no other
        process can import them."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def adapter(self) -> AnyAdapter:
        """The workload's adapter, with the metrics that the file declares."""
        workload = adapter(self.use)
        return workload.with_figures(self.figures) if self.figures else workload

    @cached_property
    def validated(self) -> Parameters:
        """The workload's parameters, with their defaults."""
        return self.adapter.parameters.model_validate({**self.parameters, **self.surroundings})

    @property
    def named(self) -> dict[str, Any]:
        """Parameters and conditions, which identify the row together with ``label``."""
        return {**self.parameters, **self.conditions}

    @cached_property
    def parameters_json(self) -> str:
        """:attr:`named` as canonical JSON."""
        return json.dumps(self.named, sort_keys=True, separators=(",", ":"))

    @cached_property
    def metrics(self) -> tuple[MetricSpec, ...]:
        """The workload's metrics, and the metrics of the groups in which the workload and its loads run."""
        names = dict.fromkeys(each.group for each in (self, *self.beside) if each.group is not None)
        return (*self.adapter.metrics, *(spec for name in names for spec in groups.metrics(name)))

    def spec(self, name: str) -> MetricSpec:
        """Return the metric of this name."""
        return next(spec for spec in self.metrics if spec.name == name)

    @property
    def key(self) -> tuple[str, str]:
        """Identity of the row within a run."""
        return (self.label, self.parameters_json)

    def __str__(self) -> str:
        return " ".join([self.label, *(f"{name}={value}" for name, value in self.named.items())])


def combinations(table: WorkloadTable, *, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield each combination of the table's parameters, in the order of the lists; the last varies fastest."""
    parameters = table.parameters | (table.quick if quick else {})
    unexpanded = adapter(table.use).surroundings
    choices = [
        value if isinstance(value, list) and key not in unexpanded else [value] for key, value in parameters.items()
    ]
    for values in product(*choices):
        yield dict(zip(parameters, values, strict=True))


CONTROL = "control"
"""Name of the A/A control among the variants."""

Phase = Literal["warmup", "measure"]


@dataclass(frozen=True)
class Trial:
    """The smallest thing that runs. ``index`` counts from 0 over the run, ``block`` from 1 (0: warm-up)."""

    index: int
    phase: Phase
    block: int
    variant: Variant
    row: Row
    iteration: int


@dataclass(frozen=True)
class Plan:
    """The trials of an experiment in order, with the experiment, the seed, the variants and the rows."""

    experiment: Experiment
    seed: int
    variants: tuple[Variant, ...]
    rows: tuple[Row, ...]
    trials: tuple[Trial, ...]


def rows(experiment: Experiment, *, quick: bool = False) -> tuple[Row, ...]:
    """Return the experiment's rows, in the file's order."""
    expanded = []
    for table in experiment.workload:
        workload, timeout = adapter(table.use), experiment.design.timeout if table.timeout is None else table.timeout
        for values in combinations(table, quick=quick):
            around = {key: values.pop(key) for key in workload.surroundings & values.keys()}
            judged = table.judged(workload, values)
            row = Row(
                table.label or table.use, table.use, values, judged, timeout, table.figures, around, table.group,
                tuple(_load(load, timeout) for load in table.loads), dict(_conditions(experiment, table)),
            )  # fmt: skip
            expanded.append(row)
    return tuple(expanded)


def _conditions(experiment: Experiment, table: WorkloadTable) -> Iterator[tuple[str, str]]:
    """Yield the description of a workload's group, with the settings that variants change, and of its loads."""
    described = {group.name: str(group) for group in experiment.group}
    if table.group is not None:
        yield "group", described[table.group]
    if table.loads:
        loads = (str(_load(load, 0)) + (f" in {described[load.group]}" if load.group else "") for load in table.loads)
        yield "beside", "; ".join(loads)


def _load(table: BesideTable, timeout: float) -> Row:
    values = table.parameters
    around = {key: values.pop(key) for key in adapter(table.use).surroundings & values.keys()}
    return Row(table.use, table.use, values, (), timeout, surroundings=around, group=table.group)


def every_row(plan: Plan) -> tuple[Row, ...]:
    """Return the rows of a plan, and the loads beside them."""
    return tuple(each for row in plan.rows for each in (row, *row.beside))


def variants(experiment: Experiment) -> tuple[Variant, ...]:
    """Return the experiment's variants, with the A/A control, if any, after the baseline.

    ExperimentError for a sweep or a search, whose points replace the variants.
    """
    if experiment.sweep is not None or experiment.tune is not None:
        todo = "use 'schedlab sweep FILE' or 'schedlab tune FILE', or remove [sweep] and [tune]"
        raise ExperimentError("the file describes a sweep", where=experiment.experiment.name, todo=todo)
    baseline, *others = experiment.variant
    if not experiment.design.control:
        return (baseline, *others)
    control = baseline.model_copy(update={"name": CONTROL, "description": "the baseline measured a second time"})
    return (baseline, control, *others)


def unchanged(experiment: Experiment) -> str | None:
    """Return a warning about variants that set the same attributes as the baseline, or None."""
    baseline, *others = experiment.variant
    named = {"name", "description"}
    same = [each.name for each in others if each.model_dump(exclude=named) == baseline.model_dump(exclude=named)]
    if not same:
        return None
    return f"the settings of {', '.join(same)} equal the settings of the baseline {baseline.name!r}"


def doubts(plan: Plan) -> Iterator[str]:
    """Yield warnings about what a plan does and its author may not intend."""
    if warning := unchanged(plan.experiment):
        yield warning
    used = {name for table in plan.experiment.workload for name in table.groups}
    yield from (
        f"no workload runs in the group {group.name!r}" for group in plan.experiment.group if group.name not in used
    )
    measured = {row.group for row in plan.rows}
    yield from (
        f"variant {variant.name!r}: cpu.weight, cpu.max and cpu.idle of the group {name!r} have no effect on tasks "
        f"under policy {variant.policy!r}"
        for variant in plan.variants
        if variant.policy in ("fifo", "rr", "deadline") and variant.name != CONTROL
        for name, settings in groups.in_place(plan.experiment.group, variant.groups).items()
        if name in measured and {"cpu.weight", "cpu.max", "cpu.idle"} & settings.keys()
    )
    yield from dict.fromkeys(
        f"workload {row.label!r}: {doubt}" for row in plan.rows for doubt in row.adapter.doubts(row.validated)
    )


def plan(experiment: Experiment, seed: int, *, quick: bool = False) -> Plan:
    """Expand an experiment into its trials. The same experiment and seed always give the same plan."""
    all_rows, all_variants = rows(experiment, quick=quick), variants(experiment)
    cells = _cells(experiment, seed, all_variants, all_rows)
    trials = tuple(Trial(index, *cell) for index, cell in enumerate(cells))
    return Plan(experiment, seed, all_variants, all_rows, trials)


def of_one_row(experiment: Experiment, seed: int | None, *, metrics: int = 1) -> Plan:
    """Return a plan without trials, whose blocks the caller chooses one after another; by default with a new seed.

    ExperimentError unless the experiment has one row and this number of judged metrics.
    """
    chosen = run_seed(seed, experiment.design.seed)
    plan = Plan(experiment, chosen, variants(experiment), rows(experiment), ())
    judged = [f"{row} {metric}" for row in plan.rows for metric in row.judged]
    if len(judged) != metrics or len(plan.rows) != 1:
        needs = "one metric" if metrics == 1 else f"{metrics} metrics of one row"
        raise ExperimentError(
            f"the file judges {counted(len(judged), 'metric')}, this command needs {needs}: {', '.join(judged[:5])}",
            where=experiment.experiment.name,
            todo="choose a workload, one value for each parameter, and one metric of 'metrics'",
        )
    return plan


def _cells(
    experiment: Experiment, seed: int, variants: tuple[Variant, ...], rows: tuple[Row, ...]
) -> Iterator[tuple[Phase, int, Variant, Row, int]]:
    design = experiment.design
    for iteration in range(design.warmup):
        for variant in variants:
            for row in rows:
                yield "warmup", 0, variant, row, iteration
    for block in range(1, design.blocks + 1):
        row_order = [rows[i] for i in permutation(seed, block, "row", len(rows))]
        if design.interleave == "variants":
            order = [variants[i] for i in permutation(seed, block, "variant", len(variants))]
            cells = [(variant, row) for variant in order for row in row_order]
        else:
            cells = [
                (variants[i], row)
                for row in row_order
                for i in permutation(seed, block, f"variant/{rows.index(row)}", len(variants))
            ]
        for variant, row in cells:
            for iteration in range(design.iterations):
                yield "measure", block, variant, row, iteration
