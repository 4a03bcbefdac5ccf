"""Equivalence: share of rows called equivalent with a difference at the margin, and without a difference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from benches.study.arrange import drawn_orders, in_blocks
from benches.study.coverage import DESIGNS
from benches.study.false_alarms import ALPHA, ITERATIONS
from benches.study.noise import KINDS, drawn, seeded
from benches.study.ours import judged

from schedlab.analysis.verdicts import Options

DELTA = 0.02
"""The margin: as large as a trial's spread, so that some designs can show equivalence and others cannot."""


@dataclass(frozen=True)
class Equivalence:
    """Shares of rows shown to lie inside ±δ: ``p_equivalent`` at or below α, whatever the other tests say.

    ``at_margin``: the true ratio is 1 + δ or its inverse, and every such row is an error. ``equal``: it is 1.
    """

    kind: str
    blocks: int
    at_margin: float
    equal: float


def called_equivalent(kind: str, blocks: int, campaigns: int, seed: int) -> Equivalence:
    """Simulate campaigns at the margin (half of them above, half below) and without a difference, and count."""
    series = drawn(kind, seeded(kind, seed, blocks), campaigns, 2 * blocks, ITERATIONS)
    baseline, variant = in_blocks(series, drawn_orders(seed, campaigns, blocks))
    at_margin = np.where(np.arange(campaigns) % 2, 1 + DELTA, 1 / (1 + DELTA))[:, None, None]
    shares = [
        float(np.mean(judged(baseline, ratio * variant, Options(ALPHA, DELTA)).p_equivalent <= ALPHA))
        for ratio in (at_margin, 1.0)
    ]
    return Equivalence(kind, blocks, *shares)


def study(campaigns: int, seed: int) -> Iterator[Equivalence]:
    """Every kind and design."""
    for kind in KINDS:
        for blocks in DESIGNS:
            yield called_equivalent(kind, blocks, campaigns, seed)
