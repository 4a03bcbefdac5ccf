"""Scores of simulated effects against published effects.

All errors are in points of the gain. *Skill* is 1 - MAE / MAE0, where MAE is the mean absolute error of the simulated
gains and MAE0 the mean absolute error of predicting no change. Skill 1 is a perfect prediction. At 0 or below,
"nothing changes" is at least as good.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, pi, sqrt

import numpy as np
from scipy import stats

from schedlab.reproduction.published import Headline, PublishedReport
from schedlab.reproduction.simulated import Comparison, Level

FEWEST_RANKED = 4
"""Fewest effects of a table that get a rank correlation: with three, one in six orders is right by chance."""

RESOLVED = 1 / 3
"""A simulated effect is resolved if its standard error is below this share of the published effect."""


@dataclass(frozen=True)
class Outcome:
    """A headline, and whether the simulation reached it; None if the simulation lacks figures of a selected row."""

    headline: Headline
    reached: bool | None


@dataclass(frozen=True)
class Scores:
    """The scores of a report. A score that has no rows is None.

    Attributes:
        effects: effects that were simulated and count; ``missing`` were not simulated.
        resolved: effects whose simulated standard error is below a third of the published effect.
        significant: effects beyond the published noise; ``right`` of them have the simulated sign.
        spearman: rank correlation, the mean over tables weighted by their effects.
        error: median absolute error; ``error_of_none`` is the median absolute error of predicting no change.
        skill: see the module's docstring.
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
    ceiling: float | None
    level: float | None
    level_error: float | None
    level_p90: float | None
    headlines: tuple[Outcome, ...]

    @property
    def sign(self) -> float | None:
        """Share of the significant effects with the right sign."""
        return self.right / self.significant if self.significant else None


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
        resolved=sum(f.error < RESOLVED * abs(each.published.gain) for each, f in pairs if isfinite(f.error)),
        significant=len(significant),
        right=sum(each.published.gain * figures.gain > 0 for each, figures in significant),
        spearman=_spearman(counted),
        error=_median(errors),
        error_of_none=_median(errors_of_no_change),
        skill=skill(published, simulated) if pairs else None,
        ceiling=_ceiling([each for each, _ in pairs]),
        level=_median(factors),
        level_error=_median(apart),
        level_p90=float(np.quantile(apart, 0.9)) if len(apart) else None,
        headlines=tuple(
            Outcome(headline, reached(headline, report, comparisons, levels)) for headline in report.headline
        ),
    )


def skill(published: np.ndarray, predicted: np.ndarray) -> float:
    """Return 1 − MAE / MAE of predicting no change; -inf where nothing changed and a change is predicted."""
    error, error_of_no_change = float(np.abs(predicted - published).mean()), float(np.abs(published).mean())
    if error_of_no_change == 0:
        return 1.0 if error == 0 else float("-inf")
    return 1 - error / error_of_no_change


def reached(
    headline: Headline, report: PublishedReport, comparisons: Sequence[Comparison], levels: Sequence[Level]
) -> bool | None:
    """Return whether every selected figure meets its condition; None where a selected figure was not simulated."""
    met = []
    for check in headline.checks:
        if check.rising is not None:
            simulated = {id(level.row): level.simulated for level in levels}
            figures = [simulated.get(id(row)) for row in report.levels_of(check)]
            known = [figure for figure in figures if figure is not None]
            if len(known) < len(figures):
                return None
            low, high = check.rising
            met.append(low <= known[0] and known[-1] <= high and known == sorted(set(known)))
            continue
        for each in comparisons:
            if not check.selects(each.table, each.row, each.column):
                continue
            if each.simulated is None:
                return None
            bounds, figure = (
                (check.gain, each.simulated.gain) if check.gain is not None else (check.factor, each.simulated.factor)
            )
            assert bounds is not None
            met.append(bounds[0] <= figure <= bounds[1])
    return all(met)


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
