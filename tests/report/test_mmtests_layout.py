"""The layout of MMTests' tables: two lines of names, widths, and ``-`` for missing values."""

from __future__ import annotations

import numpy as np
import pytest

from schedlab.analysis.distributions import ColumnRow, Columns
from schedlab.analysis.mmtests import Layout, Stars, view
from schedlab.report.mmtests import view_text
from tests.analysis.mmtests_oracle import columns, text


@pytest.mark.parametrize(
    ("year", "layout", "stars", "name"),
    [
        ("now", "current", "mmtests-2024", "perfpipe"),
        ("now", "current", "mmtests-2024", "netperf-ipv4-tcp-rr"),
        ("2019", "2019", "mmtests-2018", "perfpipe"),
        ("2016", "2016", "none", "hackbench-pipes"),
        ("2016", "2016", "none", "netperf-tcp"),
        ("2016", "2016", "none", "tbench4"),
    ],
)
def test_a_table_without_gaps_equals_the_table_of_mmtests(year: str, layout: Layout, stars: Stars, name: str) -> None:
    report = view_text(view(columns(year), layout=layout, stars=stars))
    assert text(year, name) in report


def report(*names: str, values: tuple[list[float] | None, ...] = ([1.0], [1.1]), **options: object) -> list[str]:
    samples = tuple(None if cell is None else np.array(cell) for cell in values)
    row = ColumnRow("hackbench", "time", "s", "lower", {"groups": 4}, samples, label="time-4", decimals=4)
    return view_text(view(Columns(names, (row,)), **options)).splitlines()  # type: ignore[arg-type]


def test_names_break_at_the_first_dash_but_not_before_rc() -> None:
    _, first, second, *_ = report("6.1-rc12-vanilla-2", "6.1-fix")
    assert first.split() == ["6.1-rc12", "6.1"]
    assert second.split() == ["vanilla-2", "fix"]


def test_a_name_without_a_dash_is_printed_once_in_full() -> None:
    # MMTests prints "bas" above "base".
    _, names, first, *_ = report("base", "new")
    assert names.split() == ["base", "new"]
    assert first.startswith("Min ")


def test_a_missing_cell_and_the_spread_of_one_sample_are_dashes() -> None:
    lines = report("base", "new", values=([1.0], None))
    line = next(line for line in lines if line.startswith("Amean"))
    assert line == f"Amean     time-4{'1.0000':>18} (   0.00%){'-':>18} (      - )"
    assert next(line for line in lines if line.startswith("Stddev")).count("- (      - )") == 2
    assert not any("0.0000" in line for line in lines)


def test_a_missing_baseline_leaves_values_without_gains() -> None:
    line = next(line for line in report("base", "new", values=(None, [2.0])) if line.startswith("Amean"))
    assert line == f"Amean     time-4{'-':>18} (      - ){'2.0000':>18} (      - )"


def test_columns_stay_apart_when_a_value_fills_its_width() -> None:
    lines = report("base", "new", values=([1e15], [2e15]), layout="2016")
    assert "Min      4 1000000000000000.0000 (  0.00%) 2000000000000000.0000 (-100.00%)" in lines


def test_stars_replace_brackets_and_a_footer_names_their_rule() -> None:
    spread = ([1.0, 1.01, 1.02], [2.0, 2.01, 2.02])
    lines = report("base", "new", values=spread, stars="mmtests-2024")
    assert next(line for line in lines if line.startswith("Amean")).endswith("2.0100 * -99.01%*")
    assert lines[-1].startswith("* MMTests' rule since 2024-11")
    assert not any("*" in line for line in report("base", "new", values=spread))


def test_verdicts_mark_their_cells_with_stars() -> None:
    names, values = ("base", "new", "next"), ([1.0, 1.1], [2.0, 2.1], [3.0, 3.1])
    lines = report(*names, values=values, stars="verdicts", verdicts={(0, "next"): True, (0, "new"): False})
    line = next(line for line in lines if line.startswith("Amean"))
    assert line.count("*") == 2
    assert line.endswith("*")
    assert lines[-1] == "* judged better or worse"


def test_rows_of_other_sources_are_named_by_metric_and_parameters_with_four_digits() -> None:
    samples = (np.array([0.01234567]), np.array([0.0125]))
    row = ColumnRow("hackbench", "time", "s", "lower", {"groups": 4, "pipe": "yes"}, samples)
    lines = view_text(view(Columns(("base", "new"), (row,)))).splitlines()
    assert lines[0] == "hackbench time by groups, pipe (s, lower is better)"
    assert lines[2].split()[:3] == ["Min", "time-4-yes", "0.01235"]
