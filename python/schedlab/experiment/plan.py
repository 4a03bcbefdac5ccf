"""The plan: an experiment expanded into ordered trials.

The unit of evidence is the block: one pass in which every variant is put in place once. The order is a contract:

- Warm-up trials come first, ``warmup`` passes over every cell in the file's order, and are never analysed.
- Within a block the variants' order, and the rows' order (the same for all variants of the block), are permutations
  drawn from the seed: element *i* of kind *k* in block *b* is placed by SHA-256 of ``"{seed}/{b}/{k}/{i}"``. Anyone
  can recompute it, in any language, on any platform.
- The A/A control is the baseline a second time, as a variant called ``control``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from schedlab.experiment.model import Experiment, Variant
from schedlab.experiment.rows import Row, combinations
from schedlab.experiment.seeds import permutation
from schedlab.workloads.registry import adapter

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

    @property
    def tests(self) -> int:
        """The number of tests of the correction. The number of blocks that a verdict needs depends on it."""
        return tests(self.experiment, self.rows)


def tests(experiment: Experiment, rows: tuple[Row, ...]) -> int:
    """See :attr:`Plan.tests`."""
    judging, questions = experiment.analysis, sum(len(row.judged) for row in rows)
    if judging.correction == "none":
        return 1
    return questions * (max(len(experiment.variant) - 1, 1) if judging.family == "run" else 1)


def rows(experiment: Experiment, *, quick: bool = False) -> tuple[Row, ...]:
    """Return the experiment's rows, in the file's order."""
    expanded = []
    for table in experiment.workload:
        judged = tuple(table.metrics or (spec.name for spec in adapter(table.use).metrics if spec.judged))
        timeout = experiment.design.timeout if table.timeout is None else table.timeout
        expanded += [
            Row(table.label or table.use, table.use, values, judged, timeout)
            for values in combinations(table, quick=quick)
        ]
    return tuple(expanded)


def variants(experiment: Experiment) -> tuple[Variant, ...]:
    """Return the experiment's variants, with the A/A control after the baseline when the design has one."""
    baseline, *others = experiment.variant
    if not experiment.design.control:
        return (baseline, *others)
    control = baseline.model_copy(update={"name": CONTROL, "description": "the baseline measured a second time"})
    return (baseline, control, *others)


def plan(experiment: Experiment, seed: int, *, quick: bool = False) -> Plan:
    """Expand an experiment into its trials. The same experiment and seed always give the same plan."""
    all_rows, all_variants = rows(experiment, quick=quick), variants(experiment)
    cells = _cells(experiment, seed, all_variants, all_rows)
    trials = tuple(Trial(index, *cell) for index, cell in enumerate(cells))
    return Plan(experiment, seed, all_variants, all_rows, trials)


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
