"""The same trials in the order of schedlab's plan and in the usual order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from schedlab.experiment.seeds import permutation

Floats = NDArray[np.float64]
Orders = NDArray[np.bool_]


def draw_orders(seed: int, campaigns: int, blocks: int) -> Orders:
    """Draw the order of each block by the method of an experiment's plan.

    Return a mask of shape (campaigns, blocks): True where the variant precedes the baseline. Each campaign is a run
    with a separate random seed. Studies with different ``seed`` have different campaigns.
    """
    runs = (seed * 1_000_003 + campaign for campaign in range(campaigns))
    return np.array([[permutation(run, block, "variant", 2)[0] == 1 for block in range(1, blocks + 1)] for run in runs])


def in_blocks(series: Floats, variant_first: Orders) -> tuple[Floats, Floats]:
    """Divide visits in order of time into visits of the baseline and visits of the variant.

    ``series`` has shape (rows, 2 x blocks, iterations); each block consists of two adjacent visits. ``variant_first``
    has shape (campaigns, blocks); the rows of a campaign are adjacent and share its order. Both results have shape
    (rows, blocks, iterations).
    """
    rows, visits, iterations = series.shape
    first = np.repeat(variant_first, rows // len(variant_first), axis=0)[:, :, None]
    pairs = series.reshape(rows, visits // 2, 2, iterations)
    return np.where(first, pairs[:, :, 1], pairs[:, :, 0]), np.where(first, pairs[:, :, 0], pairs[:, :, 1])


def first_and_second_half(series: Floats) -> tuple[Floats, Floats]:
    """Assign the first half of the visits to the baseline and the second half to the variant ("A…A then B…B").

    The trials of each half are pooled. ``series`` has shape (rows, visits, iterations). Both results have shape (rows,
    samples).
    """
    rows, visits, _ = series.shape
    return series[:, : visits // 2].reshape(rows, -1), series[:, visits // 2 :].reshape(rows, -1)
