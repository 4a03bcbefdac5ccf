"""Counters beside a row: those that moved, the headlines first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schedlab.analysis.counters import HEADLINES, Change, notable
from schedlab.report.html.rows import Row

MOST = 12
"""Counters of one variant in one row that moved and are no headlines; there may be hundreds."""


@dataclass(frozen=True)
class Moved:
    """One variant's counters in one row; ``more`` moved as well and are not listed."""

    variant: str
    changes: tuple[Change, ...]
    more: int


Counted = dict[tuple[str, str], list[Moved]]
"""By workload and parameters, in the order of the changes."""


def moved(changes: Sequence[Change], *, named: bool = False) -> Counted:
    """Of each variant in each row, the headlines and the clearest of the other counters that moved; ``named``: all."""
    grouped: dict[tuple[str, str, str], list[Change]] = {}
    for change in changes:
        grouped.setdefault((change.workload, change.parameters, change.variant), []).append(change)
    found: Counted = {}
    for (workload, parameters, variant), of_variant in grouped.items():
        headlines = notable(of_variant)
        others = [change for change in of_variant if change.clear and change.counter not in HEADLINES]
        shown = tuple(of_variant) if named else (*headlines, *others[:MOST])
        more = 0 if named else max(len(others) - MOST, 0)
        found.setdefault((workload, parameters), []).append(Moved(variant, shown, more))
    return found


def first_of(rows: Sequence[Row]) -> set[str]:
    """Keys of the rows that show counters: the first metric of each workload and parameters, which they share."""
    first: dict[tuple[str, str], str] = {}
    for row in rows:
        first.setdefault((row.question.workload, row.question.parameters), row.key)
    return set(first.values())
