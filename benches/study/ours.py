"""schedlab's verdicts, by ``judge``, on many simulated rows at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from schedlab.analysis.multiplicity import adjust
from schedlab.analysis.verdicts import Options, Question, Verdict, judge

Floats = NDArray[np.float64]
Calls = NDArray[np.bool_]

BASELINE, VARIANT = "base", "changed"

AT_ONCE = 500
"""Rows per call of ``judge``, as in a run with this many rows. Large designs draw new flips for each call."""


@dataclass(frozen=True)
class Judged:
    """Results of ``judge`` for each row, before any correction over rows; shapes (rows,).

    ``called``: better or worse; ``worse``: that alone. ``decided``: the block after which a sequential design had its
    verdict, nan for none.
    """

    p: Floats
    p_equivalent: Floats
    low: Floats
    high: Floats
    decided: Floats
    called: Calls
    worse: Calls

    def campaigns_called(self, rows: int, alpha: float) -> Calls:
        """Mask of rows called better or worse if each campaign has ``rows`` rows, with Holm's correction per campaign.

        What is shown to be equivalent is called neither, as in ``judge``.
        """
        different, same = (
            np.array([adjust(campaign, "holm") for campaign in p.reshape(-1, rows).tolist()])
            for p in (self.p, self.p_equivalent)
        )
        return (different <= alpha) & (same > alpha)


def judged(baseline: Floats, variant: Floats, options: Options) -> Judged:
    """``judge`` on rows of shape (rows, blocks, iterations), each as the only row of its run."""
    verdicts: list[Verdict] = []
    for start in range(0, len(baseline), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        verdicts += run(baseline[part], variant[part], replace(options, correction="none", seed=start))
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
    )


def run(baseline: Floats, variant: Floats, options: Options) -> list[Verdict]:
    """The verdicts of one run with so many rows, from samples of shape (rows, blocks, iterations)."""
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
    questions = [Question(label, "{}", "time", "s", "lower") for label in labels]
    return judge(pl.concat(frames), questions, [BASELINE, VARIANT], None, options)
