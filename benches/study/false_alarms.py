"""False alarms: share of unchanged rows called better or worse, by schedlab's verdicts and by other rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

import numpy as np
from benches.study import rules
from benches.study.arrange import Floats, Orders, draw_orders, first_and_second_half, in_blocks
from benches.study.judging import judge_rows
from benches.study.noise import KINDS, WIDER, draw, generator, of_variant

from schedlab.analysis.multiplicity import Correction
from schedlab.analysis.verdicts import Options

ALPHA = 0.05
ROWS = 5
"""Rows of a campaign, whose p values are corrected together."""

CORRECTIONS: tuple[Correction, ...] = ("max-t", "holm")

ITERATIONS = 5
DESIGNS = (8, 12, 20)

POOLED = (5, 20)
"""Boots per variant, and iterations per boot, of :func:`pooled_boots`."""


@dataclass(frozen=True)
class Shares:
    """Shares of false alarms: rows or campaigns called better or worse, for one kind of noise and one design.

    Attributes:
        count: number of simulated campaigns.
        single: campaigns with one row.
        rows: rows of campaigns with several rows under the joint test.
        campaigns: the same campaigns, with any false alarm.
        holm: the same campaigns under Holm's correction, with any false alarm.
        fixed: campaigns with one row that measure the baseline first in each block.
        welch, star_2018, star_2024: the other rules, on the trials of ``single`` in the usual arrangement.
    """

    kind: str
    blocks: int
    iterations: int
    count: int
    single: float
    rows: float
    campaigns: float
    holm: float
    fixed: float
    welch: float
    star_2018: float
    star_2024: float


def bound(count: int, alpha: float = ALPHA) -> float:
    """Return α plus two standard errors of a share among ``count`` campaigns."""
    return alpha + 2 * sqrt(alpha * (1 - alpha) / count)


def shares(kind: str, blocks: int, iterations: int, campaigns: int, seed: int) -> Shares:
    """Simulate campaigns without a change, of one kind of noise and one design; return each rule's false alarms."""
    series = draw(kind, generator(kind, seed, blocks), campaigns * ROWS, 2 * blocks, iterations)

    def pairs(visits: Floats, variant_first: Orders) -> tuple[Floats, Floats]:
        baseline, variant = in_blocks(visits, variant_first)
        return baseline, of_variant(kind, variant)

    verdicts = judge_rows(*pairs(series, draw_orders(seed, campaigns, blocks)), Options(ALPHA))
    joint, holm = (verdicts.campaigns_called(ROWS, ALPHA, correction) for correction in CORRECTIONS)
    single = series[::ROWS]
    fixed = judge_rows(*pairs(single, np.zeros((campaigns, blocks), dtype=np.bool_)), Options(ALPHA))
    a, b = first_and_second_half(single)
    b = of_variant(kind, b)
    return Shares(
        kind,
        blocks,
        iterations,
        campaigns,
        single=float(verdicts.called[::ROWS].mean()),
        rows=float(joint.mean()),
        campaigns=float(joint.any(axis=1).mean()),
        holm=float(holm.any(axis=1).mean()),
        fixed=float(fixed.called.mean()),
        welch=float(rules.welch(a, b).mean()),
        star_2018=float(rules.star_2018(a, b).mean()),
        star_2024=float(rules.star_2024(a, b).mean()),
    )


def pooled_boots(campaigns: int, seed: int) -> Shares:
    """Return the false alarms of campaigns with five boots per variant and twenty iterations per boot.

    A rule that pools iterations judges 100 samples per variant. schedlab judges five blocks, which are too few.
    """
    blocks, iterations = POOLED
    return shares("two-level", blocks, iterations, campaigns, seed)


def study(campaigns: int, seed: int) -> Iterator[Shares]:
    """Yield the shares for each kind of noise and each design, for pooled boots, and for the wider variant."""
    for kind in KINDS:
        for blocks in DESIGNS:
            yield shares(kind, blocks, ITERATIONS, campaigns, seed)
    yield pooled_boots(campaigns, seed)
    for iterations in (ITERATIONS, 1):
        yield shares(WIDER, 12, iterations, campaigns, seed)
