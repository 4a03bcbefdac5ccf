"""The outline of an import, and the names, baselines and directions that the user states."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from schedlab.importers.checks import by_column, checked, columns_of, renamed, with_baseline, with_directions
from schedlab.importers.outline import outline
from schedlab.report.imports import to_json
from schedlab.results.imported import Cell, Import, ImportProblem, Series, Table, TableRow
from schedlab.results.metrics import Direction


def series(
    column: str, values: list[float], *, metric: str = "time", direction: Direction = "lower", block: int = 1
) -> Series:
    return Series(
        column, "hackbench", metric, "s", direction, {"groups": 4}, np.array(values), f"/r/{column}.log", "", block
    )


SAMPLES = Import(
    "hackbench",
    "logs",
    ("old", "new"),
    (
        series("old", [2.0, 4.0]),
        series("old", [6.0], block=2),
        series("new", [3.0, 3.0]),
        series("new", [5.0], metric="rate", direction="higher"),
    ),
    notes=("/r/new.log: one run failed",),
)
CELLS = (
    Cell(2.0, "2.00", 0.0, "0.00%"),
    Cell(1.0, "1.00", 50.0, "50.00%", True),
    Cell(None, "-"),
    Cell(3.0, "3.00", -40.0, "-40.00%"),
)
ROW = TableRow("Amean", "1", {"groups": 1}, "s", "lower", CELLS, 7)
PRINTED = Import(
    "printed tables", "mail", tables=(Table("mmtests", "hackbench", "hackbench", ("a", "b", "c", "d"), (ROW,), 5),)
)


def as_json(*imports: Import) -> dict[str, Any]:
    return json.loads(to_json([outline(result) for result in imports]))


def test_samples_are_rows_with_means_gains_and_every_sample() -> None:
    (result,) = as_json(SAMPLES)["imports"]
    (table,) = result["tables"]
    assert (table["layout"], table["columns"], table["baseline"]) == ("samples", ["old", "new"], "old")
    time, rate = table["rows"]
    # (2 + 4 + 6) / 3 = 4; 100 − 100·3/4 = 25 % less time.
    assert (time["values"], time["recomputed_gains"]) == ([4.0, 3.0], [None, 25.0])
    assert (time["samples"], time["blocks"]) == ([[2.0, 4.0, 6.0], [3.0, 3.0]], [2, 1])
    assert (time["operation"], time["metric"], time["unit"], time["direction"]) == (None, "time", "s", "lower")
    # The sample standard deviation of 2, 4, 6 is 2, half of their mean.
    assert time["spreads"][0] == {"percent": 50.0, "kind": "standard deviation", "n": 3}
    assert (rate["values"], rate["samples"], rate["sources"]) == ([None, 5.0], [None, [5.0]], [None, "/r/new.log"])


def test_printed_rows_have_the_same_fields_and_their_own_figures() -> None:
    (samples,), (printed,) = (as_json(each)["imports"][0]["tables"] for each in (SAMPLES, PRINTED))
    assert printed["rows"][0].keys() == samples["rows"][0].keys()
    (row,) = printed["rows"]
    assert (row["operation"], row["label"], row["line"], row["parameters"]) == ("Amean", "1", 7, {"groups": 1})
    assert row["values"] == [2.0, 1.0, None, 3.0]
    assert row["printed_gains"] == [0.0, 50.0, None, -40.0]
    # Times: 100 − 100·1/2 and 100 − 100·3/2.
    assert row["recomputed_gains"] == [None, 50.0, None, -50.0]
    assert row["stars"] == [None, True, None, None]


def test_gains_that_disagree_with_the_values_are_listed() -> None:
    (disagreement,) = as_json(PRINTED)["imports"][0]["disagreements"]
    assert (disagreement["table"], disagreement["line"], disagreement["column"]) == (0, 7, "d")
    assert (disagreement["printed"], disagreement["recomputed"]) == (-40.0, -50.0)


def test_another_baseline_is_first_and_marked_in_tables() -> None:
    (samples, printed) = with_baseline([SAMPLES, PRINTED], "new")
    assert samples.columns == ("new", "old")
    assert printed.tables[0].baseline == 0
    (_, printed) = with_baseline([SAMPLES, PRINTED], "d")
    gains = as_json(printed)["imports"][0]["tables"][0]["rows"][0]["recomputed_gains"]
    # 100 − 100·2/3
    assert gains == pytest.approx([33.3333, 66.6667, None, None], abs=1e-4)
    with pytest.raises(ImportProblem, match="no column is called 'x'") as problem:
        with_baseline([SAMPLES], "x")
    assert "old, new" in problem.value.todo


def test_the_import_with_the_baseline_comes_first() -> None:
    imports = with_baseline([PRINTED, SAMPLES], "old")
    assert [each.format for each in imports] == ["hackbench", "printed tables"]


def test_columns_can_be_renamed_but_not_to_one_name() -> None:
    imports = renamed([SAMPLES, PRINTED], {"old": "base", "b": "patched"})
    assert columns_of(imports) == ["base", "new", "a", "patched", "c", "d"]
    assert {each.column for each in imports[0].series} == {"base", "new"}
    with pytest.raises(ImportProblem, match="two columns would be called new"):
        renamed([SAMPLES], {"old": "new"})


def test_a_stated_direction_replaces_the_direction_of_the_reader() -> None:
    (result,) = with_directions([SAMPLES], {"time": "higher"})
    assert {each.direction for each in result.series if each.metric == "time"} == {"higher"}
    assert result.notes == SAMPLES.notes
    with pytest.raises(ImportProblem, match="no metric is called tiem"):
        with_directions([SAMPLES], {"tiem": "higher"})


def test_each_column_of_samples_has_its_own_source() -> None:
    old, new = by_column(SAMPLES)
    assert ((old.columns, old.source), (new.columns, new.source)) == (
        (("old",), "/r/old.log"),
        (("new",), "/r/new.log"),
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e200])
def test_values_that_are_not_finite_are_refused(value: float) -> None:
    with pytest.raises(ImportProblem, match="not a number"):
        checked(Import("x", "x", ("a",), (series("a", [1.0, value]),)))


def test_a_repeated_row_is_refused() -> None:
    twice = (series("a", [1.0]), series("a", [2.0], direction="higher"))
    with pytest.raises(ImportProblem, match="twice in one block"):
        checked(Import("x", "x", ("a",), twice))


def test_control_characters_do_not_reach_a_terminal() -> None:
    result = checked(Import("x", "x", ("a\x1b[2J",), (series("a\x1b[2J", [1.0]),)))
    assert result.columns == ("a\ufffd[2J",)
    assert result.series[0].column == "a\ufffd[2J"


def test_an_empty_import_is_refused() -> None:
    with pytest.raises(ImportProblem, match="contains no results"):
        checked(Import("x", "somewhere"))
