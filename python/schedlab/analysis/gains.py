"""Printed changes recomputed from the printed values, and tests from printed spreads.

A figure printed as 560.45 was between 560.445 and 560.455 before rounding. A change computed from two such figures is
therefore a range, as is the printed change. If the two ranges do not overlap, the change was not computed from the
printed values: the cause is a typing error, pasted columns, another baseline, or another sign.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from schedlab.results.imported import Cell, Table, TableRow

_NUMBER = re.compile(r"(?P<mantissa>\d[\d,']*(?:\.(?P<decimals>\d*))?|\.(?P<only>\d+))(?:[eE](?P<exponent>[+-]?\d+))?")
_BINARY = 1e-9
"""Slack for the binary representation of decimal figures, far below any printed digit."""


@dataclass(frozen=True)
class Recomputed:
    """One printed change and the range that follows from the printed values, in per cent with the printed sign.

    Attributes:
        line: line of the row in the source, from 1.
        row: operation and label.
        column: column of the change.
        printed: the change in the source.
        recomputed: the change from the values as printed.
        low: least change from values that round to the printed values, less half a unit of the printed change.
        high: largest change from such values, plus half a unit of the printed change. The end that is nearer to 0 has a
            whole unit, since some scripts cut off digits instead of rounding.
    """

    line: int
    row: str
    column: str
    printed: float
    recomputed: float
    low: float
    high: float

    @property
    def agrees(self) -> bool:
        """Whether rounding explains the difference."""
        return self.low <= self.printed <= self.high


def recompute(table: Table) -> list[Recomputed]:
    """Recompute every printed change whose value and baseline are printed too, in the order of the source.

    A row is skipped if its baseline cell has a change other than 0: the table does not show the baseline of such a row.
    A cell is also skipped if its change is not a ratio: see :func:`relative_change`.
    """
    return [change for row in table.rows for change in _of_row(table, row)]


def disagreements(table: Table) -> list[Recomputed]:
    """Return the printed changes that do not follow from the printed values, for any rounding."""
    return [change for change in recompute(table) if not change.agrees]


def _of_row(table: Table, row: TableRow) -> Iterator[Recomputed]:
    base = row.cells[table.baseline]
    if base.value is None or base.gain:
        return
    low_base, high_base = _range(base)
    if low_base <= 0:
        return
    negate = table.gains == "improvement" and row.direction == "lower"
    for k, cell in enumerate(row.cells):
        if k == table.baseline or cell.value is None or cell.gain is None:
            continue
        recomputed = relative_change(base.value, cell.value, negate=negate)
        if recomputed is None:
            continue
        quotients = [value / divisor for value in _range(cell) for divisor in (low_base, high_base)]
        ends = sorted((-1 if negate else 1) * (100 * quotient - 100) for quotient in (min(quotients), max(quotients)))
        half = _half_unit(cell.gain_text)
        slack = _BINARY * (1 + abs(cell.gain))
        yield Recomputed(
            line=row.line,
            row=f"{row.operation} {row.label}".strip(),
            column=table.columns[k],
            printed=cell.gain,
            recomputed=recomputed,
            low=ends[0] - (2 * half if ends[0] > 0 else half) - slack,
            high=ends[1] + (2 * half if ends[1] < 0 else half) + slack,
        )


def _range(cell: Cell) -> tuple[float, float]:
    """Return the range of values that round to the printed value. A cell without text is exact."""
    assert cell.value is not None
    half = _half_unit(cell.text)
    if match := _NUMBER.search(cell.text):
        printed = float(match[0].replace(",", "").replace("'", ""))
        # The value may have been converted to another unit than the printed unit.
        half *= abs(cell.value) / printed if printed else 1.0
    return cell.value - half, cell.value + half


def _half_unit(text: str) -> float:
    """Return half a unit in the last printed place: 0.005 of ``560.45``, 50 000 of ``5.129e+08``; 0 for other texts."""
    match = _NUMBER.search(text)
    if match is None:
        return 0.0
    places = len(match["decimals"] or match["only"] or "")
    return float(f"5e{int(match['exponent'] or 0) - places - 1}")


def relative_change(base: float, value: float, *, negate: bool) -> float | None:
    """Return the change from ``base`` to ``value`` in per cent of ``base``; every computed gain comes from here.

    None where the change is not a ratio: ``base`` is 0 or below, or ``value`` is below 0. From -5 to -4 "20 % less" and
    "20 % more" are both right, and from -5 to 5 the quotient is the one from 5 to -5. ``negate`` makes a smaller value
    a positive change.
    """
    if base <= 0 or value < 0:
        return None
    change = 100 * value / base - 100
    if not math.isfinite(change):
        return None
    return (-change if negate else change) or 0.0  # not -0.0


def relative_gains(values: Sequence[float | None], baseline: int, *, negate: bool) -> list[float | None]:
    """Return :func:`relative_change` of each value; None for the baseline and missing values too."""
    base = values[baseline]
    return [
        None if index == baseline or value is None or base is None else relative_change(base, value, negate=negate)
        for index, value in enumerate(values)
    ]


def differences(values: Sequence[float | None], baseline: int) -> list[float | None]:
    """Return the difference to the baseline of each value whose change is not a ratio; None for other values."""
    base = values[baseline]
    return [
        None if index == baseline or value is None or base is None else difference(base, value)
        for index, value in enumerate(values)
    ]


def difference(base: float, value: float) -> float | None:
    """Return ``value - base`` where the change is not a ratio, otherwise None."""
    return value - base if relative_change(base, value, negate=False) is None else None


@dataclass(frozen=True)
class SummaryTest:
    """Welch's test of two printed means: ``change`` in per cent of the baseline or None, and two-sided ``p``."""

    change: float | None
    statistic: float
    freedom: float
    p: float


def summary_test(base: Cell, other: Cell) -> SummaryTest | None:
    """Return Welch's unequal-variances t-test from printed means, spreads and numbers of repeats (Welch 1947).

    None unless both cells have a printed value, n ≥ 2 and a printed spread of a stated kind. A spread printed as 0 was
    rounded to 0; two such spreads allow no test. Imports scipy.stats.
    """
    first, second = _moments(base), _moments(other)
    if first is None or second is None or (first[1] == 0 and second[1] == 0):
        return None
    from scipy import stats

    result = stats.ttest_ind_from_stats(*second, *first, equal_var=False)
    parts = [deviation**2 / n for _, deviation, n in (first, second)]
    freedom = sum(parts) ** 2 / sum(part**2 / (n - 1) for part, (_, _, n) in zip(parts, (first, second), strict=True))
    change = relative_change(first[0], second[0], negate=False)
    return SummaryTest(change, float(result.statistic), freedom, float(result.pvalue))


def _moments(cell: Cell) -> tuple[float, float, int] | None:
    """Return mean, standard deviation of the repeats, and their number; None if any of the three is not printed."""
    if cell.value is None or cell.spread_percent is None or cell.n is None or cell.n < 2:
        return None
    spread = abs(cell.value) * cell.spread_percent / 100
    if cell.spread_kind == "standard error":
        return cell.value, spread * math.sqrt(cell.n), cell.n
    if cell.spread_kind == "standard deviation":
        return cell.value, spread, cell.n
    return None
