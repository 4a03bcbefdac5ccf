"""Scores of simulated effects against published effects.

All errors are in points of the gain. *Skill* is 1 - MAE / MAE0, where MAE is the mean absolute error of the simulated
gains and MAE0 the mean absolute error of predicting no change. Skill 1 is a perfect prediction. At 0 or below,
"nothing changes" is at least as good.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, pi, sqrt

import numpy as np
from scipy import stats

from schedlab.reproduction.published import Check, Headline, PublishedReport, PublishedTable, Row
from schedlab.reproduction.simulated import Comparison, Level
from schedlab.results.words import Word

FEWEST_RANKED = 4
"""Fewest effects of a table that get a rank correlation: with three, one in six orders is right by chance."""

RESOLVED = 1 / 3
"""A simulated effect is resolved if its standard error is below this share of the published effect."""

FEWEST_SEEDS = 4
"""Fewest random seeds of a resolved effect: a standard error of fewer is itself too uncertain."""

FEWEST_ROWS = 5
"""Fewest rows with an interval of the skill: four rows have only 35 different resamples."""

CONFIDENCE = 0.9
"""Confidence of the skill's interval, which resamples the rows of the report. Effects of a row share a baseline."""

RESAMPLES = 2000


@dataclass(frozen=True)
class Miss:
    """A simulated figure that misses a condition of a headline.

    Attributes:
        column: the column of the effect; None for a level.
        unit: ``%`` for a gain, ``×`` for a factor, the printed unit for a level.
        rises: whether a level is above the level of the row before; a level within the bounds has missed by this.
    """

    table: PublishedTable
    row: Row
    column: int | None
    figure: float
    unit: str
    bounds: tuple[float, float]
    rises: bool = True

    @property
    def column_name(self) -> str | None:
        """Name of the column; None for a level."""
        return None if self.column is None else self.table.columns[self.column]


@dataclass(frozen=True)
class Outcome:
    """A headline, and what the simulation says about it.

    Attributes:
        reached: None if the simulation lacks figures of a selected row.
        of_no_change: whether the prediction that nothing changes reaches the headline.
        misses: the simulated figures that miss a condition.
    """

    headline: Headline
    reached: bool | None
    of_no_change: bool
    misses: tuple[Miss, ...] = ()


@dataclass(frozen=True)
class Scores:
    """The scores of a report. A score that has no rows is None.

    Attributes:
        effects: effects that were simulated and count; ``missing`` were not simulated.
        resolved: effects of at least four random seeds whose standard error is below a third of the published effect.
        significant: effects beyond the published noise; ``right`` of them have the simulated sign.
        spearman: rank correlation, the mean over tables weighted by their effects.
        error: median absolute error; ``error_of_none`` is the median absolute error of predicting no change.
        skill: see the module's docstring. ``skill_interval`` has the limits of its interval; None with few rows.
        ceiling: the expected skill of a second measurement with the noise that the report prints.
        level: median of simulated / published levels. ``level_error`` and ``level_p90`` are the median and the 90th
            percentile of the factor between the two, at least 1.
    """

    effects: int
    missing: int
    resolved: int
    significant: int
    right: int
    spearman: float | None
    error: float | None
    error_of_none: float | None
    skill: float | None
    skill_interval: tuple[float, float] | None
    ceiling: float | None
    level: float | None
    level_error: float | None
    level_p90: float | None
    headlines: tuple[Outcome, ...]

    @property
    def scored(self) -> int:
        """Number of effects that count."""
        return self.effects + self.missing

    @property
    def has_skill(self) -> bool:
        """Whether the simulation is better than predicting no change."""
        return self.skill is not None and self.skill > 0

    @property
    def word(self) -> Word:
        """Whether the simulation is better or worse than predicting no change, beyond the skill's interval."""
        if self.skill_interval is None or self.skill_interval[0] <= 0 <= self.skill_interval[1]:
            return Word.INCONCLUSIVE
        return Word.BETTER if self.has_skill else Word.WORSE

    @property
    def simulated_headlines(self) -> Sequence[Outcome]:
        """The headlines whose figures were simulated."""
        return [outcome for outcome in self.headlines if outcome.reached is not None]

    @property
    def reached(self) -> int:
        """Number of these that the simulation reaches."""
        return sum(bool(outcome.reached) for outcome in self.simulated_headlines)

    @property
    def reached_by_no_change(self) -> int:
        """Number of these that predicting no change reaches."""
        return sum(outcome.of_no_change for outcome in self.simulated_headlines)

    @property
    def sign(self) -> float | None:
        """Share of the significant effects with the right sign."""
        return self.right / self.significant if self.significant else None


@dataclass(frozen=True)
class Totals:
    """Sums over reports.

    Attributes:
        positive_skill: reports with positive skill; ``interval_above_0`` of them have an interval above 0.
        significant: effects beyond the published noise; ``right`` of them have the simulated sign.
        headlines: headlines whose figures were simulated; ``reached`` by the simulation, ``of_no_change`` by predicting
            no change, ``by_both``.
    """

    reports: int
    positive_skill: int
    interval_above_0: int
    significant: int
    right: int
    headlines: int
    reached: int
    of_no_change: int
    by_both: int


def totals(reports: Sequence[Scores]) -> Totals:
    """Return the sums over the scores of several reports."""
    outcomes = [outcome for scores in reports for outcome in scores.simulated_headlines]
    return Totals(
        reports=len(reports),
        positive_skill=sum(scores.has_skill for scores in reports),
        interval_above_0=sum(scores.skill_interval is not None and scores.skill_interval[0] > 0 for scores in reports),
        significant=sum(scores.significant for scores in reports),
        right=sum(scores.right for scores in reports),
        headlines=len(outcomes),
        reached=sum(bool(outcome.reached) for outcome in outcomes),
        of_no_change=sum(outcome.of_no_change for outcome in outcomes),
        by_both=sum(bool(outcome.reached) and outcome.of_no_change for outcome in outcomes),
    )


def score(report: PublishedReport, comparisons: Sequence[Comparison], levels: Sequence[Level]) -> Scores:
    """Return the scores of a report."""
    counted = [each for each in comparisons if each.table.scored]
    pairs = [(each, each.simulated) for each in counted if each.simulated is not None]
    published = np.array([each.published.gain for each, _ in pairs])
    simulated = np.array([figures.gain for _, figures in pairs])
    significant = [(each, figures) for each, figures in pairs if each.published.significant]
    errors, errors_of_no_change = np.abs(simulated - published), np.abs(published)
    factors = np.array([level.simulated / level.published for level in levels])
    apart = np.maximum(factors, 1 / factors)
    return Scores(
        effects=len(pairs),
        missing=len(counted) - len(pairs),
        resolved=sum(
            f.error < RESOLVED * abs(each.published.gain)
            for each, f in pairs
            if f.blocks >= FEWEST_SEEDS and isfinite(f.error)
        ),
        significant=len(significant),
        right=sum(each.published.gain * figures.gain > 0 for each, figures in significant),
        spearman=_spearman(counted),
        error=_median(errors),
        error_of_none=_median(errors_of_no_change),
        skill=skill(published, simulated) if pairs else None,
        skill_interval=_skill_interval(published, simulated, [id(each.row) for each, _ in pairs]),
        ceiling=_ceiling([each for each, _ in pairs]),
        level=_median(factors),
        level_error=_median(apart),
        level_p90=float(np.quantile(apart, 0.9)) if len(apart) else None,
        headlines=tuple(_outcome(headline, report, comparisons, levels) for headline in report.headline),
    )


def skill(published: np.ndarray, predicted: np.ndarray) -> float:
    """Return 1 − MAE / MAE of predicting no change; -inf where nothing changed and a change is predicted."""
    error, error_of_no_change = float(np.abs(predicted - published).mean()), float(np.abs(published).mean())
    if error_of_no_change == 0:
        return 1.0 if error == 0 else float("-inf")
    return 1 - error / error_of_no_change


def _skill_interval(published: np.ndarray, predicted: np.ndarray, rows: Sequence[int]) -> tuple[float, float] | None:
    """Return the limits of the skill's interval from resampled rows; the same effects give the same limits."""
    # Rows are numbered as they come: their ids order them otherwise in each process.
    numbers = {row: index for index, row in enumerate(dict.fromkeys(rows))}
    number = len(numbers)
    if number < FEWEST_ROWS:
        return None
    row_of = [numbers[row] for row in rows]
    errors = np.bincount(row_of, np.abs(predicted - published))
    errors_of_no_change = np.bincount(row_of, np.abs(published))
    if errors_of_no_change.min() == 0:
        return None
    chosen = np.random.default_rng(0).integers(number, size=(RESAMPLES, number))
    skills = 1 - errors[chosen].sum(axis=1) / errors_of_no_change[chosen].sum(axis=1)
    low, high = np.quantile(skills, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


@dataclass(frozen=True)
class _Condition:
    """A condition on one figure: whether predicting no change meets it, and the simulated figure's miss.

    ``met`` is None without a simulated figure.
    """

    met: bool | None
    of_no_change: bool
    miss: Miss | None = None


def _outcome(
    headline: Headline, report: PublishedReport, comparisons: Sequence[Comparison], levels: Sequence[Level]
) -> Outcome:
    """Return whether every selected figure meets its condition."""
    conditions: list[_Condition] = []
    for check in headline.checks:
        on_effects = check.rising is None
        conditions += _on_effects(check, comparisons) if on_effects else _on_levels(check, report, levels)
    met = [condition.met for condition in conditions]
    return Outcome(
        headline,
        None if None in met else all(met),
        all(condition.of_no_change for condition in conditions),
        tuple(condition.miss for condition in conditions if condition.miss is not None and not condition.met),
    )


def _on_levels(check: Check, report: PublishedReport, levels: Sequence[Level]) -> Iterator[_Condition]:
    """Yield the conditions of a check on levels, which no change does not meet: it predicts none."""
    assert check.rising is not None
    low, high = check.rising
    simulated = {id(level.row): level for level in levels}
    before = 0.0
    for row in report.levels_of(check):
        level = simulated.get(id(row))
        if level is None:
            yield _Condition(None, of_no_change=False)
            continue
        rises = level.simulated > before
        miss = Miss(level.table, row, None, level.simulated, level.table.unit, check.rising, rises)
        yield _Condition(rises and low <= level.simulated <= high, of_no_change=False, miss=miss)
        before = level.simulated


def _on_effects(check: Check, comparisons: Sequence[Comparison]) -> Iterator[_Condition]:
    """Yield the conditions of a check on gains or factors."""
    bounds, unit, unchanged = (check.gain, "%", 0.0) if check.gain is not None else (check.factor, "×", 1.0)
    assert bounds is not None
    low, high = bounds
    for each in comparisons:
        if not check.selects(each.table, each.row, each.column):
            continue
        of_no_change = low <= unchanged <= high
        if each.simulated is None:
            yield _Condition(None, of_no_change)
            continue
        figure = each.simulated.gain if unit == "%" else each.simulated.factor
        miss = Miss(each.table, each.row, each.column, figure, unit, bounds)
        yield _Condition(low <= figure <= high, of_no_change, miss)


def _spearman(comparisons: Sequence[Comparison]) -> float | None:
    """Return the mean rank correlation of the tables, weighted by effects. A table without differences counts as 0."""
    tables: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for each in comparisons:
        if each.simulated is not None:
            tables[each.table.title].append((each.published.gain, each.simulated.gain))
    ranked = [np.array(effects) for effects in tables.values() if len(effects) >= FEWEST_RANKED]
    if not ranked:
        return None
    correlations = [
        0.0 if np.ptp(effects, axis=0).min() == 0 else float(stats.spearmanr(effects).statistic) for effects in ranked
    ]
    return float(np.average(correlations, weights=[len(effects) for effects in ranked]))


def _ceiling(comparisons: Sequence[Comparison]) -> float | None:
    """Return the expected skill of repeating the report's measurements, over the effects with a printed noise.

    Two independent measurements of an effect with standard error σ differ by 2σ/√π on average (normal noise).
    """
    noisy = [
        (abs(each.published.gain), each.published.error) for each in comparisons if each.published.error is not None
    ]
    if not noisy:
        return None
    differences = sum(2 * error / sqrt(pi) for _, error in noisy)
    return 1 - differences / sum(gain for gain, _ in noisy)


def _median(values: np.ndarray) -> float | None:
    return float(np.median(values)) if len(values) else None
