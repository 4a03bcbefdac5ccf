"""False alarms: share of unchanged rows called better or worse, by schedlab's verdicts and by other rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

import numpy as np
from benches.study import rules
from benches.study.arrange import Floats, Orders, apart, drawn_orders, in_blocks
from benches.study.noise import KINDS, WIDER, drawn, of_variant, seeded
from benches.study.ours import judged

from schedlab.analysis.verdicts import Options

ALPHA = 0.05
ROWS = 5
"""Rows of a campaign, corrected together by Holm."""

ITERATIONS = 5
DESIGNS = (8, 12, 20)

POOLED = (5, 20)
"""Boots and iterations of the campaign that pools 100 samples a side (see :func:`pooled_boots`)."""


@dataclass(frozen=True)
class Shares:
    """Shares of rows and of campaigns called better or worse, for one kind of noise and one design.

    ``one``: campaigns of a single row. ``rows`` and ``campaigns``: of several rows after Holm. ``fixed``: a single row
    whose baseline is always measured first. The others see the trials of ``one`` in time order, as "A…A then B…B".
    """

    kind: str
    blocks: int
    iterations: int
    count: int
    one: float
    rows: float
    campaigns: float
    fixed: float
    welch: float
    star_2018: float
    star_2024: float


def bound(count: int, alpha: float = ALPHA) -> float:
    """α plus two standard errors of a share among this many."""
    return alpha + 2 * sqrt(alpha * (1 - alpha) / count)


def shares(kind: str, blocks: int, iterations: int, campaigns: int, seed: int) -> Shares:
    """Simulate A/A campaigns of one kind and design, and count."""
    series = drawn(kind, seeded(kind, seed, blocks), campaigns * ROWS, 2 * blocks, iterations)

    def pairs(visits: Floats, variant_first: Orders) -> tuple[Floats, Floats]:
        baseline, variant = in_blocks(visits, variant_first)
        return baseline, of_variant(kind, variant)

    ours = judged(*pairs(series, drawn_orders(seed, campaigns, blocks)), Options(ALPHA))
    corrected = ours.campaigns_called(ROWS, ALPHA)
    single = series[::ROWS]
    fixed = judged(*pairs(single, np.zeros((campaigns, blocks), dtype=np.bool_)), Options(ALPHA))
    a, b = apart(single)
    b = of_variant(kind, b)
    return Shares(
        kind,
        blocks,
        iterations,
        campaigns,
        one=float(ours.called[::ROWS].mean()),
        rows=float(corrected.mean()),
        campaigns=float(corrected.any(axis=1).mean()),
        fixed=float(fixed.called.mean()),
        welch=float(rules.welch(a, b).mean()),
        star_2018=float(rules.star_2018(a, b).mean()),
        star_2024=float(rules.star_2024(a, b).mean()),
    )


def pooled_boots(campaigns: int, seed: int) -> Shares:
    """Five boots a side with twenty iterations each: pooled, 100 samples a side; in blocks, five, too few to judge."""
    blocks, iterations = POOLED
    return shares("two-level", blocks, iterations, campaigns, seed)


def study(campaigns: int, seed: int) -> Iterator[Shares]:
    """Every kind and design, then the pooled boots, and the variant that is wider than its baseline."""
    for kind in KINDS:
        for blocks in DESIGNS:
            yield shares(kind, blocks, ITERATIONS, campaigns, seed)
    yield pooled_boots(campaigns, seed)
    for iterations in (ITERATIONS, 1):
        yield shares(WIDER, 12, iterations, campaigns, seed)
