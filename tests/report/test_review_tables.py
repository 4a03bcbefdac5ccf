"""The tables of reviews: means relative to the baseline, improvements, coefficients of variation; read back exactly."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

from schedlab.analysis.distributions import ColumnRow, Columns
from schedlab.analysis.review import review
from schedlab.findings.run import Findings
from schedlab.report import words
from schedlab.report.build import build, review_view
from schedlab.report.review import render, view_text
from schedlab.results.imported import Import
from schedlab.results.metrics import Direction
from tests.importers.printed.helpers import read_text

TIMES = ([2.0, 2.2, 2.1], [1.9, 2.0, 1.8], [4.0, 4.2, 4.4])
RATES = ([100.0, 110.0], [121.0, 121.0], None)


def _row(metric: str, unit: str, direction: Direction, groups: int, *samples: list[float] | None) -> ColumnRow:
    arrays = tuple(None if each is None else np.array(each) for each in samples)
    return ColumnRow("hackbench", metric, unit, direction, {"groups": groups}, arrays)


COLUMNS = Columns(
    ("6.1-base", "patched (v2)", "other"),
    (
        _row("time", "s", "lower", 1, *TIMES),
        _row("time", "s", "lower", 16, *TIMES[::-1]),
        _row("rate", "1/s", "higher", 2, *RATES),
    ),
)
TEXT = """\
==================================================================
Test          : hackbench
Units         : Normalized time in s
Interpretation: Lower is better
Statistic     : AMean
==================================================================
Case:       6.1-base[pct imp](CV)  patched {v2}[pct imp](CV)      other[pct imp](CV)
 1-groups   1.00 [  0.00]( 4.76)       0.90 [  9.52]( 5.26)  2.00 [-100.00]( 4.76)
"""


def _expected(samples: tuple[list[float] | None, ...], direction: Direction) -> list[tuple[float | None, ...]]:
    """Return value, gain and spread of each column, by the formulas of the documentation and with printed digits."""
    base = samples[0]
    assert base is not None
    cells: list[tuple[float | None, ...]] = []
    for column in samples:
        if column is None:
            cells.append((None, None, None))
            continue
        ratio = statistics.fmean(column) / statistics.fmean(base)
        gain = 100 * (1 - ratio) if direction == "lower" else 100 * (ratio - 1)
        variation = 100 * statistics.stdev(column) / statistics.fmean(column)
        cells.append((round(ratio, 2), round(gain, 2), round(variation, 2)))
    return cells


def _cells(imported: Import) -> list[list[list[tuple[float | None, ...]]]]:
    return [
        [[(cell.value, cell.gain, cell.spread_percent) for cell in row.cells] for row in table.rows]
        for table in imported.tables
    ]


def test_the_tables_are_read_back_with_the_figures_of_the_samples() -> None:
    imported = read_text(view_text(review(COLUMNS)).encode(), "report.txt")
    assert _cells(imported) == [
        [_expected(TIMES, "lower"), _expected(TIMES[::-1], "lower")],
        [_expected(RATES, "higher")],
    ]
    times, rates = imported.tables
    assert times.columns == rates.columns == ("6.1-base", "patched {v2}", "other")
    assert [(row.operation, row.parameters, row.unit, row.direction) for row in times.rows] == [
        ("AMean", {"groups": 1}, "normalised", "lower"), ("AMean", {"groups": 16}, "normalised", "lower"),
    ]  # fmt: skip
    assert [(row.parameters, row.direction) for row in rates.rows] == [({"groups": 2}, "higher")]
    assert imported.notes == ()


def test_a_box_names_test_unit_direction_and_statistic() -> None:
    first = Columns(COLUMNS.names, COLUMNS.rows[:1])
    lines = view_text(review(first)).splitlines()
    assert lines[:6] == TEXT.splitlines()[:6]
    assert [line.split() for line in lines[6:]] == [line.split() for line in TEXT.splitlines()[6:]]


def test_parameters_of_all_rows_are_in_the_box() -> None:
    def row(groups: int) -> ColumnRow:
        parameters = {"mode": "process", "fds": 20, "groups": groups}
        return ColumnRow("hackbench", "time", "s", "lower", parameters, (np.array([1.0, 2.0]), np.array([2.0, 3.0])))

    text = view_text(review(Columns(("a", "b"), (row(1), row(16)))))
    assert text.splitlines()[2] == "Parameters    : mode=process 20-fds"
    (table,) = read_text(text.encode(), "x").tables
    assert [each.parameters for each in table.rows] == [{"groups": 1}, {"groups": 16}]
    (alone,) = read_text(view_text(review(Columns(("a", "b"), (row(1),)))).encode(), "x").tables
    assert [each.label for each in alone.rows] == ["mode=process 20-fds 1-groups"]


@pytest.mark.parametrize(("base", "value"), [([0.0, 0.0], [1.0, 1.0]), ([-1.0, -2.0], [1.0, 2.0])])
def test_a_baseline_that_is_not_above_0_has_no_relative_figures(base: list[float], value: list[float]) -> None:
    view = review(Columns(("a", "b"), (_row("slack", "us", "higher", 1, base, value),)))
    ((line,),) = (table.lines for table in view.tables)
    assert [(cell.value, cell.gain) for cell in line.cells] == [(None, None), (None, None)]


def test_a_single_sample_has_no_variation() -> None:
    view = review(Columns(("a", "b"), (_row("time", "s", "lower", 1, [2.0], [1.0]),)))
    text = view_text(view)
    assert text.splitlines()[-1].split() == ["1-groups", "1.00", "[", "0.00](", "-)", "0.50", "[", "50.00](", "-)"]
    assert _cells(read_text(text.encode(), "x")) == [[[(1.0, 0.0, None), (0.5, 50.0, None)]]]


def test_a_report_in_this_form_states_its_signs_and_is_read_back(any_findings: Findings, engine: object) -> None:
    from sqlalchemy import Engine

    from schedlab.store.columns import columns

    assert isinstance(engine, Engine)
    view = review_view(any_findings.columns, columns(engine, any_findings.columns))
    text = render(build(any_findings, review=view))
    assert words.PCT_IMP in text
    imported = read_text(text.encode(), "report.txt")
    assert [len(table.rows) for table in imported.tables] == [len(table.lines) for table in view.tables]
    for table, printed in zip(view.tables, imported.tables, strict=True):
        for line, row in zip(table.lines, printed.rows, strict=True):
            for cell, read in zip(line.cells, row.cells, strict=True):
                for figure, figure_read in (
                    (cell.value, read.value),
                    (cell.gain, read.gain),
                    (cell.variation, read.spread_percent),
                ):
                    assert figure_read == (None if figure is None else pytest.approx(figure, abs=0.00501))
