"""Interim analyses: the group-sequential design beside "measure until it is significant"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from benches.study.arrange import drawn_orders, in_blocks
from benches.study.false_alarms import ALPHA, ITERATIONS
from benches.study.noise import KINDS, drawn, seeded
from benches.study.ours import judged
from numpy.typing import NDArray

from schedlab.analysis.signflip import p_value
from schedlab.analysis.verdicts import Options
from schedlab.experiment.model import LOOKS, Design

Floats = NDArray[np.float64]

BLOCKS = 20
FIRST = 6
"""Number of blocks from which a sign-flip test can reject at 5 %, where analyses after every block begin."""

SHIFT = 0.01
"""The change in the columns about power."""


@dataclass(frozen=True)
class Looking:
    """Shares of campaigns called better or worse.

    False alarms: ``spending``, with the product's looks; ``unspent``, where each of these looks tests at α;
    ``until``, after every block until p is at or below α. Of a change of 1 %: ``found`` at the looks, after
    ``blocks_used`` blocks on average, and ``fixed``, by one test at the end.
    """

    kind: str
    spending: float
    unspent: float
    until: float
    found: float
    blocks_used: float
    fixed: float


def looking(kind: str, campaigns: int, seed: int, blocks: int = BLOCKS) -> Looking:
    """Simulate campaigns of one kind, without a change and, a quarter of them, with one, and count."""
    series = drawn(kind, seeded(kind, seed, blocks), campaigns, 2 * blocks, ITERATIONS)
    baseline, variant = in_blocks(series, drawn_orders(seed, campaigns, blocks))
    at = Design(blocks=blocks, stopping="sequential", looks=LOOKS).look_blocks
    # Equivalence also stops a run and precedes a difference. With a negligible margin neither design finds any.
    once = Options(ALPHA, delta=1e-9)
    spent = replace(once, looks=at)
    quarter = slice(0, campaigns, 4)
    same, changed = baseline[quarter], (1 + SHIFT) * variant[quarter]
    found = judged(same, changed, spent)
    ratios = np.log(variant.mean(axis=2)) - np.log(baseline.mean(axis=2))
    significant = np.array([[p_value(row[:n], seed) <= ALPHA for n in range(FIRST, blocks + 1)] for row in ratios])
    return Looking(
        kind,
        spending=float(judged(baseline, variant, spent).called.mean()),
        unspent=float(significant[:, [n - FIRST for n in at if n >= FIRST]].any(axis=1).mean()),
        until=float(significant.any(axis=1).mean()),
        found=float(found.called.mean()),
        blocks_used=float(np.nan_to_num(found.decided, nan=blocks).mean()),
        fixed=float(judged(same, changed, once).called.mean()),
    )


def study(campaigns: int, seed: int) -> Iterator[Looking]:
    """Every kind."""
    for kind in KINDS:
        yield looking(kind, campaigns, seed)
