"""Metrics that are one fact, such as throughput and mean latency at a fixed number of clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from schedlab.analysis.rows import Question

TOLERANCE = 0.01
"""Range of the logarithm of a product (or ratio) that is constant: two metrics printed with three digits differ by
0.5 % from rounding alone. A choice."""

SHARE = 5
"""How much wider than that range each metric must range, so that two constants are not taken for one fact. A choice."""

FEWEST = 4
"""Values from which a tie can be found."""


def ties(samples: pl.DataFrame, questions: Sequence[Question]) -> dict[Question, Question]:
    """Return for each row that repeats an earlier row that earlier row.

    Two metrics of one workload with the same parameters are one fact if in all trials the product of their values is
    constant and their directions differ (Little's law for a closed system: clients = throughput × latency), or if the
    ratio is constant and the directions are the same.

    Args:
        samples: columns workload, parameters, metric, variant, block, value.
        questions: the rows.
    """
    logs = _logs(samples)
    found: dict[Question, Question] = {}
    for first, second in combinations(questions, 2):
        same = (first.workload, first.parameters) == (second.workload, second.parameters)
        if same and first not in found and second not in found and _tied(first, second, logs):
            found[second] = first
    return found


Values = dict[tuple[str, int], float]


def _logs(samples: pl.DataFrame) -> dict[tuple[str, str, str], Values]:
    logs: dict[tuple[str, str, str], Values] = {}
    frame = samples.filter(pl.col("value") > 0).group_by("workload", "parameters", "metric", "variant", "block")
    means = frame.agg(pl.col("value").mean().log()).sort("variant", "block")
    for workload, parameters, metric, variant, block, value in means.iter_rows():
        logs.setdefault((workload, parameters, metric), {})[variant, block] = value
    return logs


def _tied(first: Question, second: Question, logs: Mapping[tuple[str, str, str], Values]) -> bool:
    of_first = logs.get((first.workload, first.parameters, first.metric), {})
    of_second = logs.get((second.workload, second.parameters, second.metric), {})
    if len(of_first) < FEWEST or of_first.keys() != of_second.keys():
        return False
    one, other = (np.array([values[key] for key in of_first]) for values in (of_first, of_second))
    constant = np.ptp(one - other if first.direction == second.direction else one + other)
    varies = min(np.ptp(one), np.ptp(other))
    return bool(constant <= TOLERANCE and varies > 0 and varies >= SHARE * constant)
