"""Rows of a report, and switches of a factorial.

The store saves questions and layouts without judging them, so that this module imports no statistics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from schedlab.results.metrics import Direction

RowKey = tuple[str, str, str]
"""Workload, parameters (canonical JSON), metric."""


@dataclass(frozen=True)
class Question:
    """One row to judge: a metric of a workload with one set of parameters (canonical JSON).

    A ``worst`` metric is a worst case, see :class:`schedlab.results.metrics.MetricSpec`. ``seconds`` is the time over
    which each trial counts the events of a rate; None if the metric does not count events in a fixed time.

    ``label`` is the name of the row in the report of an imported source, ``decimals`` the number of digits that the
    source prints.
    """

    workload: str
    parameters: str
    metric: str
    unit: str
    direction: Direction
    label: str = ""
    decimals: int | None = None
    worst: bool = False
    seconds: float | None = None

    @property
    def row(self) -> RowKey:
        """The key of the row in tables of samples."""
        return self.workload, self.parameters, self.metric


def worst_rows(questions: Iterable[Question]) -> dict[RowKey, Direction]:
    """Return the rows whose block value is the worst of its iterations, with the better direction."""
    return {question.row: question.direction for question in questions if question.worst}


@dataclass(frozen=True)
class Layout:
    """The switches of a factorial, and their settings in each variant: variant → one truth value for each switch."""

    switches: tuple[str, ...]
    runs: Mapping[str, tuple[bool, ...]]
