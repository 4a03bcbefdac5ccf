"""A change of spread: there a verdict on the mean promises less than it says, as docs/statistics.md shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import stdtr

from schedlab.analysis.cells import block_means
from schedlab.analysis.verdicts import Verdict
from schedlab.analysis.warnings import Kind, Warning

FEWEST = 12
"""Blocks below which the test would find next to nothing."""

ALARM_P = 0.01
"""It is told when it is this improbable by chance, over all the verdicts that call a difference."""


def warnings(samples: pl.DataFrame, verdicts: Sequence[Verdict]) -> Iterator[Warning]:
    """Variants called better or worse whose block means are also wider or narrower than the baseline's.

    A sign-flip test asks whether baseline and variant could be swapped. Where only their spread differs they cannot,
    and in skewed figures that is called too often a change of the mean.
    """
    called = [v for v in verdicts if v.word in ("better", "worse") and not v.control and v.n >= FEWEST]
    if not called:
        return
    cells, compared = block_means(samples), {verdict.variant for verdict in verdicts}
    for verdict in called:
        row = (verdict.question.workload, verdict.question.parameters, verdict.question.metric)
        above = cells[(*row, verdict.variant)]
        below = next(cell for key, cell in cells.items() if key[:3] == row and key[3] not in compared)
        blocks = sorted(above.keys() & below.keys())
        logs = [np.log(np.array([cell[block] for block in blocks])) for cell in (below, above)]
        if other_spread(*logs) < ALARM_P / len(called):
            ratio = float(logs[1].std() / logs[0].std())
            yield Warning(
                Kind.SPREAD,
                f"{verdict.question.workload} {verdict.question.metric}: block means under {verdict.variant} spread "
                f"{ratio:.1f} times as wide as the baseline's",
            )


def other_spread(baseline: NDArray[np.float64], variant: NDArray[np.float64]) -> float:
    """Two-sided p of "both spread alike", from paired values of shape (blocks,); 1 where either has no spread.

    Where they do, their sums and differences are not correlated (Pitman 1939; Morgan 1939). Ranks (Spearman 1904) keep
    a single outlier from deciding it; p is by the t approximation with n − 2 degrees of freedom.
    """
    n = len(baseline)
    if n < 3 or baseline.std() == 0 or variant.std() == 0:
        return 1.0
    correlation = float(np.corrcoef(_ranks(variant + baseline), _ranks(variant - baseline))[0, 1])
    if abs(correlation) >= 1:
        return 0.0
    return 2 * float(stdtr(n - 2, -abs(correlation) * sqrt((n - 2) / (1 - correlation**2))))


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 0; ties, which measured means seldom have, in their order."""
    return values.argsort(kind="stable").argsort(kind="stable").astype(np.float64)
