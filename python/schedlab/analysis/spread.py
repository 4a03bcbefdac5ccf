"""Warning about a change of spread, which a verdict on the mean does not cover (see docs/statistics.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import stdtr

from schedlab.analysis.cells import block_means
from schedlab.analysis.verdicts import DIFFERENT, Verdict
from schedlab.analysis.warnings import Kind, Warning

FEWEST = 12
"""Number of blocks below which the test has hardly any power."""

ALARM_P = 0.01
"""Level of the warning, over all verdicts that assert a difference."""


def warnings(samples: pl.DataFrame, verdicts: Sequence[Verdict]) -> Iterator[Warning]:
    """Yield a warning for each variant that differs from the baseline both in its mean and in its spread.

    The sign-flip test asks whether baseline and variant are exchangeable. If only their spread differs, they are not
    exchangeable, and for skewed figures the test asserts a change of the mean too often. A row with a value of 0 has no
    logarithms to compare.
    """
    different = [v for v in verdicts if v.word in DIFFERENT and not v.control and v.n >= FEWEST]
    if not different:
        return
    cells, compared = block_means(samples), {verdict.variant for verdict in verdicts}
    for verdict in different:
        row = (verdict.question.workload, verdict.question.parameters, verdict.question.metric)
        above = cells[(*row, verdict.variant)]
        below = next(cell for key, cell in cells.items() if key[:3] == row and key[3] not in compared)
        blocks = sorted(above.keys() & below.keys())
        values = [np.array([cell[block] for block in blocks]) for cell in (below, above)]
        if min(map(np.min, values)) <= 0:
            continue
        logs = list(map(np.log, values))
        if p_equal_spread(*logs) < ALARM_P / len(different):
            yield Kind.SPREAD.warning(
                workload=verdict.question.workload,
                metric=verdict.question.metric,
                variant=verdict.variant,
                ratio=float(logs[1].std() / logs[0].std()),
            )


def p_equal_spread(baseline: NDArray[np.float64], variant: NDArray[np.float64]) -> float:
    """Return the two-sided p of "both have the same spread", from paired values of shape (blocks,); 1 without spread.

    With equal spreads the sums and differences of the pairs are uncorrelated (Pitman 1939; Morgan 1939). The
    correlation of ranks (Spearman 1904) limits the influence of a single outlier. p comes from the t approximation with
    n − 2 degrees of freedom.
    """
    n = len(baseline)
    if n < 3 or baseline.std() == 0 or variant.std() == 0:
        return 1.0
    correlation = float(np.corrcoef(_ranks(variant + baseline), _ranks(variant - baseline))[0, 1])
    if abs(correlation) >= 1:
        return 0.0
    return 2 * float(stdtr(n - 2, -abs(correlation) * sqrt((n - 2) / (1 - correlation**2))))


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ranks from 0. Equal values, which are rare among measured means, have ranks in their order."""
    return values.argsort(kind="stable").argsort(kind="stable").astype(np.float64)
