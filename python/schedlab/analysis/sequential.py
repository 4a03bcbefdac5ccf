"""Looking at a run before its end without more false alarms: group-sequential tests with an α-spending function.

The error rate is spent over the looks by the function of Lan & DeMets 1983 with the shape of O'Brien & Fleming 1979:
next to nothing early, almost all of it at the end. A look's nominal level is what a single p value is held against
there. The spending function sees the share of the blocks that were measured, never the results.

Over many rows each hypothesis is spent at its own step of the correction (Maurer & Bretz 2013). For that a row's p
values at the looks so far become one *sequential p value*, the smallest overall level at which one of them would have
rejected (Liu & Anderson 2008), and these are corrected like any others.
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
"""Gauss–Legendre nodes for each look's density: at 20 looks four times as many move no boundary by 1e-7."""

FAR = 8.0
"""Standard deviations beyond which a normal density is taken for nothing (6e-16)."""


@dataclass(frozen=True)
class Course:
    """How far a sequential run has come.

    ``looks`` are the blocks after which it was to be looked at, the last of them its full size; ``taken`` of them were.
    ``level`` is the last look's nominal two-sided level for a single row: intervals are drawn at 1 − level, and hold
    at every look together (repeated confidence intervals, Jennison & Turnbull 1989). nan where none was taken.
    """

    looks: tuple[int, ...]
    taken: int
    level: float

    @property
    def blocks(self) -> int:
        """The blocks that verdicts rest on; 0 before the first look."""
        return self.looks[self.taken - 1] if self.taken else 0

    @property
    def stopped(self) -> bool:
        """Whether looks are left; in a run that is complete they are when everything was decided before."""
        return self.taken < len(self.looks)

    def told(self, *, complete: bool) -> str:
        """In words for a report; ``complete``: nothing more will be measured."""
        if not self.taken:
            return f"nothing is judged before the first look, after block {self.looks[0]} of {self.looks[-1]}"
        if not complete:
            head = f"judged by the {self.blocks} blocks of look {self.taken} of {len(self.looks)}; the run goes on"
        elif self.stopped:
            head = (
                f"stopped after block {self.blocks} of {self.looks[-1]}, at look {self.taken} of {len(self.looks)}: "
                "every row was decided"
            )
        else:
            head = f"judged after all {self.blocks} blocks, the last of {len(self.looks)} looks"
        return f"{head}; the nominal level of this look is {self.level:.2g}, and intervals are drawn at it"


def course(looks: Sequence[int], alpha: float, done: int) -> Course:
    """The course of a run of which ``done`` blocks are complete."""
    taken = sum(blocks <= done for blocks in looks)
    level = nominal(tuple(looks), alpha)[taken - 1] if taken else nan
    return Course(tuple(looks), taken, level)


def boundaries(alpha: float, shares: Sequence[float], sides: Sides = 2) -> tuple[float, ...]:
    """The z value that a test must reach at each look, for an overall level ``alpha``.

    Args:
        alpha: the chance of any false alarm over all looks; each of two sides spends half of it.
        shares: of the whole information, at each look: rising, the last at most 1.
        sides: 2 for "differs", 1 for "exceeds".
    """
    return tuple(float(z) for z in _boundaries(np.array([alpha]), tuple(shares), sides)[0])


def levels(alpha: float, shares: Sequence[float], sides: Sides = 2) -> tuple[float, ...]:
    """The nominal level at each look: what its p value, of as many sides, is held against."""
    return tuple(float(sides * ndtr(-z)) for z in boundaries(alpha, shares, sides))


@lru_cache(maxsize=64)
def nominal(looks: tuple[int, ...], alpha: float) -> tuple[float, ...]:
    """The two-sided nominal level at each look, these being the blocks after which they come, the last of them all."""
    return levels(alpha, _shares(looks), 2)


def overall(p_values: Sequence[float], looks: Sequence[int], sides: Sides) -> tuple[float, ...]:
    """The sequential p value after each look so far: compare it with the overall α (Liu & Anderson 2008).

    ``p_values`` are those of the looks taken, ``looks`` the blocks of all that were planned. Levels above one half are
    told as 1: nobody tests there.
    """
    of_level, at_looks = _table(_shares(looks), sides)
    found = []
    for p, at_look in zip(p_values, at_looks.T, strict=False):
        z = -float(ndtri(p / sides))
        # Beyond the table's smallest level its end is told, never less.
        known = float(sides * ndtr(-np.interp(z, at_look, of_level)))
        found.append(1.0 if z < at_look[0] else known)
    return tuple(np.minimum.accumulate(found).tolist())


def _shares(looks: Sequence[int]) -> tuple[float, ...]:
    return tuple(blocks / looks[-1] for blocks in looks)


@lru_cache(maxsize=16)
def _table(shares: tuple[float, ...], sides: Sides) -> tuple[Floats, Floats]:
    """z of overall levels from one half down to 1e-12, shape (levels,), and their boundaries, (levels, looks).

    Each boundary rises with z, all but straight: between 200 levels the straight line errs by less than 1e-4 of α.
    """
    of_level = np.linspace(-ndtri(0.5 / sides), 7.0, 200)
    return of_level, _boundaries(sides * ndtr(-of_level), shares, sides)


def _spent(alphas: Floats, share: float, sides: Sides) -> Floats:
    """log of what each side has spent by this share: 2(1 − Φ(z_{α/2} / √share)) (Lan & DeMets 1983, α₁*)."""
    z = -ndtri(alphas / sides / 2) / sqrt(min(share, 1.0))
    return np.asarray(np.log(2) + log_ndtr(-z), dtype=np.float64)


def _boundaries(alphas: Floats, shares: tuple[float, ...], sides: Sides) -> Floats:
    """Boundaries for each of several overall levels, shape (levels, looks).

    By recursion over the density of the score, a Brownian motion seen at the shares, where no boundary was reached
    before (Armitage, McPherson & Rowe 1969).
    """
    found = np.empty((len(alphas), len(shares)))
    spent = _spent(alphas, shares[0], sides)
    found[:, 0] = -ndtri_exp(spent)
    nodes, density = _first_density(found[:, 0] * sqrt(shares[0]), shares[0], sides)
    for look in range(1, len(shares)):
        step, now = sqrt(shares[look] - shares[look - 1]), _spent(alphas, shares[look], sides)
        target = np.exp(now) - np.exp(spent)
        bound = _solve(nodes, density, step, target, FAR * sqrt(shares[look]))
        found[:, look] = bound / sqrt(shares[look])
        spent = now
        if look + 1 < len(shares):
            nodes, density = _next_density(nodes, density, step, bound, shares[look], sides)
    return found


def _grid(bound: Floats, share: float, sides: Sides) -> tuple[Floats, Floats]:
    """Nodes and weights over the scores that go on, shape (levels, nodes)."""
    x, weights = np.polynomial.legendre.leggauss(NODES)
    far = FAR * sqrt(share)
    high = np.minimum(bound, far)
    low = -high if sides == 2 else np.full_like(high, -far)
    half = ((high - low) / 2)[:, None]
    return low[:, None] + half * (x + 1), half * weights


def _first_density(bound: Floats, share: float, sides: Sides) -> tuple[Floats, Floats]:
    """Nodes, and the density at them times their weights."""
    nodes, weights = _grid(bound, share, sides)
    return nodes, weights * np.exp(-(nodes**2) / (2 * share)) / sqrt(2 * np.pi * share)


def _next_density(
    nodes: Floats, density: Floats, step: float, bound: Floats, share: float, sides: Sides
) -> tuple[Floats, Floats]:
    new, weights = _grid(bound, share, sides)
    kernel = np.exp(-(((new[:, :, None] - nodes[:, None, :]) / step) ** 2) / 2) / (step * sqrt(2 * np.pi))
    return new, weights * np.einsum("lij,lj->li", kernel, density)


def _solve(nodes: Floats, density: Floats, step: float, target: Floats, far: float) -> Floats:
    """The score above which just ``target`` of the density ends up after one more step, for each level."""
    low, high = np.full(len(nodes), -far), np.full(len(nodes), far)
    for _ in range(60):
        middle = (low + high) / 2
        above = (density * ndtr((nodes - middle[:, None]) / step)).sum(axis=1)
        low, high = np.where(above > target, middle, low), np.where(above > target, high, middle)
    return np.asarray((low + high) / 2, dtype=np.float64)
