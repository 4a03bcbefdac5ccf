"""Reports of schedlab in MMTests' layout are read back with the parameters of the measurement."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from schedlab.analysis.distributions import ColumnRow, Columns
from schedlab.analysis.mmtests import view
from schedlab.report.mmtests import view_text
from tests.importers.printed.helpers import imported, only

Parameters = dict[str, str | int | float]


def row(metric: str, parameters: Parameters, direction: Literal["lower", "higher"] = "lower") -> ColumnRow:
    return ColumnRow(
        workload="mixed-load",
        metric=metric,
        unit="s",
        direction=direction,
        parameters=parameters,
        samples=(np.array([1.5, 1.6]), np.array([1.4, 1.5])),
        label="",
        decimals=None,
    )


def read_back(rows: list[ColumnRow]) -> set[tuple[str, str]]:
    table = only(imported(view_text(view(Columns(("base", "new"), tuple(rows))))))
    assert table.workload == "mixed-load"
    return {
        (read_row.operation, str(dict(read_row.parameters))) for read_row in table.rows if read_row.operation == "Amean"
    }


PAIRS: list[Parameters] = [{"groups": 4, "size": 100}, {"groups": 8, "size": 1.5}, {"groups": 8, "size": "all"}]


def test_several_parameters_are_read_back_by_name() -> None:
    assert read_back([row("time", pair) for pair in PAIRS]) == {("Amean", str(pair)) for pair in PAIRS}


def test_several_metrics_of_one_table_are_distinguished() -> None:
    rows = [row(metric, pair) for metric in ("time", "time-to-first") for pair in PAIRS]
    assert read_back(rows) == {
        ("Amean", str({"metric": metric, **pair})) for metric in ("time", "time-to-first") for pair in PAIRS
    }


@pytest.mark.parametrize("parameters", [{"groups": 4}, {"size": 4, "groups": 4}])
def test_rows_with_different_parameters_are_not_named_in_the_title(parameters: Parameters) -> None:
    text = view_text(view(Columns(("base", "new"), (row("time", PAIRS[0]), row("time", parameters)))))
    assert text.startswith("mixed-load time (s, lower is better)\n")


def test_a_label_with_an_ambiguous_dash_is_not_split() -> None:
    table = only(imported(view_text(view(Columns(("base", "new"), (row("time", {"groups": 4, "kind": "a-b"}),))))))
    assert dict(table.rows[0].parameters) == {"case": "time-4-a-b"}
