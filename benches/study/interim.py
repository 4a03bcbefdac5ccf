"""Interim analyses: the group-sequential design compared with "measure until the difference is significant"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from benches.study.arrange import draw_orders, in_blocks
from benches.study.false_alarms import ALPHA, ITERATIONS
from benches.study.judging import judge_rows
from benches.study.noise import KINDS, draw, generator
from numpy.typing import NDArray

from schedlab.analysis.signflip import p_value
from schedlab.analysis.verdicts import Options
from schedlab.experiment.model import LOOKS, Design

Floats = NDArray[np.float64]

BLOCKS = 20
FIRST = 6
"""First analysis, in blocks, of the design with an analysis after every block. Fewer blocks cannot reject at 5 %."""

SHIFT = 0.01
"""True change in the columns about power: the variant takes 1 % longer."""


@dataclass(frozen=True)
class Sequential:
    """Results of sequential designs, for one kind of noise.

    Shares of campaigns without a change that are called better or worse: ``spending``, with α spent over the interim
    analyses as schedlab does; ``unspent``, with every analysis at α; ``until``, with an analysis after every block
    until p is at or below α.

    Campaigns with a change of 1 %: ``detected``, share called better or worse by schedlab's interim analyses, after
    ``blocks_used`` blocks on average; ``fixed``, share called by a single test after the last block.
    """

    kind: str
    spending: float
    unspent: float
    until: float
    detected: float
    blocks_used: float
    fixed: float


def sequential(kind: str, campaigns: int, seed: int, blocks: int = BLOCKS) -> Sequential:
    """Simulate campaigns of one kind of noise: all without a change, and a quarter of them also with a change."""
    series = draw(kind, generator(kind, seed, blocks), campaigns, 2 * blocks, ITERATIONS)
    baseline, variant = in_blocks(series, draw_orders(seed, campaigns, blocks))
    analyses = Design(blocks=blocks, stopping="sequential", looks=LOOKS).look_blocks
    # Equivalence also stops a run, and takes precedence over a difference. A negligible margin excludes equivalence.
    single_test = Options(ALPHA, delta=1e-9)
    spending = replace(single_test, looks=analyses)
    quarter = slice(0, campaigns, 4)
    reference, changed = baseline[quarter], (1 + SHIFT) * variant[quarter]
    detected = judge_rows(reference, changed, spending)
    ratios = np.log(variant.mean(axis=2)) - np.log(baseline.mean(axis=2))
    significant = np.array([[p_value(row[:n], seed) <= ALPHA for n in range(FIRST, blocks + 1)] for row in ratios])
    return Sequential(
        kind,
        spending=float(judge_rows(baseline, variant, spending).called.mean()),
        unspent=float(significant[:, [n - FIRST for n in analyses if n >= FIRST]].any(axis=1).mean()),
        until=float(significant.any(axis=1).mean()),
        detected=float(detected.called.mean()),
        blocks_used=float(np.nan_to_num(detected.decided, nan=blocks).mean()),
        fixed=float(judge_rows(reference, changed, single_test).called.mean()),
    )


def study(campaigns: int, seed: int) -> Iterator[Sequential]:
    """Yield the results for each kind of noise."""
    for kind in KINDS:
        yield sequential(kind, campaigns, seed)
