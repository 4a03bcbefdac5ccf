"""Rows in which a variant equals the baseline to the last digit in every block, which only simulations produce."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from schedlab.analysis.cells import Cell, block_means
from schedlab.analysis.verdicts import Verdict

LEAST = 2
"""Least number of equal blocks: a single equal block may be chance."""


def remark(samples: pl.DataFrame, verdicts: Sequence[Verdict], baseline: str, stack: Sequence[str] = ()) -> str | None:
    """Return a sentence about the variants of a simulated run that equal the baseline in every block, or None.

    Args:
        samples: columns workload, parameters, metric, variant, block, value.
        verdicts: verdicts on the rows and variants to compare.
        baseline: name of the baseline.
        stack: variants that are also compared with the previous variant of the stack, in the blocks that both have.

    Variants of a block are simulated with the same random seed, so that a variant without any effect equals the
    baseline by construction. The A/A control always equals the baseline and is left out.
    """
    means = block_means(samples)
    questions = list(dict.fromkeys(verdict.question for verdict in verdicts))
    variants = dict.fromkeys(verdict.variant for verdict in verdicts if not verdict.control)
    pairs = dict.fromkeys([*((baseline, variant) for variant in variants), *pairwise(stack)])
    duplicates = []
    for since, until in pairs:
        cells = [[means.get((*question.row, variant), {}) for variant in (since, until)] for question in questions]
        if any(equal := [_equal(*pair) for pair in cells]):
            duplicates.append(f"{until} to {since} in {_share(equal)}")
    if not duplicates:
        return None
    return (
        f"identical in every block, to the last digit: {', '.join(duplicates)}. Variants of a block are simulated with "
        "the same random seed: a variant that the simulated workload does not notice has the same figures"
    )


def _equal(first: Cell, second: Cell) -> bool:
    shared = first.keys() & second.keys()
    return len(shared) >= LEAST and all(first[block] == second[block] for block in shared)


def _share(equal: Sequence[bool]) -> str:
    if all(equal):
        return "its row" if len(equal) == 1 else f"all {len(equal)} rows"
    return f"{sum(equal)} of {len(equal)} rows"
