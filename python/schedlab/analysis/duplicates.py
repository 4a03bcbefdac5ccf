"""Rows in which a variant is the baseline to the last digit in every block, as only a simulation can make it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from schedlab.analysis.cells import Cell, block_means
from schedlab.analysis.verdicts import Question, Verdict

LEAST = 2
"""Blocks: one that is the same may be chance."""


def remark(samples: pl.DataFrame, verdicts: Sequence[Verdict], baseline: str, stack: Sequence[str] = ()) -> str | None:
    """A sentence about the variants that equal the baseline in every block of rows, or None where there is none.

    Of a ``stack`` of variants each is held against the one before it as well, block by block where both have one.
    ``samples`` has columns workload, parameters, metric, variant, block, value; ``verdicts`` name rows and variants.
    It is for simulated runs: variants of a block run under the same seed there, so what changes nothing equals the
    baseline by construction. The A/A control, which always does, is left out.
    """
    means = block_means(samples)
    questions = list(dict.fromkeys(verdict.question for verdict in verdicts))
    variants = dict.fromkeys(verdict.variant for verdict in verdicts if not verdict.control)
    pairs = dict.fromkeys([*((baseline, variant) for variant in variants), *pairwise(stack)])
    same = []
    for since, until in pairs:
        cells = [[means.get((*_row(asked), variant), {}) for variant in (since, until)] for asked in questions]
        if any(found := [_same(*cell) for cell in cells]):
            same.append(f"{until} to {since} in {_share(found)}")
    if not same:
        return None
    return (
        f"identical in every block, to the last digit: {', '.join(same)}. Variants of a block are simulated under the "
        "same seed: that these are equivalent is so by construction, and was not measured"
    )


def _row(asked: Question) -> tuple[str, str, str]:
    return asked.workload, asked.parameters, asked.metric


def _same(one: Cell, other: Cell) -> bool:
    both = one.keys() & other.keys()
    return len(both) >= LEAST and all(one[block] == other[block] for block in both)


def _share(found: Sequence[bool]) -> str:
    return f"all {len(found)} rows" if all(found) else f"{sum(found)} of {len(found)} rows"
