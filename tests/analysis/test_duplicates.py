"""The remark on rows that a simulation makes equal by construction."""

from __future__ import annotations

import polars as pl

from schedlab.analysis.duplicates import remark
from schedlab.analysis.judging import judge
from schedlab.analysis.verdicts import Options, Question

ROWS = [Question("w", "{}", metric, "s", "lower") for metric in ("a", "b")]


def remark_on(values: dict[str, dict[str, list[float]]], stack: tuple[str, ...] = ()) -> str | None:
    """Return the remark about figures by variant and metric."""
    samples = pl.DataFrame(
        [
            {"workload": "w", "parameters": "{}", "metric": metric, "variant": variant, "block": block, "value": value}
            for variant, metrics in values.items()
            for metric, blocks in metrics.items()
            for block, value in enumerate(blocks)
        ]
    )
    variants = [*values]
    verdicts = judge(samples, ROWS, variants, "control" if "control" in values else None, Options())
    return remark(samples, verdicts, variants[0], stack)


def test_the_remark_names_variants_and_rows_that_are_equal_in_every_block() -> None:
    base = {"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}
    text = remark_on({
        "base": base, "same": base, "half": base | {"b": [4.0, 5.0, 6.000001]},
        "other": {"a": [1.1, 2.0, 3.0], "b": [4.0, 5.1, 6.0]}, "control": base,
    })  # fmt: skip
    assert text is not None
    assert "same to base in all 2 rows" in text
    assert "half to base in 1 of 2 rows" in text
    assert "other" not in text
    assert "control" not in text
    assert "same random seed" in text


def test_there_is_no_remark_without_equal_rows_or_with_a_single_block() -> None:
    assert remark_on({"base": {"a": [1.0, 2.0], "b": [1.0, 2.0]}, "x": {"a": [1.0, 2.1], "b": [1.1, 2.0]}}) is None
    assert remark_on({"base": {"a": [1.0], "b": [2.0]}, "x": {"a": [1.0], "b": [2.0]}}) is None


def test_each_step_of_a_stack_is_compared_with_its_predecessor() -> None:
    first, second = {"a": [1.0, 2.0], "b": [3.0, 4.0]}, {"a": [1.5, 2.5], "b": [3.5, 4.5]}
    text = remark_on({"base": first, "one": second, "two": second}, ("base", "one", "two"))
    assert text is not None
    assert "two to one in all 2 rows" in text
    assert "to base" not in text
    # A block without a value of both variants is not compared.
    remark = remark_on({"base": first, "one": {"a": [1.0, 2.0, 9.0], "b": [3.1, 4.0]}})
    assert remark is not None
    assert "one to base in 1 of 2 rows" in remark
