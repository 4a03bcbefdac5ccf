"""Matching of rows: equal rows are compared, and all other rows have a reason."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from schedlab.analysis.matching import match
from schedlab.analysis.verdicts import Question


def question(
    workload: str = "hackbench", metric: str = "time", unit: str = "s", direction: str = "lower", **parameters
):
    text = json.dumps(parameters, sort_keys=True, separators=(",", ":"))
    return Question(workload, text, metric, unit, direction)


def test_rows_match_regardless_of_order_label_and_digits() -> None:
    labelled = Question("hackbench", '{"groups":4}', "time", "s", "lower", "Hmean-4", 2)
    matching = match({"a": [question(groups=1), question(groups=4)], "b": [labelled, question(groups=1)]})
    assert [(row.question.parameters, row.columns) for row in matching.rows] == [
        ('{"groups":1}', ("a", "b")),
        ('{"groups":4}', ("a", "b")),
    ]
    assert matching.unmatched == ()


def test_a_row_missing_in_one_column_is_compared_in_other_columns_and_listed() -> None:
    matching = match({"a": [question(groups=1)], "b": [question(groups=1)], "c": [question("tbench", groups=1)]})
    (row,) = matching.rows
    assert row.columns == ("a", "b")
    assert [(row.question.workload, row.missing, row.reason) for row in matching.unmatched] == [
        ("hackbench", ("c",), "c has no hackbench"),
        ("tbench", ("a", "b"), "a has no tbench; b has no tbench"),
    ]


def test_another_unit_or_direction_is_not_compared_with_a_reason() -> None:
    matching = match({"a": [question()], "b": [question(unit="ms")]})
    assert matching.rows == ()
    assert [row.reason for row in matching.unmatched] == ["b has the row in ms, not s"]
    matching = match({"a": [question()], "b": [question(direction="higher")]})
    assert [row.reason for row in matching.unmatched] == ["b says that higher is better, not lower"]


def test_the_reason_names_the_differing_parameter_and_its_values() -> None:
    have = [question(groups=groups, loops=9) for groups in (1, 2, 4, 8, 16, 32)]
    matching = match({"a": [question(groups=3, loops=9)], "b": have})
    assert matching.unmatched[0].reason == "b has groups=1, 2, 4, 8 and 2 more"
    matching = match({"a": [question(groups=1)], "b": [question(groups=1, loops=9)]})
    assert [row.reason for row in matching.unmatched] == ["b has loops=9", "a has no loops"]
    matching = match({"a": [question(metric="latency")], "b": [question(metric="time")]})
    assert matching.unmatched[0].reason == "b has no latency of hackbench"


def test_rows_without_a_baseline_are_not_compared() -> None:
    matching = match({"a": [question(groups=1)], "b": [question(groups=2)], "c": [question(groups=2)]})
    assert matching.rows == ()
    assert [row.missing for row in matching.unmatched] == [("b", "c"), ("a",)]


rows = st.lists(
    st.sampled_from([question(groups=n, unit=unit) for n in range(4) for unit in ("s", "ms")]), unique_by=str
)


@given(st.dictionaries(st.sampled_from("abcd"), rows, min_size=2))
def test_every_row_of_every_column_is_compared_or_listed(columns: dict[str, list[Question]]) -> None:
    columns = {name: list({row.parameters: row for row in questions}.values()) for name, questions in columns.items()}
    matching = match(columns)
    compared = {(row.question.parameters, name) for row in matching.rows for name in row.columns}
    listed = {(row.question.parameters, name) for row in matching.unmatched for name in row.missing}
    assert not compared & listed
    for name, questions in columns.items():
        for row in questions:
            partners = {key for key in compared if key[0] == row.parameters}
            assert (row.parameters, name) in compared | listed or not partners
            assert (row.parameters, name) in compared or any(key[0] == row.parameters for key in listed)
