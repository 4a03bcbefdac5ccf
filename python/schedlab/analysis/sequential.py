"""Interim analyses without more false alarms: group-sequential tests with an α-spending function.

The error rate is spent over the interim analyses by the function of Lan & DeMets 1983 with the shape of O'Brien &
Fleming 1979: very little at early analyses, almost all at the last analysis. The nominal level of an interim analysis
is the limit of a single p value at this analysis. The spending function depends on the share of measured blocks, never
on the results.

A row's p values at the interim analyses so far become one *sequential p value*, the smallest overall level at which
an interim analysis would have rejected (Liu & Anderson 2008). Under Holm's correction each row has a separate
sequential p value, and these values are corrected like other p values (Maurer & Bretz 2013). A joint test of ``rows``
rows has a single p for all rows at each interim analysis. The rows together spend the error, and the boundaries are
computed for independent rows. The row with the largest statistic seldom remains the same from one analysis to the next,
so that the boundaries of a single row would be crossed too often (5.5 % instead of 5 % for 60 independent rows and four
analyses). Dependent rows cross the boundaries less often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import nan, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp

Sides = Literal[1, 2]
Floats = NDArray[np.float64]

NODES = 64
"""Gauss–Legendre nodes for the density at each analysis: at 20 analyses, four times as many nodes move no boundary by
1e-7."""

FAR = 8.0
"""Standard deviations beyond which a normal density is taken as 0 (6e-16)."""


@dataclass(frozen=True)
class Course:
    """Progress of a sequential run.

    Attributes:
        looks: blocks after which the plan has an interim analysis; the last number is the full size.
        taken: number of interim analyses so far.
        level: nominal two-sided level of the last interim analysis for a single row, nan before the first. Intervals at
            1 − level hold simultaneously at all interim analyses (repeated confidence intervals, Jennison & Turnbull
            1989).
        planned: whether the design has interim analyses; an interrupted run of fixed size has an unplanned analysis.
    """

    looks: tuple[int, ...]
    taken: int
    level: float
    planned: bool = True

    @property
    def blocks(self) -> int:
        """Number of blocks that the verdicts use; 0 before the first interim analysis."""
        return self.looks[self.taken - 1] if self.taken else 0

    def interval_level(self, alpha: float, intervals: int = 1) -> float:
        """Return the level for this number of simultaneous intervals; ``alpha`` before the first interim analysis."""
        return nominal(self.looks, alpha, intervals)[self.taken - 1] if self.taken else alpha

    @property
    def stopped(self) -> bool:
        """Whether planned interim analyses remain. In a complete run this means that every row was decided early."""
        return self.taken < len(self.looks)

    def describe(self, *, complete: bool) -> str:
        """Describe the progress for a report; ``complete``: no further blocks will be measured."""
        if not self.planned:
            return self._unplanned()
        if not self.taken:
            return f"no verdicts before the first interim analysis, after block {self.looks[0]} of {self.looks[-1]}"
        analysis = f"interim analysis {self.taken} of {len(self.looks)}"
        if not complete:
            head = f"judged by the {self.blocks} blocks of {analysis}; the run goes on"
        elif self.stopped:
            head = f"stopped after block {self.blocks} of {self.looks[-1]}, at {analysis}: every row was decided"
        else:
            head = f"judged after all {self.blocks} blocks, at the last of {len(self.looks)} interim analyses"
        return f"{head}; the nominal level of this analysis is {self.level:.2g}, also for the intervals"

    def _unplanned(self) -> str:
        if not self.taken:
            return f"no verdicts before the first complete block of {self.looks[-1]}"
        return (
            f"judged by {self.blocks} of {self.looks[-1]} blocks, as at an interim analysis: the run did not end. "
            f"The nominal level is {self.level:.2g}, also for the intervals; 'schedlab run --resume' continues the run"
        )


def course(looks: Sequence[int], alpha: float, done: int, *, planned: bool = True) -> Course:
    """Return the progress of a run with ``done`` complete blocks; see :attr:`Course.planned`."""
    taken = sum(blocks <= done for blocks in looks)
    level = nominal(tuple(looks), alpha)[taken - 1] if taken else nan
    return Course(tuple(looks), taken, level, planned)


def levels(alpha: float, shares: Sequence[float], sides: Sides = 2, rows: int = 1) -> tuple[float, ...]:
    """Return the nominal level at each interim analysis: the limit of a p value with this number of ``sides``.

    Args:
        alpha: probability of any false alarm over all interim analyses; with two sides, each side spends one half.
        shares: share of the information at each interim analysis, in rising order, at most 1.
        sides: 2 for "differs", 1 for "exceeds".
        rows: number of rows that the p value tests together.
    """
    bounds = _boundaries(np.array([alpha]), tuple(shares), sides, rows)[0]
    return tuple(float(sides * ndtr(-z)) for z in bounds)


@lru_cache(maxsize=64)
def nominal(looks: tuple[int, ...], alpha: float, rows: int = 1) -> tuple[float, ...]:
    """Return the two-sided nominal level at each interim analysis; ``looks`` are the blocks of the analyses."""
    return levels(alpha, _shares(looks), 2, rows)


def overall(p_values: Sequence[float], looks: Sequence[int], sides: Sides, rows: int = 1) -> tuple[float, ...]:
    """Return the sequential p value after each interim analysis so far, to be compared with the overall α.

    ``p_values`` contains a p value for each interim analysis so far, each for ``rows`` rows together. ``looks``
    contains the blocks of all planned analyses. Results above one half become 1, because no test has such a level.
    Source: Liu & Anderson 2008.
    """
    overall_z, bounds = _table(_shares(looks), sides, rows)
    sequential = []
    for p, analysis_bounds in zip(p_values, bounds.T, strict=False):
        z = -float(ndtri(p / sides))
        # For a p below the table, interp() returns the table's smallest level.
        interpolated = float(sides * ndtr(-np.interp(z, analysis_bounds, overall_z)))
        sequential.append(1.0 if z < analysis_bounds[0] else interpolated)
    return tuple(np.minimum.accumulate(sequential).tolist())


def _shares(looks: Sequence[int]) -> tuple[float, ...]:
    return tuple(blocks / looks[-1] for blocks in looks)


@lru_cache(maxsize=16)
def _table(shares: tuple[float, ...], sides: Sides, rows: int) -> tuple[Floats, Floats]:
    """Return z of overall levels from one half to 1e-12, shape (levels,), and their boundaries, (levels, analyses).

    Each boundary rises almost linearly with z: linear interpolation between 200 levels has an error below 1e-4 of α.
    """
    overall_z = np.linspace(-ndtri(0.5 / sides), 7.0, 200)
    return overall_z, _boundaries(sides * ndtr(-overall_z), shares, sides, rows)


def _spent(alphas: Floats, share: float, sides: Sides) -> Floats:
    """Return the log of the error spent by each side at this share: 2(1 − Φ(z_{α/2} / √share)) (Lan & DeMets 1983)."""
    z = -ndtri(alphas / sides / 2) / sqrt(min(share, 1.0))
    return np.asarray(np.log(2) + log_ndtr(-z), dtype=np.float64)


def _of_any(log_error: Floats, sides: Sides, rows: float) -> Floats:
    """Return the log of each side's error of any of ``rows`` independent rows, from the log of a single row's error.

    With 1 / rows as ``rows``, convert from the error of any row to the error of a single row. Errors below e⁻²⁰ are
    added.
    """
    exact = np.log(-np.expm1(rows * np.log1p(-sides * np.exp(np.maximum(log_error, -20.0)))) / sides)
    return np.asarray(np.where(log_error < -20.0, log_error + np.log(rows), exact), dtype=np.float64)


def _boundaries(alphas: Floats, shares: tuple[float, ...], sides: Sides, rows: int) -> Floats:
    """Return the boundaries of each overall level for ``rows`` rows together, shape (levels, analyses).

    The recursion is over the density of the score, a Brownian motion at the shares, on paths that have not reached a
    boundary before (Armitage, McPherson & Rowe 1969).
    """
    bounds = np.empty((len(alphas), len(shares)))
    spent = _of_any(_spent(alphas, shares[0], sides), sides, 1 / rows)
    bounds[:, 0] = -ndtri_exp(spent)
    nodes, density = _first_density(bounds[:, 0] * sqrt(shares[0]), shares[0], sides)
    for analysis in range(1, len(shares)):
        step = sqrt(shares[analysis] - shares[analysis - 1])
        spent_now = _of_any(_spent(alphas, shares[analysis], sides), sides, 1 / rows)
        target = np.exp(spent_now) - np.exp(spent)
        bound = _solve(nodes, density, step, target, FAR * sqrt(shares[analysis]))
        bounds[:, analysis] = bound / sqrt(shares[analysis])
        spent = spent_now
        if analysis + 1 < len(shares):
            nodes, density = _next_density(nodes, density, step, bound, shares[analysis], sides)
    return np.asarray(-ndtri_exp(_of_any(log_ndtr(-bounds), sides, rows)), dtype=np.float64)


def _grid(bound: Floats, share: float, sides: Sides) -> tuple[Floats, Floats]:
    """Return nodes and weights over the scores inside the boundary, shape (levels, nodes)."""
    x, weights = np.polynomial.legendre.leggauss(NODES)
    far = FAR * sqrt(share)
    high = np.minimum(bound, far)
    low = -high if sides == 2 else np.full_like(high, -far)
    half = ((high - low) / 2)[:, None]
    return low[:, None] + half * (x + 1), half * weights


def _first_density(bound: Floats, share: float, sides: Sides) -> tuple[Floats, Floats]:
    """Return nodes, and the density at the nodes multiplied by their weights."""
    nodes, weights = _grid(bound, share, sides)
    return nodes, weights * np.exp(-(nodes**2) / (2 * share)) / sqrt(2 * np.pi * share)


def _next_density(
    nodes: Floats, density: Floats, step: float, bound: Floats, share: float, sides: Sides
) -> tuple[Floats, Floats]:
    new, weights = _grid(bound, share, sides)
    kernel = np.exp(-(((new[:, :, None] - nodes[:, None, :]) / step) ** 2) / 2) / (step * sqrt(2 * np.pi))
    return new, weights * np.einsum("lij,lj->li", kernel, density)


def _solve(nodes: Floats, density: Floats, step: float, target: Floats, far: float) -> Floats:
    """Return the score above which ``target`` of the density lies after one more step, for each level."""
    low, high = np.full(len(nodes), -far), np.full(len(nodes), far)
    for _ in range(60):
        middle = (low + high) / 2
        above = (density * ndtr((nodes - middle[:, None]) / step)).sum(axis=1)
        low, high = np.where(above > target, middle, low), np.where(above > target, high, middle)
    return np.asarray((low + high) / 2, dtype=np.float64)
