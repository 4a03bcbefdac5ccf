"""A twin: measured and simulated runs of one experiment, compared level by level and effect by effect.

The simulated run is on a model of the machine that the measured run was on. A *level* is the mean of a metric under a
variant. An *effect* is the change between the baseline and a variant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, isnan, log, nan
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm
from sqlalchemy import Engine

from schedlab.analysis.rows import Question
from schedlab.analysis.verdicts import Verdict
from schedlab.errors import SchedlabError
from schedlab.findings.run import Findings, findings
from schedlab.results.words import DIFFERENT
from schedlab.store import reader
from schedlab.store.reader import Run

if TYPE_CHECKING:
    import polars as pl

NEAR_POINTS, NEAR_SHARE = 0.03, 0.10
"""A predicted effect is near the measured effect within three points, or within a tenth of the measured effect."""

WAKING = ("interrupts.RES", "interrupts.CAL")
"""Interrupts by which CPUs wake others. Since v5.8 a kernel sends a function call to a CPU with an empty queue
(``ttwu_queue_wakelist()``, kernel/sched/core.c), and a reschedule interrupt to other CPUs. The simulator counts both as
reschedule interrupts; a kernel's count has the function calls of other subsystems too."""

WAKES = "interrupts.RES+CAL"
"""Name of the sum of :data:`WAKING`."""

COUNTERS = (
    "context-switches", "cpu-migrations", WAKES, "tree.voluntary-switches", "tree.involuntary-switches",
)  # fmt: skip
"""Counters that both a real kernel and the simulator have, of scheduling decisions."""

LEDGER = "ledger."
"""Beginning of the names of the simulator's counters that divide the CPU time among accounts."""

SHOWN = 3
"""Largest misses that are explained, and accounts of CPU time of each."""

DEVIATES = norm.ppf((np.arange(200) + 0.5) / 200)
"""Standard normal deviates of equal probability."""


@dataclass(frozen=True)
class Level:
    """The level of a metric under a variant, measured and predicted.

    ``standard_error`` is that of the logarithm of the measured level, nan with a single block.
    """

    question: Question
    variant: str
    measured: float
    predicted: float
    standard_error: float

    @property
    def ratio(self) -> float:
        """Predicted / measured."""
        return self.predicted / self.measured

    @property
    def error(self) -> float:
        """The distance of the ratio from 1: 0.1 is 10 %."""
        return abs(self.ratio - 1)


@dataclass(frozen=True)
class Effect:
    """The verdicts on a variant, on the machine and on its model.

    ``standard_error`` is that of the logarithm of the measured ratio, nan with a single block.
    """

    measured: Verdict
    predicted: Verdict
    standard_error: float

    @property
    def question(self) -> Question:
        """The row."""
        return self.measured.question

    @property
    def variant(self) -> str:
        """The variant that is compared with the baseline."""
        return self.measured.variant

    @property
    def significant(self) -> bool:
        """Whether the measured effect is beyond its noise."""
        return self.measured.word in DIFFERENT

    @property
    def right(self) -> bool:
        """Whether the predicted effect has the sign of the measured effect."""
        return (self.measured.ratio - 1) * (self.predicted.ratio - 1) > 0

    @property
    def changes(self) -> tuple[float, float]:
        """Measured and predicted change in per cent."""
        return 100 * (self.measured.ratio - 1), 100 * (self.predicted.ratio - 1)

    @property
    def error(self) -> float:
        """Predicted minus measured change: 0.03 is three points."""
        return self.predicted.ratio - self.measured.ratio

    @property
    def near(self) -> bool:
        """Whether the error is within three points, or within a tenth of the measured effect."""
        return abs(self.error) <= max(NEAR_POINTS, NEAR_SHARE * abs(self.measured.ratio - 1))


@dataclass(frozen=True)
class CounterLevel:
    """A counter of a trial, measured and predicted: means over trials."""

    name: str
    workload: str
    parameters: str
    variant: str
    measured: float
    predicted: float


@dataclass(frozen=True)
class Miss(Level):
    """A level with a large error. ``accounts`` are shares of the simulated CPU time without idle time, the largest
    first: the error lies in the model of one of them, or in what the model lacks."""

    accounts: Mapping[str, float]


@dataclass(frozen=True)
class CounterTotal:
    """A counter over all rows and variants: means of a trial, and the geometric mean of predicted / measured; None
    where no trial has a count on both sides."""

    name: str
    measured: float
    predicted: float
    factor: float | None


@dataclass(frozen=True)
class LevelErrors:
    """Median and 90th percentile of the errors of levels, as shares: 0.1 is 10 %. ``median_noise``: the median of a
    perfect model, see :func:`median_noise`."""

    levels: int
    median: float
    p90: float
    median_noise: float | None


@dataclass(frozen=True)
class EffectScores:
    """Scores of the predicted effects.

    Attributes:
        effects: number of effects; ``significant`` of them are beyond the noise of the measurement, ``right`` of these
            have the predicted sign; ``near`` of all are near, see :class:`Effect`.
        error_median: median distance of predicted and measured change: 0.03 is three points; None without an effect.
        median_noise: the median distance of a perfect model, see :func:`median_noise`.
        skill: see :func:`skill`.
    """

    effects: int
    significant: int
    right: int
    near: int
    error_median: float | None
    median_noise: float | None
    skill: float | None

    @property
    def wrong(self) -> int:
        """Effects beyond the noise whose predicted sign is wrong."""
        return self.significant - self.right

    @property
    def has_skill(self) -> bool:
        """Whether the prediction is better than "nothing changes"."""
        return self.skill is not None and self.skill > 0

    @property
    def ranks(self) -> bool:
        """Whether the predictions deserve trust: skill, and more than half of the signs right."""
        return self.has_skill and 2 * self.right > self.significant

    @classmethod
    def of(cls, effects: Sequence[Effect]) -> EffectScores:
        """Score effects."""
        significant = [effect for effect in effects if effect.significant]
        return cls(
            effects=len(effects),
            significant=len(significant),
            right=sum(effect.right for effect in significant),
            near=sum(effect.near for effect in effects),
            error_median=float(np.median([abs(effect.error) for effect in effects])) if effects else None,
            median_noise=median_noise(
                [effect.measured.ratio for effect in effects], [effect.standard_error for effect in effects]
            ),
            skill=skill(effects),
        )


@dataclass(frozen=True)
class Twin:
    """The comparison. ``unmatched`` are rows that one of the runs lacks."""

    measured: Findings
    predicted: Findings
    levels: Sequence[Level]
    effects: Sequence[Effect]
    counters: Sequence[CounterLevel]
    misses: Sequence[Miss]
    unmatched: Sequence[str]

    @cached_property
    def error(self) -> LevelErrors:
        """The errors of the levels."""
        errors = [level.error for level in self.levels]
        noise = median_noise([1.0] * len(self.levels), [level.standard_error for level in self.levels])
        return LevelErrors(len(errors), float(np.median(errors)), float(np.quantile(errors, 0.9)), noise)

    @cached_property
    def scores(self) -> EffectScores:
        """The scores of the effects."""
        return EffectScores.of(self.effects)

    @property
    def counter_totals(self) -> Sequence[CounterTotal]:
        """The counters over all rows and variants."""
        names = dict.fromkeys(each.name for each in self.counters)
        return [_total(name, [each for each in self.counters if each.name == name]) for name in names]


def _total(name: str, levels: Sequence[CounterLevel]) -> CounterTotal:
    ratios = [log(each.predicted / each.measured) for each in levels if each.predicted > 0 and each.measured > 0]
    return CounterTotal(
        name,
        float(np.mean([each.measured for each in levels])),
        float(np.mean([each.predicted for each in levels])),
        exp(np.mean(ratios)) if ratios else None,
    )


def median_noise(ratios: Sequence[float], standard_errors: Sequence[float]) -> float | None:
    """Return the expected median error of a perfect model: the measurement's own noise; None if that is unknown.

    The logarithm of each measured ratio is normally distributed about its true value with its standard error.
    """
    known = [pair for pair in zip(ratios, standard_errors, strict=True) if not isnan(pair[1])]
    if not known:
        return None
    return float(np.median([np.abs(ratio * np.expm1(DEVIATES * error)) for ratio, error in known]))


def skill(effects: Sequence[Effect]) -> float | None:
    """Return 1 - mean error of effects / mean error of predicting no change, of ratios' logarithms; None without an
    effect."""
    of_no_change = sum(abs(log(effect.measured.ratio)) for effect in effects)
    errors = sum(abs(log(effect.predicted.ratio / effect.measured.ratio)) for effect in effects)
    return 1 - errors / of_no_change if of_no_change > 0 else None


Counters = Mapping[tuple[str, str, str], Mapping[str, float]]
"""Means of counters over trials, by workload, parameters and variant."""


def compare(measured: Findings, predicted: Findings, counted: pl.DataFrame, simulated: pl.DataFrame) -> Twin:
    """Compare the runs. ``counted`` and ``simulated`` are their counters, as :func:`schedlab.store.reader.counters`.

    SchedlabError when the runs have no row and variant in common.
    """
    blocks, model = _blocks(measured), levels_of(predicted)
    real = _levels(blocks)
    levels = [
        Level(*key, real[key], model[key], _standard_error(blocks[key].values()))
        for key in real
        if key in model and real[key] > 0 and model[key] > 0
    ]
    if not levels:
        where = f"runs {measured.run.id} and {predicted.run.id}"
        todo = "name a run on a machine and a run of the same file on a model"
        raise SchedlabError("have no row and variant in common", where=where, todo=todo)
    counters, of_model = _counters(counted), _counters(simulated)
    trials = dict.fromkeys((each.question.workload, each.question.parameters, each.variant) for each in levels)
    return Twin(
        measured,
        predicted,
        levels,
        _effects(measured, predicted, blocks),
        [
            CounterLevel(name, *key, counters[key][name], of_model[key][name])
            for key in trials
            if key in counters and key in of_model
            for name in COUNTERS
            if name in counters[key] and name in of_model[key]
        ],
        [_miss(level, of_model) for level in sorted(levels, key=lambda each: -each.error)[:SHOWN]],
        sorted({f"{question.workload} {question.metric}" for question, _ in real.keys() ^ model.keys()}),
    )


def of_runs(engine: Engine, measured: Run, predicted: Run) -> Twin:
    """Compare two runs of a store; see :func:`compare`."""
    counters = [reader.counters(engine, run.id) for run in (measured, predicted)]
    return compare(findings(engine, measured), findings(engine, predicted), *counters)


Blocks = Mapping[tuple[Question, str], Mapping[int, float]]
"""Values of each judged row and variant, by block."""


def _blocks(results: Findings) -> Blocks:
    """Return the values in the order of the file, without the A/A control."""
    design = results.run.design
    values: dict[tuple[str, str, str, str], dict[int, float]] = {}
    for row in results.values.iter_rows(named=True):
        key = (row["workload"], row["parameters"], row["metric"], row["variant"])
        values.setdefault(key, {})[row["block"]] = row["value"]
    keys = [(each, variant) for each in design.questions for variant in design.variants if variant != design.control]
    of_keys = {key: values.get((*key[0].row, key[1]), {}) for key in keys}
    return {key: blocks for key, blocks in of_keys.items() if blocks}


def levels_of(results: Findings) -> dict[tuple[Question, str], float]:
    """Return the geometric mean over blocks of each judged row and variant, in the order of the file, without the A/A
    control."""
    return _levels(_blocks(results))


def _levels(blocks: Blocks) -> dict[tuple[Question, str], float]:
    return {key: _geometric(list(values.values())) for key, values in blocks.items()}


def _geometric(values: Sequence[float]) -> float:
    """Return the geometric mean; the arithmetic mean of figures that are not all positive."""
    return float(np.exp(np.mean(np.log(values)))) if min(values) > 0 else float(np.mean(values))


def _standard_error(values: Iterable[float]) -> float:
    """Return the standard error of the mean logarithm; nan for less than two values, or if a value is not positive."""
    of_blocks = np.array(list(values))
    if len(of_blocks) < 2 or of_blocks.min() <= 0:
        return nan
    return float(np.std(np.log(of_blocks), ddof=1) / np.sqrt(len(of_blocks)))


def _effects(measured: Findings, predicted: Findings, blocks: Blocks) -> list[Effect]:
    of_model = {(each.question, each.variant): each for each in predicted.verdicts if not each.control}
    return [
        Effect(each, model, _standard_error(_ratios(blocks, each, measured.baseline)))
        for each in measured.verdicts
        if not each.control and (model := of_model.get((each.question, each.variant)))
        if 0 < each.ratio < inf and 0 < model.ratio < inf
    ]


def _ratios(blocks: Blocks, verdict: Verdict, baseline: str) -> list[float]:
    """Return the ratio of variant and baseline in each block that has both."""
    base, changed = (blocks.get((verdict.question, variant), {}) for variant in (baseline, verdict.variant))
    return [changed[block] / value for block, value in base.items() if block in changed and value > 0]


def _counters(frame: pl.DataFrame) -> dict[tuple[str, str, str], dict[str, float]]:
    """Return the means over blocks of each counter."""
    totals: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for row in frame.iter_rows(named=True):
        key = (row["workload"], row["parameters"], row["variant"])
        totals.setdefault(key, {}).setdefault(row["counter"], []).append(row["value"])
    means = {
        key: {name: float(np.mean(values)) for name, values in counters.items()} for key, counters in totals.items()
    }
    for counters in means.values():
        if waking := [counters[name] for name in WAKING if name in counters]:
            counters[WAKES] = sum(waking)
    return means


def _miss(level: Level, counters: Counters) -> Miss:
    """Return the level with the accounts that have the largest shares of its trials' simulated CPU time."""
    counted = counters.get((level.question.workload, level.question.parameters, level.variant), {})
    times = {
        name.removeprefix(LEDGER).removesuffix("_ns"): value
        for name, value in counted.items()
        if name.startswith(LEDGER) and "idle" not in name
    }
    total = sum(times.values())
    largest = sorted(times.items(), key=lambda each: -each[1])[:SHOWN]
    return Miss(**vars(level), accounts={name: value / total for name, value in largest if total and value})
