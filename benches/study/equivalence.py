"""Equivalence: share of rows called equivalent if the true change equals the margin, and if nothing changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from benches.study.arrange import draw_orders, in_blocks
from benches.study.coverage import DESIGNS
from benches.study.false_alarms import ALPHA, ITERATIONS
from benches.study.judging import judge_rows
from benches.study.noise import KINDS, draw, generator

from schedlab.analysis.verdicts import Options

DELTA = 0.02
"""Equivalence margin. The margin equals a trial's spread, so that some designs can show equivalence and other designs
cannot."""


@dataclass(frozen=True)
class Equivalence:
    """Shares of rows that the equivalence test calls equivalent: its p is at or below α.

    The results of other tests have no effect on these shares. ``at_margin``: share of errors, the true ratio being 1 +
    δ or 1 / (1 + δ). ``equal``: share of correct results, the true ratio being 1.
    """

    kind: str
    blocks: int
    at_margin: float
    equal: float


def equivalence(kind: str, blocks: int, campaigns: int, seed: int) -> Equivalence:
    """Simulate campaigns with a change of +δ or −δ (half of the campaigns each), and the same campaigns without a
    change."""
    series = draw(kind, generator(kind, seed, blocks), campaigns, 2 * blocks, ITERATIONS)
    baseline, variant = in_blocks(series, draw_orders(seed, campaigns, blocks))
    at_margin = np.where(np.arange(campaigns) % 2, 1 + DELTA, 1 / (1 + DELTA))[:, None, None]
    shares = [
        float(np.mean(judge_rows(baseline, ratio * variant, Options(ALPHA, DELTA)).p_equivalent <= ALPHA))
        for ratio in (at_margin, 1.0)
    ]
    return Equivalence(kind, blocks, *shares)


def study(campaigns: int, seed: int) -> Iterator[Equivalence]:
    """Yield the shares for each kind of noise and each design."""
    for kind in KINDS:
        for blocks in DESIGNS:
            yield equivalence(kind, blocks, campaigns, seed)
