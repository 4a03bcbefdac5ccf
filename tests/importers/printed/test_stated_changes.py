"""Columns of changes and spreads in a stated table are refused, with the option that leaves them out."""

from __future__ import annotations

import pytest

from schedlab.results.imported import ImportProblem
from tests.importers.printed.helpers import by_layout, only


@pytest.mark.parametrize("name", ["%", "%diff", "diff%", "std%", "Change", "change(%)", "delta", "Δ%", "± %", "pct"])
@pytest.mark.parametrize("columns", ["runs", "metrics"])
def test_columns_of_changes_are_not_read_as_runs_or_metrics(name: str, columns: str) -> None:
    table = f"case  base  new  {name}\na  100  101  1.00\nb  50  49  -2.00\n"
    # Without the lines, a pair of runs whose values prove the changes is read by its grammar.
    option = f"lines=1-3,columns={columns},separator=wide,better=lower"
    with pytest.raises(ImportProblem, match="changes or spreads are not figures of a run") as caught:
        by_layout(table, option)
    assert (f'4 ("{name}")' in caught.value.what, "state skip=4" in caught.value.todo) == (True, True)
    assert len(only(by_layout(table, f"{option},skip=4")).rows) == 2


def test_figures_with_a_plus_sign_are_changes() -> None:
    table = "case base new vs\na 100 101 +1.00\nb 50 49 -2.00\n"
    with pytest.raises(ImportProblem, match=r'changes or spreads.*4 \("vs"\)'):
        by_layout(table, "columns=runs,better=lower")


def test_a_row_of_changes_is_not_a_run() -> None:
    table = "kernel mean user\nv6.1 45.3 571\npatched 45.2 570\ndiff% -0.2 -0.2\n"
    with pytest.raises(ImportProblem, match="a row of changes or spreads is not a run") as caught:
        by_layout(table, "columns=metrics,better=lower")
    assert caught.value.where.endswith(":4")


@pytest.mark.parametrize("name", ["50%", "no-change", "changed", "with change", "cpu%", "%user", "v2-diff"])
def test_names_of_runs_and_metrics_may_have_such_words(name: str) -> None:
    table = f"case  base  {name}\na  100  101\nb  50  49\n"
    for columns in "runs", "metrics":
        assert len(only(by_layout(table, f"lines=1-3,columns={columns},separator=wide,better=lower")).rows) == 2
