"""The hierarchical bootstrap: an interval that assumes no symmetry and needs many blocks."""

from __future__ import annotations

from collections.abc import Iterator
from math import nan

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from schedlab.analysis.paired import ratio_of

Floats = NDArray[np.float64]

DRAWS = 9_999
"""Number of resamples: the simulation error of each tail of a 95 % interval is about 1/15 of the tail."""

AT_ONCE = 2_000_000
"""Number of values drawn at a time, 16 MB."""


def bca(baseline: Floats, variant: Floats, confidence: float, seed: int) -> tuple[float, float]:
    """Return the bias-corrected and accelerated interval (Efron 1987) of the ratio variant / baseline: (low, high).

    Blocks are resampled with both variants. Within each block, the iterations of each variant are resampled (the levels
    of Kalibera & Jones 2013). The statistic is the mean over blocks of the log-ratio of the block's means, as in
    :func:`schedlab.analysis.paired.estimate`. For one iteration a block, ``scipy.stats.bootstrap`` gives the same
    result.

    Args:
        baseline, variant: values above 0, shape (blocks, iterations), blocks in the same order; nan for a missing
            iteration, but with at least one value in every block.
        confidence: two-sided confidence of the interval.
        seed: random seed of the draws.

    With few blocks the coverage is below the confidence, see docs/verdicts.md. (nan, nan) below two blocks.
    """
    ratios = np.log(np.nanmean(variant, axis=1)) - np.log(np.nanmean(baseline, axis=1))
    n = len(ratios)
    if n < 2:
        return nan, nan
    mean = float(ratios.mean())
    drawn = np.concatenate(list(_draws(_packed(baseline), _packed(variant), seed)))
    if float(np.ptp(drawn)) == 0:
        return ratio_of(mean), ratio_of(mean)
    share_below = (np.count_nonzero(drawn < mean) + np.count_nonzero(drawn == mean) / 2) / len(drawn)
    bias, acceleration = float(ndtri(share_below)), _acceleration(ratios)
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    shifted = bias + ndtri(tails)
    low, high = np.quantile(drawn, ndtr(bias + shifted / (1 - acceleration * shifted)))
    return ratio_of(float(low)), ratio_of(float(high))


def _acceleration(ratios: Floats) -> float:
    """Return the acceleration from the jackknife over blocks, which are the independent observations."""
    jackknife_means = (ratios.sum() - ratios) / (len(ratios) - 1)
    deviations = jackknife_means.mean() - jackknife_means
    square = float((deviations**2).sum())
    return float((deviations**3).sum()) / (6 * square**1.5) if square > 0 else 0.0


def _packed(values: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return each block's values moved to the front, and their number."""
    order = np.argsort(np.isnan(values), axis=1, kind="stable")
    return np.take_along_axis(values, order, axis=1), np.count_nonzero(~np.isnan(values), axis=1)


Packed = tuple[Floats, NDArray[np.intp]]


def _draws(baseline: Packed, variant: Packed, seed: int) -> Iterator[Floats]:
    """Yield the statistics of the resamples in parts."""
    generator = np.random.Generator(np.random.PCG64(seed))
    n, iterations = len(baseline[1]), max(baseline[0].shape[1], variant[0].shape[1])
    part = max(1, AT_ONCE // (n * iterations))
    for start in range(0, DRAWS, part):
        picked = generator.integers(0, n, size=(min(part, DRAWS - start), n))
        above, below = (np.log(_means(packed, picked, generator)) for packed in (variant, baseline))
        yield (above - below).mean(axis=1)


def _means(packed: Packed, picked: NDArray[np.int64], generator: np.random.Generator) -> Floats:
    """Return the mean of resampled iterations in each picked block, in the shape of ``picked``."""
    values, counts = packed
    if values.shape[1] == 1:
        return np.asarray(values[picked, 0])
    sizes = counts[picked][..., None]
    iterations = (generator.random((*picked.shape, values.shape[1])) * sizes).astype(np.intp)
    drawn = values[picked[..., None], iterations]
    return np.asarray(np.where(np.arange(values.shape[1]) < sizes, drawn, 0).sum(axis=-1) / sizes[..., 0])
