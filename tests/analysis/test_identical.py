"""A remark about what a simulation makes equal by construction."""

from __future__ import annotations

import polars as pl

from schedlab.analysis.identical import remark
from schedlab.analysis.verdicts import Options, Question, judge

ROWS = [Question("w", "{}", metric, "s", "lower") for metric in ("a", "b")]


def told(values: dict[str, dict[str, list[float]]]) -> str | None:
    """The remark about figures by variant and metric."""
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
    return remark(samples, verdicts, variants[0])


def test_it_names_variants_and_rows_that_are_the_same_to_the_last_digit_in_every_block() -> None:
    base = {"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}
    text = told({
        "base": base, "same": base, "half": base | {"b": [4.0, 5.0, 6.000001]},
        "other": {"a": [1.1, 2.0, 3.0], "b": [4.0, 5.1, 6.0]}, "control": base,
    })  # fmt: skip
    assert text is not None
    assert "identical to base" in text
    assert "same in all 2 rows" in text
    assert "half in 1 of 2 rows" in text
    assert "other" not in text
    assert "control" not in text
    assert "by construction" in text


def test_it_says_nothing_where_nothing_is_the_same_or_one_block_cannot_tell() -> None:
    assert told({"base": {"a": [1.0, 2.0], "b": [1.0, 2.0]}, "x": {"a": [1.0, 2.1], "b": [1.1, 2.0]}}) is None
    assert told({"base": {"a": [1.0], "b": [2.0]}, "x": {"a": [1.0], "b": [2.0]}}) is None
