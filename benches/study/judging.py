"""Verdicts of schedlab's function ``judge`` on many simulated rows at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from schedlab.analysis.judging import judge
from schedlab.analysis.multiplicity import Correction, adjust
from schedlab.analysis.simultaneous import step_down
from schedlab.analysis.verdicts import Options, Question, Verdict

Floats = NDArray[np.float64]
Calls = NDArray[np.bool_]

BASELINE, VARIANT = "base", "changed"

AT_ONCE = 500
"""Rows for each call of ``judge``. With more than 15 blocks each call draws different sign flips."""


@dataclass(frozen=True)
class Judged:
    """Results of ``judge`` before any correction over rows; each array has shape (rows,).

    ``p``, ``p_equivalent``: p values of the tests for a difference and for equivalence. ``low``, ``high``: bounds of
    the interval. ``called``: mask of the verdicts better and worse. ``worse``: mask of the verdict worse. ``decided``:
    number of blocks after which a sequential design has its verdict; nan if the design has no verdict. ``ratios``:
    log-ratios of block means, shape (rows, blocks).
    """

    p: Floats
    p_equivalent: Floats
    low: Floats
    high: Floats
    decided: Floats
    called: Calls
    worse: Calls
    ratios: Floats

    def campaigns_called(self, rows: int, alpha: float, correction: Correction) -> Calls:
        """Mask of rows called better or worse after the correction over the rows of each campaign.

        ``rows`` is the number of rows of a campaign; the mask has shape (campaigns, rows). Rows shown to be equivalent
        are not called, as in ``judge``.
        """
        if correction == "max-t":
            campaigns = self.ratios.reshape(-1, rows, self.ratios.shape[1]).transpose(0, 2, 1)
            p = np.array([step_down(ratios, 0) for ratios in campaigns])
        else:
            p = np.array([adjust(of_campaign, correction) for of_campaign in self.p.reshape(-1, rows).tolist()])
        same = np.array(
            [adjust(of_campaign, correction) for of_campaign in self.p_equivalent.reshape(-1, rows).tolist()]
        )
        return (p <= alpha) & (same > alpha)


def judge_rows(baseline: Floats, variant: Floats, options: Options) -> Judged:
    """Judge each row as the only row of its run. The samples have shape (rows, blocks, iterations)."""
    verdicts: list[Verdict] = []
    for start in range(0, len(baseline), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        verdicts += judge_run(baseline[part], variant[part], replace(options, correction="none", seed=start))
    words = np.array([v.word for v in verdicts])
    worse = words == "worse"
    return Judged(
        p=np.array([v.p for v in verdicts]),
        p_equivalent=np.array([v.p_equivalent for v in verdicts]),
        low=np.array([v.low for v in verdicts]),
        high=np.array([v.high for v in verdicts]),
        decided=np.array([np.nan if v.decided is None else v.decided for v in verdicts]),
        called=worse | (words == "better"),
        worse=worse,
        ratios=np.log(variant.mean(axis=2)) - np.log(baseline.mean(axis=2)),
    )


def judge_run(
    baseline: Floats, variant: Floats, options: Options, *, worst: bool = False, seconds: float | None = None
) -> list[Verdict]:
    """Judge all rows as rows of one run. The samples have shape (rows, blocks, iterations).

    ``worst`` and ``seconds`` are those of :class:`schedlab.analysis.verdicts.Question`.
    """
    rows, blocks, iterations = baseline.shape
    labels = pl.Series([f"row{i:05}" for i in range(rows)])
    frames = [
        pl.DataFrame(
            {
                "workload": labels.gather(np.repeat(np.arange(rows), blocks * iterations)),
                "block": np.tile(np.repeat(np.arange(1, blocks + 1), iterations), rows),
                "value": samples.ravel(),
            }
        ).with_columns(variant=pl.lit(name), parameters=pl.lit("{}"), metric=pl.lit("time"))
        for name, samples in ((BASELINE, baseline), (VARIANT, variant))
    ]
    questions = [Question(label, "{}", "time", "s", "lower", worst=worst, seconds=seconds) for label in labels]
    return judge(pl.concat(frames), questions, [BASELINE, VARIANT], None, options)
