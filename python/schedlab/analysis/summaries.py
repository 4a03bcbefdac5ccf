"""Figures of single variants, for reports that compare nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, nan
from statistics import fmean

import numpy as np
import polars as pl

from schedlab.analysis.cells import block_means
from schedlab.analysis.rows import Question


@dataclass(frozen=True)
class Level:
    """A row under one variant: geometric mean (arithmetic if a value is not above 0) and standard deviation of ``n``
    block means; nan if unknown."""

    question: Question
    variant: str
    n: int
    mean: float
    spread: float


def levels(samples: pl.DataFrame, questions: Sequence[Question], variants: Sequence[str]) -> list[Level]:
    """Return the level of each row under each variant that has values, ordered by row.

    ``samples`` has the columns workload, parameters, metric, variant, block, value.
    """
    return list(_levels(samples, questions, variants))


def _levels(samples: pl.DataFrame, questions: Sequence[Question], variants: Sequence[str]) -> Iterator[Level]:
    means = block_means(samples)
    for question in questions:
        for variant in variants:
            blocks = means.get((question.workload, question.parameters, question.metric, variant), {})
            if blocks:
                values = np.array(list(blocks.values()))
                mean = float(np.exp(np.log(values).mean()) if (values > 0).all() else values.mean())
                spread = float(values.std(ddof=1)) if len(values) > 1 else nan
                yield Level(question, variant, len(values), mean, spread)


def preview(values: Mapping[int, Sequence[float]], baseline: Mapping[int, Sequence[float]]) -> float | None:
    """Return the geometric mean of the ratios of block means, for a look at a run that goes on: without test, interval
    or correction. None without a block that has values above 0 on both sides."""
    pairs = [
        (fmean(values[block]), fmean(baseline[block])) for block in values.keys() & baseline.keys() if values[block]
    ]
    if not pairs or any(min(pair) <= 0 for pair in pairs):
        return None
    return exp(fmean(log(measured / of_baseline) for measured, of_baseline in pairs))
