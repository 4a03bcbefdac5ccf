"""Verdicts without pairs, mostly over imported figures: Welch's test on logarithms.

The columns were not measured alternately, so that an effect of the order (a warmer machine, another day) is
indistinguishable from an effect of the change. :func:`unpaired_warnings` warns about this in every such comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import expm1, inf, isnan, log1p, nan

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from schedlab.analysis.multiplicity import adjust
from schedlab.analysis.paired import EQUIVALENT_FROM, ratio_of
from schedlab.analysis.resolution import POWER
from schedlab.analysis.verdicts import Options, Question, Verdict, families, tests_of, word
from schedlab.analysis.warnings import Kind, Warning
from schedlab.results.words import Word

Floats = NDArray[np.float64]

SMALL, EVEN_BELOW = 4, 10
"""Sizes of the smaller group. Below ``SMALL`` there is a warning; below ``EVEN_BELOW`` there is a warning if the other
group is more than twice as large."""

NO_SPREAD = "neither column has any spread: no test is possible"


NOT_FINITE = "a value is not a finite number: no test is possible"


@dataclass(frozen=True)
class Group:
    """Values of one column in one row, all above 0; ``independent`` says whether each is an independent observation.

    Iterations of one block are dependent. They are used if a column has a single block, with a warning.
    """

    values: Floats
    independent: bool


@dataclass(frozen=True)
class UnpairedRow:
    """A row with the group of each column, the baseline's first; None for a column without values."""

    question: Question
    groups: tuple[Group | None, ...]


def mann_whitney(baseline: Floats, variant: Floats) -> float:
    """Return the two-sided p of "neither group tends to larger values"; exact for small groups without ties.

    nan if a group is empty.
    """
    from scipy.stats import mannwhitneyu

    if not (len(baseline) and len(variant)):
        return nan
    return float(mannwhitneyu(baseline, variant, alternative="two-sided").pvalue)


def group(samples: Floats, blocks: Sequence[float]) -> Group:
    """Return the group of a column: its block means if it has several blocks, else the samples of its only block."""
    return Group(np.asarray(blocks, dtype=np.float64), True) if len(blocks) > 1 else Group(samples, False)


def judge_unpaired(
    rows: Sequence[UnpairedRow],
    names: Sequence[str],
    options: Options,
    *,
    ranks: bool = True,
) -> list[Verdict]:
    """Return a verdict for each row and each column except the baseline, ordered by row, as
    :func:`schedlab.analysis.judging.judge` does.

    The ratio is the ratio of geometric means. Its interval and ``p`` come from Welch's test (1947) on logarithms.
    ``p_mann_whitney`` (Mann & Whitney 1947) makes no assumption about means. Interval and p values are nan if either
    group has fewer than two values, or if neither has any spread.

    Args:
        rows: each with a group for every name.
        names: names of the columns, the baseline first.
        options: options of the analysis.
        ranks: whether to compute Mann–Whitney's p, which loads ``scipy.stats``.

    ``n`` is the size of the smaller group. ``blocks_needed`` is None: more figures of the same columns would not rule
    out an effect of the order.
    """
    # A joint test flips the signs of blocks, and the groups have no common blocks.
    correction = "holm" if options.correction == "max-t" else options.correction
    options = replace(options, looks=(), correction=correction)
    tests = tests_of(len(rows), len(names) - 1, options)
    raw: dict[tuple[int, str], Verdict] = {}
    for place, name in enumerate(names[1:], start=1):
        compared = _compare(rows, names[0], name, place, options, tests, ranks)
        raw |= {(i, name): verdict for i, verdict in enumerate(compared)}
    verdicts: dict[tuple[int, str], Verdict] = {}
    for family in families(names[1:], None, options):
        keys = [key for key in raw if key[1] in family]
        verdicts |= zip(keys, _corrected([raw[key] for key in keys], options), strict=True)
    return [verdicts[i, name] for i in range(len(rows)) for name in names[1:]]


def _corrected(verdicts: Sequence[Verdict], options: Options) -> list[Verdict]:
    """Adjust a family's p values and set the words. A row without a p counts as a test too."""
    p_values = [
        [1.0 if isnan(p) else p for p in raw]
        for raw in ([verdict.p for verdict in verdicts], [verdict.p_equivalent for verdict in verdicts])
    ]
    different, same = (adjust(raw, options.correction) for raw in p_values)
    return [
        verdict
        if isnan(verdict.p)
        else replace(
            verdict, p_adjusted=p, p_equivalent=p_same,
            word=word(verdict.question, verdict.ratio, p, p_same, options.alpha),
        )
        for verdict, p, p_same in zip(verdicts, different, same, strict=True)
    ]  # fmt: skip


def unpaired_warnings(rows: Sequence[UnpairedRow], names: Sequence[str]) -> Iterator[Warning]:
    """Yield the warnings of every comparison without pairs; no warning without rows."""
    if not any(sum(group is not None for group in row.groups) > 1 for row in rows):
        return
    others = f"{', '.join(names[1:3])}{' and others' if len(names) > 3 else ''}"
    yield Kind.UNPAIRED.warning(columns=others, baseline=names[0])
    sizes = [
        sorted((len(row.groups[0].values), len(other.values)))
        for row in rows
        for other in row.groups[1:]
        if row.groups[0] is not None and other is not None
    ]
    unreliable = [(small, large) for small, large in sizes if small > 1 and _unreliable(small, large)]
    if unreliable:
        small, large = min(unreliable, key=lambda pair: (pair[0], -pair[1]))
        yield Kind.GROUPS.warning(columns=others, baseline=names[0], small=small, large=large)
    pooled = [name for i, name in enumerate(names) if any(_pooled(row.groups[i]) for row in rows)]
    if pooled:
        yield Kind.POOLED.warning(pooled=len(pooled), columns=len(names))


def _unreliable(small: int, large: int) -> bool:
    """Return whether Welch's test errs with groups of these sizes for skewed figures or for outliers.

    In simulations of log-normal delays, the error rate of a nominal 5 % is 13 % for 3 against 20 values, 7 % for 6
    against 20, and 5 % from 10 against 20 on. Two or three values say hardly anything about the spread.
    """
    return small < SMALL or (small < EVEN_BELOW and large > 2 * small)


def _pooled(group: Group | None) -> bool:
    return group is not None and not group.independent


def _compare(
    rows: Sequence[UnpairedRow], baseline: str, variant: str, place: int, options: Options, tests: int, ranks: bool
) -> list[Verdict]:
    """Compare one column with the baseline in all rows, before any correction."""
    untested = [_described(row, baseline, variant, place, options) for row in rows]
    usable = [i for i, verdict in enumerate(untested) if not verdict.reason]
    pairs = [(_values(rows[i].groups[0]), _values(rows[i].groups[place])) for i in usable]
    test = welch(*(Moments.of([np.log(pair[side]) for pair in pairs]) for side in (0, 1)))
    half, p, p_same = test.half(1 - options.alpha), test.p, test.p_within(log1p(options.delta))
    detectable = test.detectable(options.rule(tests).level, POWER)
    results = list(untested)
    for k, i in enumerate(usable):
        difference = float(test.difference[k])
        arithmetic = ratio_of(float(np.log(pairs[k][1].mean()) - np.log(pairs[k][0].mean())))
        verdict = replace(untested[i], ratio=ratio_of(difference), arithmetic_ratio=arithmetic)
        if isnan(p[k]):
            results[i] = replace(verdict, reason=NO_SPREAD)
            continue
        verdict = replace(
            verdict,
            low=ratio_of(difference - half[k]),
            high=ratio_of(difference + half[k]),
            p=float(p[k]),
            p_mann_whitney=mann_whitney(*pairs[k]) if ranks else nan,
            p_equivalent=float(p_same[k]) if verdict.n >= EQUIVALENT_FROM else 1.0,
            detectable=expm1(detectable[k]) if detectable[k] < 100 else inf,
        )
        results[i] = verdict
    return results


def _described(row: UnpairedRow, baseline: str, variant: str, place: int, options: Options) -> Verdict:
    """Return the verdict before the test; ``reason`` says why no test is possible."""
    below, above = (_values(row.groups[i]) for i in (0, place))
    mean = _geometric_mean if np.all(below > 0) and np.all(above > 0) else _arithmetic_mean
    verdict = Verdict(
        row.question, variant, False, min(len(below), len(above)),
        mean(below), float(below.std(ddof=1)) if len(below) > 1 else nan, mean(above),
        nan, nan, nan, nan, nan, nan, Word.INCONCLUSIVE, nan, None, method="unpaired", level=options.alpha,
    )  # fmt: skip
    columns = ((baseline, below), (variant, above))
    if missing := [name for name, values in columns if not len(values)]:
        return replace(verdict, reason=f"no measurement of {' and '.join(missing)}")
    if not (np.isfinite(below).all() and np.isfinite(above).all()):
        return replace(verdict, reason=NOT_FINITE)
    if np.any(below <= 0) or np.any(above <= 0):
        return replace(verdict, reason="a value of 0 or below has no ratio")
    if few := [name for name, values in columns if len(values) < 2]:
        ratio = ratio_of(float(np.log(above).mean() - np.log(below).mean()))
        return replace(verdict, ratio=ratio, reason=f"one value of {' and of '.join(few)}: no spread to judge by")
    return verdict


def _values(group: Group | None) -> Floats:
    return np.empty(0) if group is None else group.values


def _arithmetic_mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else nan


def _geometric_mean(values: Floats) -> float:
    # Divide by the first value, so that the mean of equal values is exact.
    return float(values[0]) * ratio_of(float(np.log(values / values[0]).mean())) if len(values) else nan


@dataclass(frozen=True)
class Moments:
    """Count, mean and sample variance of a group in each row, each of shape (rows,)."""

    n: Floats
    mean: Floats
    variance: Floats

    @classmethod
    def of(cls, groups: Sequence[Floats]) -> Moments:
        """Return the moments of the groups; each row has an array of values. The variance is nan below two values."""
        return cls(
            np.array([len(values) for values in groups], dtype=np.float64),
            np.array([values.mean() if len(values) else np.nan for values in groups]),
            np.array([_variance(values) for values in groups]),
        )


def _variance(values: Floats) -> float:
    """Return the sample variance, exactly 0 for equal values: with a rounded mean it would be about 1e-32."""
    if len(values) < 2:
        return float(np.nan)
    return 0.0 if values.min() == values.max() else float(values.var(ddof=1))


@dataclass(frozen=True)
class Welch:
    """The difference of two means in each row, its standard error and degrees of freedom (Welch 1947), shape (rows,).

    Error and freedom are nan if a group has fewer than two values, or neither group has any spread. The formulas use
    ``scipy.special``. ``scipy.stats.ttest_ind(equal_var=False)`` gives the same figures, but loading ``scipy.stats``
    takes longer than a report on a hundred imported rows.
    """

    difference: Floats
    error: Floats
    freedom: Floats

    @property
    def p(self) -> Floats:
        """Two-sided p of "the means are equal"."""
        return np.asarray(2 * stdtr(self.freedom, -np.abs(self.difference) / self.error), dtype=np.float64)

    def half(self, confidence: float) -> Floats:
        """Return half the width of the two-sided interval."""
        return np.asarray(stdtrit(self.freedom, 0.5 + confidence / 2) * self.error, dtype=np.float64)

    def p_within(self, margin: float) -> Floats:
        """Return p of "the difference lies outside ± margin", by two one-sided tests (Schuirmann 1987)."""
        above = stdtr(self.freedom, (self.difference - margin) / self.error)
        below = stdtr(self.freedom, (-margin - self.difference) / self.error)
        return np.asarray(np.maximum(above, below), dtype=np.float64)

    def detectable(self, alpha: float | Floats, power: float) -> Floats:
        """Return the difference that a test at ``alpha`` finds with this power, by the t approximation."""
        return np.asarray(
            (stdtrit(self.freedom, 1 - np.asarray(alpha) / 2) + stdtrit(self.freedom, power)) * self.error,
            dtype=np.float64,
        )


def welch(baseline: Moments, variant: Moments) -> Welch:
    """Return the test of variant − baseline in each row."""
    below, above = baseline.variance / baseline.n, variant.variance / variant.n
    square = below + above
    with np.errstate(invalid="ignore", divide="ignore"):
        square = np.where(square > 0, square, np.nan)
        freedom = square**2 / (below**2 / (baseline.n - 1) + above**2 / (variant.n - 1))
    return Welch(variant.mean - baseline.mean, np.sqrt(square), freedom)
