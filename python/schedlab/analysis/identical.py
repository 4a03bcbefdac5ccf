"""Rows in which a variant is the baseline to the last digit in every block, as only a simulation can make it."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from schedlab.analysis import cells
from schedlab.analysis.verdicts import Verdict

LEAST = 2
"""Blocks: one that is the same may be chance."""


def remark(samples: pl.DataFrame, verdicts: Sequence[Verdict], baseline: str) -> str | None:
    """A sentence about the variants that equal the baseline in every block of rows, or None where there is none.

    ``samples`` has columns workload, parameters, metric, variant, block, value; ``verdicts`` name rows and variants.
    It is for simulated runs: variants of a block run under the same seed there, so what changes nothing equals the
    baseline by construction. The A/A control, which always does, is left out.
    """
    means = cells.block_means(samples)
    rows: dict[str, list[bool]] = {}
    for verdict in verdicts:
        if verdict.control:
            continue
        asked = verdict.question
        base, other = (
            means.get((asked.workload, asked.parameters, asked.metric, variant), {})
            for variant in (baseline, verdict.variant)
        )
        rows.setdefault(verdict.variant, []).append(len(base) >= LEAST and base == other)
    same = [f"{variant} in {_share(found)}" for variant, found in rows.items() if any(found)]
    if not same:
        return None
    return (
        f"identical to {baseline} in every block, to the last digit: {', '.join(same)}. Variants of a block are "
        "simulated under the same seed: that these are equivalent is so by construction, and was not measured"
    )


def _share(found: Sequence[bool]) -> str:
    return f"all {len(found)} rows" if all(found) else f"{sum(found)} of {len(found)} rows"
