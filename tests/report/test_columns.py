"""Texts and tables for a terminal: columns are folded below each other, and no word is broken."""

from __future__ import annotations

import pytest

from schedlab.report.render.layout import Column, fold, shown, styled, table

REMARK = "inconclusive (MDE +26.6 %) (p 0.031 before the correction over 2 rows)"


def lines(width: int, name: str = "a-variant-with-a-rather-long-name", numbers: int = 5) -> list[str]:
    columns = [
        Column("variant", [styled("base"), styled(name)], "name"),
        *(Column(f"number {k}", [styled("12.34"), styled("-2.9 … +13.1")]) for k in range(numbers)),
        Column("verdict", [styled("baseline"), styled(REMARK)], "remark"),
    ]
    return [shown(line, styles=False) for line in table(columns, width)]


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


def paired(width: int) -> list[str]:
    """Return the lines of a table with pairs of columns."""
    cells = [styled("12.34")]
    pairs = [Column(f"{side} {k}", cells, beside=side == "right") for k in range(3) for side in ("left", "right")]
    columns = [Column("row", [styled("a")], "name"), *pairs]
    return [shown(line, styles=False) for line in table(columns, width)]


def test_a_column_stays_beside_the_column_before_it() -> None:
    for width, heads in ((54, 1), (53, 2), (37, 2), (36, 3), (20, 3)):
        headings = [line for line in paired(width) if line.startswith("row")]
        assert len(headings) == heads
        assert max(map(len, paired(width))) <= width
        assert all(line.count("left") == line.count("right") for line in headings)


def test_columns_that_do_not_fit_beside_each_other_are_below_each_other() -> None:
    output = paired(14)
    assert max(map(len, output)) <= 14
    assert [line.split("row")[1].strip() for line in output if line.startswith("row")] == [
        f"{side} {k}" for k in range(3) for side in ("left", "right")
    ]


def test_a_text_is_folded_between_words_and_keeps_styles_and_figures() -> None:
    text = [*styled("pinned: ", "bold"), *styled("faster by 5.0 % in all rows of the run", "green")]
    folded = [shown(line, styles=False) for line in fold(text, 20, 2)]
    assert folded == ["pinned: faster by", "  5.0 % in all rows", "  of the run"]
    first, *_ = (shown(line, styles=True) for line in fold(text, 20, 2))
    assert first == "\x1b[1mpinned: \x1b[0m\x1b[32mfaster by\x1b[0m"


def test_a_text_never_controls_the_terminal() -> None:
    assert shown(styled("a\x1b[31mb\nc"), styles=True) == "a\\u001b[31mb c"


def test_columns_are_as_wide_as_their_cells_on_a_terminal() -> None:
    columns = [Column("lock", [styled("锁"), styled("branch")], "name"), Column("waits", [styled("7"), styled("12")])]
    assert [shown(line, styles=False) for line in table(columns, 80)] == [
        "lock    waits", "锁          7", "branch     12",
    ]  # fmt: skip
