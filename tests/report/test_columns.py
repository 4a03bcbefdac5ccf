"""Tables of the text report: columns are folded below each other, and no word is broken."""

from __future__ import annotations

import pytest
from rich.text import Text

from schedlab.report.columns import Column, Columns
from schedlab.report.text import plain_console

REMARK = "inconclusive (MDE +26.6 %) (p 0.031 before the correction over 2 rows)"


def lines(width: int, name: str = "a-variant-with-a-rather-long-name", numbers: int = 5) -> list[str]:
    columns = [
        Column("variant", [Text("base"), Text(name)], "name"),
        *(Column(f"number {k}", [Text("12.34"), Text("-2.9 … +13.1")]) for k in range(numbers)),
        Column("verdict", [Text("baseline"), Text(REMARK)], "remark"),
    ]
    console = plain_console(width)
    with console.capture() as capture:
        console.print(Columns(columns))
    return [line.rstrip() for line in capture.get().splitlines()]


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_no_word_and_no_figure_is_broken_at_any_width(width: int) -> None:
    output = lines(width)
    assert max(map(len, output)) <= width
    flat = " ".join(" ".join(output).split())
    assert flat.count("-2.9 … +13.1") == 5
    for word in ("inconclusive", "(MDE +26.6 %)", "correction", "variant-"):
        assert word in flat


def test_columns_beyond_the_width_are_below_with_the_names_repeated() -> None:
    output = lines(60)
    assert sum(line.startswith("base") for line in output) == 2
    assert sum("verdict" in line for line in output) == 1
    assert sum(line.startswith("base") for line in lines(140)) == 1


def test_a_name_without_separators_is_folded_at_the_width_of_its_column() -> None:
    output = lines(80, "x" * 40, numbers=1)
    assert "".join(line.split()[0] for line in output if line.startswith("x")) == "x" * 40


def test_a_name_is_folded_behind_its_separators() -> None:
    output = lines(80, "schedstat.domain0.newidle.lb_imbalance_misfit", numbers=2)
    assert [line.split()[0] for line in output[2:]] == ["schedstat.domain0.", "newidle.lb_imbalance_", "misfit"]
