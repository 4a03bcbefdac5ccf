"""Changes without values below a box of facts."""

from __future__ import annotations

import pytest

from schedlab.importers.text import NotResults
from tests.importers.printed.helpers import gains, imported, only, values

BOX = """\
==================================================================
Test          : Various longer running benchmarks
Units         : %diff in throughput reported
Interpretation: Higher is better
Statistic     : Median
==================================================================
"""
LIST = """\
Benchmarks:                 %diff

ycsb-cassandra             -0.75%
ycsb-mongodb                0.50%

hammerdb+mysql 16VU         3.25%  *
hammerdb+mysql 64VU        -0.00%
"""
SEVERAL = """\
Scaling\\cg_mode    up      smp
      2x            1.50%  -0.25%
      4x           -4.75%   1.25%
"""
WITH_BASELINE = """\
pinning      scaling   base    patched
1CCD            1       0%      -0.25%
2CCD            2       0%       1.75%
"""
TABLE = "\ntbench4\n                base       new\nHmean  1  10.00 ( 0.00%)  11.00 ( 10.00%)\n"


def test_changes_are_gains_without_values() -> None:
    table = only(imported(BOX + LIST))
    assert (table.columns, table.baseline, table.gains) == (("baseline", "%diff"), 0, "improvement")
    assert table.title == "Various longer running benchmarks, %diff in throughput reported"
    assert [(r.operation, values(r), gains(r), r.direction) for r in table.rows] == [
        ("ycsb-cassandra", [None, None], [None, -0.75], "higher"),
        ("ycsb-mongodb", [None, None], [None, 0.5], "higher"),
        ("hammerdb+mysql 16VU", [None, None], [None, 3.25], "higher"),
        ("hammerdb+mysql 64VU", [None, None], [None, 0.0], "higher"),
    ]


def test_several_columns_have_the_baseline_that_the_unit_names() -> None:
    table = only(imported(BOX.replace("in throughput reported", "compared to tip") + "\n" + SEVERAL))
    assert (table.columns, table.baseline) == (("tip", "up", "smp"), 0)
    assert [(r.operation, gains(r)) for r in table.rows] == [("2x", [None, 1.5, -0.25]), ("4x", [None, -4.75, 1.25])]


def test_a_column_of_zeros_is_the_baseline() -> None:
    table = only(imported(BOX + WITH_BASELINE))
    assert (table.columns, table.baseline) == (("base", "patched"), 0)
    assert [(r.operation, gains(r)) for r in table.rows] == [("1CCD 1", [0.0, -0.25]), ("2CCD 2", [0.0, 1.75])]


def test_changes_where_lower_is_better_are_a_note() -> None:
    result = imported(BOX.replace("Higher", "Lower") + LIST + TABLE)
    assert only(result).layout == "mmtests"
    assert result.notes == ("lines 7–13: changes without values are not read, since their sign is not known",)


@pytest.mark.parametrize(
    "text",
    [
        LIST,  # no box
        BOX.replace("%diff", "Diff") + LIST,
        BOX.replace("Interpretation: Higher is better\n", "") + LIST,
        BOX + LIST.replace("0.50%", "0.50"),
        BOX + LIST.replace("0.50%", "0. 50%"),
        BOX + SEVERAL.replace("      smp", ""),
        BOX + SEVERAL.replace("-0.25%", ""),
        BOX + SEVERAL.replace("4x", "2x"),
        BOX + SEVERAL.replace("1.25%", "1. 25%"),
    ],
)
def test_changes_without_a_stated_meaning_are_refused(text: str) -> None:
    with pytest.raises(NotResults):
        imported(text)


def test_a_box_without_a_table_that_is_read_is_a_note() -> None:
    text = (
        BOX.replace("%diff in throughput reported", "Throughput")
        + "\ntip:      300.25 (var: 1.50%)\nfast:     310.50 (var: 1.25%)\n\n"
    )
    result = imported(text + BOX + LIST)
    assert len(only(result).rows) == 4
    assert result.notes == ('line 2: no table is read below "Test          : Various longer running benchmarks"',)
