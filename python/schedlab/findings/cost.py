"""Instructions of kernel paths, from a stored run of ``schedlab cost``: by path and column, under each random seed.

A column is a kernel, or a variant of a kernel. A variant is compared with its kernel without changes, a kernel with the
first kernel, and the A/A control with the column that it repeats. The verdicts are the verdicts of the run's report;
columns that the report does not compare are judged in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, log
from statistics import stdev
from types import MappingProxyType

import polars as pl

from schedlab.analysis import exact
from schedlab.analysis.confirmation import confirmed
from schedlab.analysis.judging import judge
from schedlab.analysis.resolution import blocks_for_a_verdict, blocks_needed
from schedlab.analysis.verdicts import Options, Question, Verdict
from schedlab.experiment.plan import CONTROL
from schedlab.findings.run import Findings
from schedlab.results.words import Word
from schedlab.store import reader

METRIC = "latency-p50"

IDLE = ("sleep",)
"""Paths in which all CPUs are idle. The guest's clock skips idle time, so that only the plug-in counts instructions."""

MANY_MESSAGES = ("unix-queue",)
"""Paths of 1000 messages for each operation, which are measured only if they are named."""

BETWEEN_CPUS = ("remote-round", "remote-unix", "remote-tcp", "remote-udp", "fork-round")
"""Paths that need CPUs 0 and 1."""


def label(parameters: str) -> str:
    """Return a path's name in tables, ``tcp`` or ``tcp:4096`` with the bytes of its messages, from its parameters."""
    given = json.loads(parameters)
    return f"{given['path']}:{given['size']}" if "size" in given else str(given["path"])


Sums = Mapping[tuple[str, str], Mapping[int, float]]
"""Instructions that the plug-in has counted, by path and column, then by random seed (block)."""


FULL = 0.1
"""Change whose colour in a heat map is the strongest; larger changes look the same."""


@dataclass(frozen=True)
class Seed:
    """Instructions under one random seed (block)."""

    block: int
    instructions: float


@dataclass(frozen=True)
class Cell:
    """Instructions of one path in one column, by random seed (block), beside the compared column.

    Attributes:
        path: the path.
        column: the column.
        values: instructions by seed. Seeds without a figure in this column are left out.
        compared: the same of the compared column; empty without a compared column.
        verdict: the verdict against the compared column; None without a compared column, and for the A/A control.
        seeds_needed: random seeds that decide an inconclusive difference of the measured size (at least delta) with
            80 % power; None for decided differences, and above 100,000 seeds.
    """

    path: str
    column: str
    values: Mapping[int, float]
    compared: Mapping[int, float]
    verdict: Verdict | None = None
    seeds_needed: int | None = None

    @property
    def mean(self) -> float | None:
        """Arithmetic mean over the seeds; None without a figure."""
        return sum(self.values.values()) / len(self.values) if self.values else None

    @property
    def by_seed(self) -> list[Seed]:
        """The figure under each seed, in the order of the seeds."""
        return [Seed(*each) for each in sorted(self.values.items())]

    @property
    def differences(self) -> list[float]:
        """Difference to the compared column under each common seed, in tenths of an instruction."""
        return exact.differences(self.values, self.compared)

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest difference; ValueError without differences."""
        return min(self.differences), max(self.differences)

    @property
    def share(self) -> float | None:
        """Mean difference as a share of the compared column; None without common seeds."""
        common = [self.compared[seed] for seed in self.values if seed in self.compared]
        return sum(self.differences) / sum(common) if common and sum(common) else None

    @property
    def exact(self) -> bool:
        """Whether at least two seeds give the same difference."""
        return exact.is_exact(self.differences)

    @property
    def is_constant(self) -> bool:
        """Whether all seeds have the same figure."""
        return len(set(self.values.values())) == 1

    @property
    def word(self) -> Word | None:
        """The word of the verdict; None without a verdict."""
        return None if self.verdict is None else self.verdict.word

    @property
    def depth(self) -> float | None:
        """Strength of the colour in a heat map, 0 to 1; None without a difference."""
        return None if self.share is None else min(abs(self.share) / FULL, 1.0)


@dataclass(frozen=True)
class Cost:
    """The table of a run.

    Attributes:
        run: the stored run.
        paths: the measured paths, in the order of the command.
        columns: the kernels and their variants, without the A/A control.
        against: the column that each other column is compared with.
        cells: a cell for each path and column, by path, then by column.
        control: a cell of the A/A control for each path.
        titles: subjects of the last patches of built kernels, by column.
        delta: changes up to which two columns are equivalent, a share.
        settings: what each column sets, in words.
    """

    run: reader.Run
    paths: tuple[str, ...]
    columns: tuple[str, ...]
    against: Mapping[str, str]
    cells: Mapping[tuple[str, str], Cell]
    control: tuple[Cell, ...]
    titles: Mapping[str, str] = field(default_factory=dict)
    delta: float = 0.001
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def loops(self) -> int:
        """Number of operations in a trial. The figure of a trial is the median of its operations."""
        (question, *_) = self.run.design.questions
        return int(json.loads(question.parameters).get("loops", 0))

    def by_word(self, column: str) -> dict[Word, list[Cell]]:
        """Return the cells of a compared column by their verdict, in each list the smallest change first."""
        cells = sorted((self.cells[path, column] for path in self.paths), key=lambda cell: cell.share or 0.0)
        by_word = {word: [cell for cell in cells if cell.word is word] for word in Word}
        return {word: of_word for word, of_word in by_word.items() if of_word}

    @property
    def undecided(self) -> list[Cell]:
        """The inconclusive cells; first the cells that the fewest further seeds decide."""
        cells = [cell for cell in self.cells.values() if cell.word is Word.INCONCLUSIVE]
        return sorted(cells, key=lambda cell: cell.seeds_needed or inf)


def cost(
    judged: Findings,
    against: Mapping[str, str],
    titles: Mapping[str, str] = MappingProxyType({}),
    counted: Sums = MappingProxyType({}),
) -> Cost:
    """Return the table of a finished run.

    ``against`` names the compared column of each column but the first, ``titles`` the subjects of patches by column.
    Paths of :data:`IDLE` have the figures of ``counted`` only.
    """
    figures: dict[tuple[str, str], dict[int, float]] = {}
    for row in judged.values.filter(pl.col("metric") == METRIC).iter_rows(named=True):
        path = label(row["parameters"])
        if path not in IDLE:
            figures.setdefault((path, row["variant"]), {})[row["block"]] = row["value"]
    figures |= {cell: dict(seeds) for cell, seeds in counted.items() if cell[0] in IDLE}
    questions = {label(each.parameters): each for each in judged.run.design.questions if each.metric == METRIC}
    columns = tuple(column.variant for column in judged.columns if column.variant != CONTROL)
    verdicts = _verdicts(judged, against, questions, figures)

    def cell(path: str, column: str, compared: str | None) -> Cell:
        other = {} if compared is None else figures.get((path, compared), {})
        made = Cell(path, column, figures.get((path, column), {}), other, verdicts.get((path, column)))
        return replace(made, seeds_needed=_seeds_needed(made, judged.options, len(questions)))

    cells = {(path, column): cell(path, column, against.get(column)) for path in questions for column in columns}
    control = tuple(cell(path, CONTROL, columns[0]) for path in questions if judged.run.design.control)
    return Cost(
        judged.run,
        tuple(questions),
        columns,
        against,
        cells,
        control,
        titles,
        judged.options.delta,
        judged.settings,
    )


def _verdicts(
    judged: Findings,
    against: Mapping[str, str],
    questions: Mapping[str, Question],
    figures: Mapping[tuple[str, str], Mapping[int, float]],
) -> dict[tuple[str, str], Verdict]:
    """Return the verdict of each path and compared column: the report's, where the report compares the same figures."""
    samples = pl.DataFrame(
        [(questions[path].workload, questions[path].parameters, METRIC, column, block, value)
         for (path, column), seeds in figures.items() for block, value in seeds.items()],
        schema=["workload", "parameters", "metric", "variant", "block", "value"], orient="row",
    )  # fmt: skip
    reported = {(each.question, each.variant): each for each in judged.verdicts}
    verdicts: dict[tuple[str, str], Verdict] = {}
    for column, base in against.items():
        is_reported = base == judged.columns[0].variant
        left = [question for path, question in questions.items() if not is_reported or path in IDLE]
        options = replace(judged.options, reference="")
        made = exact.with_exact(judge(samples, left, (base, column), None, options), samples, base, options.delta)
        made = confirmed(made, judged.doubt)
        verdicts |= {(path, column): reported[each, column]
                     for path, each in questions.items() if (each, column) in reported}  # fmt: skip
        verdicts |= {(label(each.question.parameters), column): each for each in made}
    return verdicts


def _seeds_needed(cell: Cell, options: Options, rows: int) -> int | None:
    """Return the seeds that decide an inconclusive cell, see :class:`Cell`; ``rows`` are judged together."""
    if cell.verdict is None or cell.verdict.word is not Word.INCONCLUSIVE:
        return None
    rule = options.rule(rows)
    logs = [log(cell.values[seed] / cell.compared[seed]) for seed in cell.values if cell.compared.get(seed)]
    if len(logs) < 2:
        return blocks_for_a_verdict(rule)
    effect = max(abs(cell.share or 0.0), options.delta)
    return blocks_needed(stdev(logs), effect, rule, freedom=len(logs) - 1)


def disagreeing(control: Sequence[Cell]) -> list[Cell]:
    """Return the cells of the A/A control that differ from their column under any seed, or lack a figure."""
    return [cell for cell in control if not cell.differences or any(cell.differences)]
