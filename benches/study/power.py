"""Power: share in which a change of 1, 2 or 5 % is found in noise recorded on a real machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from benches.study import rules
from benches.study.arrange import apart, drawn_orders, in_blocks
from benches.study.false_alarms import ALPHA
from benches.study.ours import judged
from benches.study.recorded import Recording, recordings, windows
from numpy.typing import NDArray

from schedlab.analysis.verdicts import Options

Floats = NDArray[np.float64]
Calls = NDArray[np.bool_]

SHIFTS = (0.01, 0.02, 0.05)
"""Slow-downs of the variant's trials."""

DESIGNS = (8, 20, 40)


@dataclass(frozen=True)
class Found:
    """Shares of campaigns by one rule: without a change called better or worse (``nothing``), with each of
    :data:`SHIFTS` called worse, and with the smallest shift called better (``reversed``)."""

    nothing: float
    shifts: tuple[float, ...]
    reversed: float


@dataclass(frozen=True)
class Power:
    """Results of each rule in one recording's noise, with this many blocks per campaign."""

    label: str
    blocks: int
    ours: Found
    welch: Found
    star_2018: Found
    star_2024: Found


def power(source: Recording, blocks: int, count: int, seed: int) -> Power:
    """Campaigns on spans of the recorded time, drawn with replacement, with the variant's trials made slower.

    Ours has its order drawn anew for each; in "A…A then B…B" the second half is the variant's.
    """
    rng = np.random.default_rng([seed, blocks])
    visits = windows(source, blocks, rng.integers(0, source.blocks - blocks + 1, size=count))
    baseline, variant = in_blocks(visits, drawn_orders(seed, count, blocks))
    a, b = apart(visits)
    calls = [
        (_ours(baseline, (1 + shift) * variant), *(_theirs(rule, a, (1 + shift) * b) for rule in RULES))
        for shift in (0.0, *SHIFTS)
    ]
    return Power(source.label, blocks, *(_found(rule) for rule in zip(*calls, strict=True)))


RULES = (rules.welch, rules.star_2018, rules.star_2024)

Shares = tuple[float, float]
"""Of campaigns called better, and called worse."""


def _ours(baseline: Floats, variant: Floats) -> Shares:
    found = judged(baseline, variant, Options(ALPHA))
    return float((found.called & ~found.worse).mean()), float(found.worse.mean())


def _theirs(rule: Callable[[Floats, Floats], Calls], a: Floats, b: Floats) -> Shares:
    called, slower = rule(a, b), b.mean(axis=1) > a.mean(axis=1)
    return float((called & ~slower).mean()), float((called & slower).mean())


def _found(of_shifts: Sequence[Shares]) -> Found:
    nothing, *changes = of_shifts
    return Found(sum(nothing), tuple(worse for _, worse in changes), changes[0][0])


def study(count: int, seed: int) -> Iterator[Power]:
    """Every recording and design."""
    for source in recordings():
        for blocks in DESIGNS:
            yield power(source, blocks, count, seed)
