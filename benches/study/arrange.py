"""The same trials in the order of schedlab's plan and in the usual order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from schedlab.experiment.seeds import permutation

Floats = NDArray[np.float64]
Orders = NDArray[np.bool_]


def drawn_orders(seed: int, campaigns: int, blocks: int) -> Orders:
    """Whether the variant precedes the baseline, shape (campaigns, blocks), drawn by the plan.

    Each campaign is a run with a seed of its own; ``seed`` tells one study's campaigns from another's.
    """
    runs = (seed * 1_000_003 + campaign for campaign in range(campaigns))
    return np.array([[permutation(run, block, "variant", 2)[0] == 1 for block in range(1, blocks + 1)] for run in runs])


def in_blocks(series: Floats, variant_first: Orders) -> tuple[Floats, Floats]:
    """Baseline and variant, each (rows, blocks, iterations), of visits in time (rows, 2 x blocks, iterations).

    ``variant_first`` is (campaigns, blocks); the rows of a campaign follow each other and share its order.
    """
    rows, visits, iterations = series.shape
    first = np.repeat(variant_first, rows // len(variant_first), axis=0)[:, :, None]
    pairs = series.reshape(rows, visits // 2, 2, iterations)
    return np.where(first, pairs[:, :, 1], pairs[:, :, 0]), np.where(first, pairs[:, :, 0], pairs[:, :, 1])


def apart(series: Floats) -> tuple[Floats, Floats]:
    """ "A…A then B…B": the first half of the time and the second, all trials pooled, each (rows, samples)."""
    rows, visits, _ = series.shape
    return series[:, : visits // 2].reshape(rows, -1), series[:, visits // 2 :].reshape(rows, -1)
