"""Test of a lasting shift of level in a series whose level also wanders.

Neighbouring runs of a machine resemble each other: the room warms up, other guests come and go, a season passes. Runs
are then not exchangeable, and a permutation of the runs shows a shift where there is none. Here the null hypothesis is
a mean, a stationary wandering with the correlation ``rho`` between neighbours (an AR(1) process), and independent noise
of each run (Harvey 1989, chapter 2). It contains independent runs (no wandering), AR(1) noise (no independent noise),
and approximates seasons and drifts (rho near 1). The statistic is the likelihood ratio: with a shift at the best place
against without a shift, each under the best of the :data:`MODELS` (Box & Tiao 1965).

The reference is a bootstrap. The model that is best without a shift would see a shift as wandering, and the model that
is best beside the shift would see a season as a shift. The bootstrap therefore takes, of all models that the series
does not reject beside the shift, the model that reaches the largest ratios by chance (Berger & Boos 1994). The
wandering of the bootstrap is normal, and its noise is a permutation of the model's residuals, so that outliers stay
outliers. Without wandering this is the permutation test of the runs.
"""

from __future__ import annotations

from functools import cache
from math import comb, exp, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

Values = NDArray[np.float64]

SHORTEST = 2
"""Runs on either side of a shift. A single run that differs is not a shift of level."""

LONGEST = 200
"""Runs that the test takes: a choice, because time and memory grow with the square."""

# fmt: off
MODELS = (
    (0.0, 0.0), (0.3, 0.1), (0.5, 0.1), (0.7, 0.1), (0.3, 0.3), (0.99, 0.1), (0.5, 0.3), (0.85, 0.1), (0.3, 0.6),
    (0.3, 1.0), (0.5, 0.6), (0.7, 0.3), (0.99, 0.3), (0.95, 0.1), (0.5, 1.0), (0.7, 1.0), (0.7, 0.6), (0.95, 0.3),
    (0.85, 0.3), (0.85, 0.6), (0.99, 0.6), (0.99, 1.0), (0.85, 1.0), (0.95, 1.0), (0.95, 0.6),
)
# fmt: on
"""Correlation of neighbours in the wandering, and the wandering's share of the variance, in the order of the ratios
that the models reach by chance: 99.5 % of 3,000 series of 60 runs stay below 12.1 to 20.8.

The grid is a choice. The repository has no script of the simulation; 2,000 further normal series of each model gave
11.8 to 19.6, and the order of models with similar ratios changed. That the order suits other lengths and other noise is
unproven."""

MARGIN = float(chdtri(2, 0.05))
"""Twice the distance from the largest logarithmic likelihood at which a series rejects a model of two parameters.

The limit is asymptotic (Wilks 1938). The share of short series that reject their own model is unproven, and the p value
does not contain it, unlike that of Berger & Boos."""

DRAWS = 999
"""Series of the bootstrap: a choice."""

TAIL = 40
"""Largest statistics of the bootstrap, from which smaller p values are extrapolated: a choice.

The exponential tail is an assumption, whose error for p values far below TAIL / DRAWS is unproven. Only the rates of
false changes in ``docs/statistics.md`` test the whole procedure."""

ENOUGH = 10
"""Series that reach a statistic whose p is not small: a choice; the standard error of p is a third of p."""

_BATCH = 100
"""Series of the bootstrap that are computed at once."""

_EXACT = 1e-18
"""Smallest share of the squares that a shift may leave. Without it equal values around a shift divide by 0."""

_SEED = 20040
"""Random seed of the permutations: equal series have equal answers."""


class _Models:
    """Matrices of :data:`MODELS` for :data:`LONGEST` runs; their leading parts are the matrices for fewer runs.

    Attributes:
        whiten: inverse of the covariance's factor (Cholesky), which makes independent residuals of runs.
        steps: whitened shifts; column k is a shift from run k on, and column 0 is the mean.
        products, squares: sums of the first rows of products of a shift and the mean, and of squares of a shift.
        log_scale: half the logarithm of the covariance's determinant, for each number of runs.
    """

    def __init__(self) -> None:
        places = np.arange(LONGEST)
        distance = np.abs(places[:, np.newaxis] - places)
        covariances = [share * rho**distance + (1 - share) * np.eye(LONGEST) for rho, share in MODELS]
        factors = np.linalg.cholesky(np.array(covariances))
        self.whiten = np.linalg.inv(factors)
        self.steps = self.whiten @ (places[:, np.newaxis] >= places).astype(np.float64)
        self.products = (self.steps * self.steps[:, :, :1]).cumsum(axis=1)
        self.squares = (self.steps**2).cumsum(axis=1)
        self.log_scale = np.log(np.diagonal(factors, axis1=1, axis2=2)).cumsum(axis=1)

    def residuals(self, rows: Values) -> Values:
        """Whiten rows of shape (rows, runs) without their means; the result has shape (models, rows, runs)."""
        size = rows.shape[1]
        mean = self.steps[:, :size, :1]
        white = rows @ self.whiten[:, :size, :size].transpose(0, 2, 1)
        means = (white @ mean) / self.products[:, size - 1, 0, np.newaxis, np.newaxis]
        return np.asarray(white - means * mean.transpose(0, 2, 1))

    def explained(self, residuals: Values) -> Values:
        """Return the squares that a shift explains, by model, row and run from which the shift may last."""
        size = residuals.shape[2]
        shifts = slice(SHORTEST, size - SHORTEST + 1)
        products, squares = self.products[:, size - 1], self.squares[:, size - 1]
        left = squares[:, shifts] - products[:, shifts] ** 2 / products[:, :1]
        # The residuals have no mean, so that the mean part of a shift does not count.
        return np.asarray((residuals @ self.steps[:, :size, shifts]) ** 2 / left[:, np.newaxis, :])


@cache
def _models() -> _Models:
    return _Models()


def likely_shift(values: Values, alpha: float) -> tuple[int, float] | None:
    """Return the first run after the likeliest shift, and its p; None if p is above ``alpha``.

    Args:
        values: from 2 * :data:`SHORTEST` to :data:`LONGEST` finite values in the order of time.
        alpha: level of the test.

    The p value is at least the chance that the runs on one side of the shift are the smallest or the largest by luck:
    2 / C(n, k) for k of n exchangeable runs.
    """
    if np.ptp(values) == 0:
        return None
    statistics, places, models = _ratios(values[np.newaxis, :])
    statistic, place = float(statistics[0]), int(places[0])
    least = min(1.0, 2 / comb(len(values), place))
    # A shift at a given place has a chi-squared statistic; the best of many places is larger.
    if least > alpha or statistic < chdtri(1, alpha):
        return None
    p = max(least, _p_value(values, statistic, int(models[0])))
    return (place, p) if p <= alpha else None


def likeliest(values: Values, first: int, middle: int, last: int) -> int:
    """Return the likeliest place of a shift between two indices, from the :data:`LONGEST` values around ``middle``."""
    if last - first < 2 * SHORTEST:
        return middle
    first, last = max(first, middle - LONGEST // 2), min(last, middle + LONGEST // 2)
    part = values[first:last]
    return first + int(_ratios(part[np.newaxis, :])[1][0]) if np.ptp(part) else middle


def _ratios(rows: Values) -> tuple[Values, NDArray[np.int64], NDArray[np.int64]]:
    """Return, for each row, the likelihood ratio of a shift, the run from which it lasts, and the bootstrap's model."""
    matrices, size = _models(), rows.shape[1]
    residuals = matrices.residuals(rows)
    squares = (residuals**2).sum(axis=2)
    scale = matrices.log_scale[:, size - 1, np.newaxis]
    without = -size / 2 * np.log(squares) - scale
    left = np.maximum(1 - matrices.explained(residuals) / squares[:, :, np.newaxis], _EXACT)
    shifted = without[:, :, np.newaxis] - size / 2 * np.log(left)
    places = shifted.max(axis=0).argmax(axis=1)
    best = shifted[:, np.arange(len(rows)), places]
    possible = 2 * (best.max(axis=0) - best) <= MARGIN
    models = len(MODELS) - 1 - possible[::-1].argmax(axis=0)
    return 2 * (best.max(axis=0) - without.max(axis=0)), places + SHORTEST, models


def _p_value(values: Values, statistic: float, model: int) -> float:
    """Return the chance that a bootstrapped series reaches ``statistic``.

    The chance is the share of the series, as soon as :data:`ENOUGH` series reach the statistic (Besag & Clifford 1991).
    Otherwise it is extrapolated: the logarithm of a likelihood ratio's p is nearly linear in the ratio, so that the
    excess over a high quantile is exponential. Its mean is estimated from the :data:`TAIL` largest ratios.
    """
    random = np.random.default_rng(_SEED)
    ratios = np.empty(0)
    while len(ratios) < DRAWS:
        series = _drawn(values, model, min(_BATCH, DRAWS - len(ratios)), random)
        ratios = np.concatenate([ratios, _ratios(series)[0]])
        reached = int((ratios >= statistic).sum())
        if reached >= ENOUGH:
            return (reached + 1) / (len(ratios) + 1)
    largest = np.sort(ratios)[::-1][: TAIL + 1]
    quantile = float(largest[TAIL])
    excess = float(largest[:TAIL].mean()) - quantile
    return TAIL / DRAWS * exp(-(statistic - quantile) / excess)


def _drawn(values: Values, model: int, count: int, random: np.random.Generator) -> Values:
    """Draw series of a model: normal wandering, and the standardised residuals in random order as noise."""
    rho, share = MODELS[model]
    residuals = _models().residuals(values[np.newaxis, :])[model, 0]
    noise = random.permuted(np.broadcast_to(residuals / residuals.std(), (count, len(values))), axis=1)
    if not share:
        return noise
    from scipy.signal import lfilter  # takes 0.2 s to load, and few series need the bootstrap

    fresh = random.standard_normal(noise.shape)
    fresh[:, 1:] *= sqrt(1 - rho**2)
    return np.asarray(sqrt(share) * lfilter([1.0], [1.0, -rho], fresh, axis=1) + sqrt(1 - share) * noise)
