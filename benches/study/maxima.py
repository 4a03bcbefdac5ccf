"""Worst cases of blocks: false alarms, found changes and coverage of several methods, for tails of several shapes.

A block's value is the largest of its trials' maxima. The maxima of long measurements have a generalised extreme-value
distribution, so that the study draws the maxima of trials directly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log

import numpy as np
from benches.study.false_alarms import ALPHA
from benches.study.judging import judge_run
from numpy.typing import NDArray
from scipy import optimize, stats

from schedlab.analysis import ranks
from schedlab.analysis.signflip import p_values
from schedlab.analysis.verdicts import Options

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]

BLOCKS = (8, 12, 20)
TRIALS = 3
"""Trials of a variant in a block."""

LONGER = 2
"""Ratio of the trials of the two variants in the column for unequal times."""

FACTOR = 2.0
"""Change of the scale in the columns of found changes: all maxima are twice as large."""

JUDGED = 10
"""One campaign in this many is judged with its interval; the others by their p alone, which the verdict follows."""

FITTED = 40
"""One campaign in this many is also judged by fits of extreme-value distributions, which take a long time."""


def _gumbel(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
    return np.maximum(10 + 3 * rng.gumbel(size=size), 0.5)


def _frechet(shape: float) -> Draw:
    return lambda rng, size: np.asarray(10 * np.exp(shape * rng.gumbel(size=size)), dtype=np.float64)


def _rare(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
    return _gumbel(rng, size) * np.where(rng.random(size) < 0.05, 100.0, 1.0)


def _modes(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
    return _gumbel(rng, size) * np.where(rng.random(size) < 0.3, 10.0, 1.0)


def _drifting(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
    line = np.exp(np.linspace(-0.5, 0.5, size[1]))[None, :, None]
    return _frechet(0.3)(rng, size) * line


KINDS: dict[str, Draw] = {
    "Gumbel": _gumbel,
    "Fréchet, shape 0.3": _frechet(0.3),
    "Fréchet, shape 0.5": _frechet(0.5),
    "Fréchet, shape 1": _frechet(1.0),
    "5 % × 100": _rare,
    "30 % × 10": _modes,
    "drifting": _drifting,
}


@dataclass(frozen=True)
class Maxima:
    """Shares of campaigns by method, for one kind of tail and number of blocks.

    The methods: signed ranks of maxima (the verdicts), sign flips of the log-ratios of maxima, and sign flips of the
    log-ratios of a block's mean of maxima. ``fitted``: false alarms of a likelihood-ratio test of two extreme-value
    distributions. ``unequal``: false alarms of signed ranks if the variant measures :data:`LONGER` times as long.
    ``covered``: intervals that contain the true factor.
    """

    kind: str
    blocks: int
    count: int
    alarms: tuple[float, ...]
    found: tuple[float, ...]
    fitted: float
    unequal: float
    covered: float


def maxima(kind: str, blocks: int, campaigns: int, seed: int) -> Maxima:
    """Simulate campaigns with and without a change of the scale."""
    rng = np.random.default_rng([seed, blocks, list(KINDS).index(kind)])
    # Two visits of a block, in random order: a drifting machine favours no variant.
    visits = KINDS[kind](rng, (campaigns, 2 * blocks, TRIALS)).reshape(campaigns, blocks, 2, TRIALS)
    first = rng.integers(0, 2, size=(campaigns, blocks, 1)).astype(bool)
    a = np.where(first, visits[:, :, 1], visits[:, :, 0])
    b = np.where(first, visits[:, :, 0], visits[:, :, 1])
    more = KINDS[kind](rng, (campaigns, blocks, LONGER * TRIALS))
    fits = [extreme_value_p(x.max(axis=1), y.max(axis=1)) for x, y in zip(a[::FITTED], b[::FITTED], strict=True)]
    return Maxima(
        kind,
        blocks,
        campaigns,
        alarms=_called(a, b),
        found=_called(a, FACTOR * b),
        fitted=_share(fits),
        unequal=_share(_p_of_ranks(np.log(more.max(axis=2)) - np.log(a.max(axis=2)))),
        covered=_covered(a[::JUDGED], FACTOR * b[::JUDGED]),
    )


def _called(a: Floats, b: Floats) -> tuple[float, float, float]:
    """Return the share of campaigns with p at or below α by each method."""
    largest = np.log(b.max(axis=2)) - np.log(a.max(axis=2))
    means = np.log(b.mean(axis=2)) - np.log(a.mean(axis=2))
    return _share(_p_of_ranks(largest)), _share(p_values(largest.T, 0)), _share(p_values(means.T, 0))


def _p_of_ranks(logs: Floats) -> Floats:
    return p_values(np.array([ranks.signed_ranks(row) for row in logs]).T, 0)


def _share(p: Floats | list[float]) -> float:
    return float((np.asarray(p) <= ALPHA).mean())


def _covered(a: Floats, b: Floats) -> float:
    """Return the share of the verdicts' intervals that contain the factor.

    AssertionError: a verdict does not follow from the p of the signed ranks.
    """
    verdicts = judge_run(a, b, Options(ALPHA, correction="none"), worst=True)
    called = [verdict.word in ("better", "worse") for verdict in verdicts]
    assert called == list(_p_of_ranks(np.log(b.max(axis=2)) - np.log(a.max(axis=2))) <= ALPHA)
    return float(np.mean([verdict.low <= FACTOR <= verdict.high for verdict in verdicts]))


def extreme_value_p(a: Floats, b: Floats) -> float:
    """Return p of "the scales are equal", by the likelihood ratio of generalised extreme-value distributions.

    Both groups have a common shape and a common ratio of scale to location: the variant is the baseline times a factor
    (Coles 2001, section 2.6.6). The likelihood profiled over the other parameters is compared with chi-squared.
    """
    logs = np.log(a), np.log(b)
    difference = float(np.median(logs[1]) - np.median(logs[0]))
    pooled = np.concatenate([a, b])

    def loss(parameters: Floats, factor: float) -> float:
        location, log_scale, shape = parameters
        scaled = np.concatenate([a, b / np.exp(factor)])
        value = -stats.genextreme.logpdf(scaled, -shape, location, np.exp(log_scale)).sum() + len(b) * factor
        return float(value) if np.isfinite(value) and abs(shape) < 3 else 1e6

    start = np.array([np.median(pooled), log(max(float(np.subtract(*np.percentile(pooled, [75, 25]))), 1e-9)), 0.2])
    options = {"maxiter": 2000, "xatol": 1e-4, "fatol": 1e-4}
    null = optimize.minimize(loss, start, args=(0.0,), method="Nelder-Mead", options=options)
    free = min(
        (
            optimize.minimize(
                lambda q: loss(q[:3], q[3]), np.append(null.x, shift), method="Nelder-Mead", options=options
            )
            for shift in (0.0, difference)
        ),
        key=lambda result: result.fun,
    )
    return float(stats.chi2.sf(2 * max(null.fun - free.fun, 0.0), 1))


def study(campaigns: int, seed: int) -> Iterator[Maxima]:
    """Yield the shares for each kind of tail and number of blocks."""
    for kind in KINDS:
        for blocks in BLOCKS:
            yield maxima(kind, blocks, campaigns, seed)
