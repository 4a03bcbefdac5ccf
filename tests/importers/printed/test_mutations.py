"""Generated tables of scheduler mails with a change: each is read with the generated figures, or refused."""

from __future__ import annotations

import random
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from schedlab.results.imported import Import, ImportProblem
from tests.importers.printed.helpers import imported

Cell = tuple[float | None, float | None, float | None]
"""Value, gain and spread."""


@dataclass(frozen=True)
class Generated:
    """A table: its form, the names of its runs, and its rows, each a name and the cells."""

    form: str
    runs: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


NAMES = ("tip", "fast-path", "v3+fix", "lazy_preempt", "6.18-rc2", "sched/core")


def generate(form: str, seed: int) -> Generated:
    """Return a table of time, which is better if lower: gains follow from the values with two decimals."""
    chance = random.Random(seed)
    runs = NAMES[: chance.randint(2, 4)] if form != "compare" else ("baseline", "compare")
    rows = []
    for size in sorted(chance.sample(range(1, 600), chance.randint(2, 6))):
        cells: list[Cell] = [(1.0, None if form == "compare" else 0.0, chance.randint(0, 1500) / 100)]
        for _ in runs[1:]:
            value = chance.randint(60, 150) / 100
            # The figure behind the printed value is within half a unit of its last digit.
            gain = round(100 - 100 * value + chance.randint(-30, 30) / 100, 2) + 0.0
            cells.append((None if form == "compare" else value, gain, chance.randint(0, 1500) / 100))
        if form == "changes":
            cells = [(4.0, 0.0, None), *((4 * value, 100 - 100 * value, None) for value, _, _ in cells[1:] if value)]
        rows.append((f"pipe {size}-groups" if form == "compare" else f"{size}-groups", tuple(cells)))
    return Generated(form, runs, tuple(rows))


def _header(table: Generated) -> str:
    if table.form == "compare":
        return "case            load        baseline(std%)  compare%( std%)"
    if table.form == "changes":
        return "Test:        " + "".join(f"{run:>24}" for run in table.runs)
    return "Case:   " + "".join(f"{f'{run}[pct imp](CV)':>30}" for run in table.runs)


def _cell(form: str, cell: Cell) -> str:
    value, gain, spread = cell
    if form == "changes":
        return f"{f'{value:.2f} ({gain:.2f} pct)':>24}"
    if form == "compare":
        return f"    1.00 ({spread:6.2f})" if gain is None else f"  {gain:>+6.2f} ({spread:6.2f})"
    return f"{f'{value:.2f} [{gain:6.2f}]({spread:5.2f})':>30}"


def lines_of(table: Generated) -> list[str]:
    """Return the lines of a table, the header first."""
    names = [name.replace(" ", "            ") for name, _ in table.rows]
    rows = ["".join(_cell(table.form, cell) for cell in cells) for _, cells in table.rows]
    colon = ":" if table.form == "changes" else ""
    return [_header(table), *(f"{name + colon:>{13}}{row}" for name, row in zip(names, rows, strict=True))]


BOX = [
    "=" * 66, "Test          : hackbench", "Units         : Normalized time in seconds",
    "Interpretation: Lower is better", "Statistic     : AMean", "=" * 66,
]  # fmt: skip


def text_of(table: Generated, change: Callable[[list[str]], list[str]] = list) -> str:
    """Return a mail with the table whose lines are changed, below a box or a heading."""
    above = (
        BOX if table.form == "pct-imp" else ["hackbench", "========="] if table.form == "compare" else ["hackbench", ""]
    )
    return "\n".join(["Results:", "", *above, *change(lines_of(table)), "", "Thanks,", "A"]) + "\n"


def read_back(result: Import) -> list[tuple[tuple[str, ...], list[tuple[str, list[Cell]]]]]:
    """Return the names and the rows of all tables."""
    assert not result.series
    return [
        (
            table.columns,
            [
                (
                    (f"{row.operation} {row.label}" if "groups" not in row.operation else row.operation)
                    .replace("AMean ", "").strip(),
                    [(cell.value, cell.gain, cell.spread_percent) for cell in row.cells],
                )
                for row in table.rows
            ],
        )
        for table in result.tables
    ]  # fmt: skip


def _approximately(cell: Cell) -> tuple[object, ...]:
    return tuple(None if figure is None else pytest.approx(figure, abs=1e-9) for figure in cell)


def expect(result: Import, table: Generated) -> None:
    """Check that the import is exactly this table."""
    expected = [(table.runs, [(name, list(map(_approximately, cells))) for name, cells in table.rows])]
    assert read_back(result) == expected
    assert {row.direction for each in result.tables for row in each.rows} == {"lower"}


FORMS = ("pct-imp", "compare", "changes")
SEEDS = range(4)

Change = Callable[[list[str]], list[str]]


def _each(change: Callable[[str], str]) -> Change:
    return lambda lines: list(map(change, lines))


def _header_only(change: Callable[[str], str]) -> Change:
    return lambda lines: [change(lines[0]), *lines[1:]]


def _last_row(change: Callable[[str], str]) -> Change:
    return lambda lines: [*lines[:-1], change(lines[-1])]


def _wrap(lines: list[str]) -> list[str]:
    """Break lines as mail programs do: at blanks, the rest without indentation."""
    return [
        piece for line in lines for piece in textwrap.wrap(line, 60, break_on_hyphens=False, break_long_words=False)
    ]


HARMLESS: dict[str, tuple[Change, tuple[str, ...]]] = {
    "nothing": (list, FORMS),
    "quoted": (_each(lambda line: f"> {line}"), FORMS),
    "quoted twice": (_each(lambda line: f">> > {line}"), FORMS),
    "indented": (_each(lambda line: f"     {line}"), FORMS),
    "trailing blanks": (_each(lambda line: f"{line}   "), FORMS),
    "wrapped": (_wrap, ("pct-imp",)),
    "a blank line between rows": (lambda lines: [*lines[:2], "", *lines[2:]], ("pct-imp", "compare")),
    "a rule below the header": (lambda lines: [lines[0], "-" * 40, *lines[1:]], FORMS),
    "marks behind rows": (_last_row(lambda line: f"{line}  *"), ("pct-imp", "compare")),
    "tabs": (_each(lambda line: re.sub(r" {8,}", "\t\t", line)), ("pct-imp", "compare")),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("kind", "form"), [(kind, form) for kind, (_, forms) in HARMLESS.items() for form in forms])
def test_a_harmless_change_does_not_change_a_figure(kind: str, form: str, seed: int) -> None:
    table = generate(form, seed)
    expect(imported(text_of(table, HARMLESS[kind][0])), table)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("form", ["pct-imp", "changes"])
def test_other_names_of_runs_are_other_names_only(form: str, seed: int) -> None:
    table = generate(form, seed)
    renamed = replace(table, runs=tuple(f"{name}-b{k}" for k, name in enumerate(table.runs)))
    expect(imported(text_of(renamed)), renamed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("form", ["pct-imp", "changes"])
def test_a_further_run_is_a_further_column(form: str, seed: int) -> None:
    table = generate(form, seed)
    added = {"pct-imp": (0.75, 25.0, 1.25), "changes": (3.0, 25.0, None)}[form]
    wider = replace(
        table, runs=(*table.runs, "added"), rows=tuple((name, (*cells, added)) for name, cells in table.rows)
    )
    expect(imported(text_of(wider)), wider)


def _without(pattern: str, count: int = 0) -> Callable[[str], str]:
    return lambda line: re.sub(pattern, lambda match: " " * len(match[0]), line, count=count)


def _last_cell(line: str) -> str:
    return line[: line.rindex("  ", 0, -18)]


def _name_of_the_row_before(lines: list[str]) -> list[str]:
    return [*lines[:-1], re.sub(r"\d+-groups", re.findall(r"\d+-groups", lines[-2])[0], lines[-1])]


def _with_point(mark: str) -> Callable[[str], str]:
    return lambda line: re.sub(r"(\d)\.(\d\d)", rf"\1{mark}\2", line, count=1)


PCT_IMP, COMPARE, CHANGES = FORMS
HARMFUL: dict[str, tuple[Change, tuple[str, ...]]] = {
    "the header has no meaning of the gains": (_header_only(_without(r"\[pct imp\]")), (PCT_IMP,)),
    "the header has no meaning of the spreads": (_header_only(_without(r"\(CV\)|\( ?std%\)")), (PCT_IMP, COMPARE)),
    "the second column may be figures": (_header_only(lambda line: line.replace("compare%", "compare")), (COMPARE,)),
    "the spreads may be absolute": (_header_only(lambda line: re.sub("CV|std%", "std", line)), (PCT_IMP, COMPARE)),
    "the gains have another form": (_each(lambda line: re.sub(r"([-+]\d+\.\d+) ", r"\1%", line)), (COMPARE,)),
    "the gains have no sign": (_each(lambda line: re.sub(r"[-+](\d+\.\d+) \(", r" \1 (", line)), (COMPARE,)),
    "the unit of the gains is missing": (_each(_without(" pct")), (CHANGES,)),
    "a run is missing in the header": (_header_only(lambda line: line[: line.rindex("  ")]), FORMS),
    "a run is missing in all rows": (lambda lines: [lines[0], *map(_last_cell, lines[1:])], (PCT_IMP, CHANGES)),
    "a cell is missing in the last row": (_last_row(_last_cell), FORMS),
    "the first cell is missing in the last row": (
        _last_row(_without(r"[14]\.00 *[\[(][^\])]*[\])](?:\([^)]*\))?", 1)), FORMS,
    ),
    "the last row has no figures": (_last_row(lambda line: re.sub(r"(groups:?) .*", r"\1", line)), FORMS),
    "a column of counts": (_each(lambda line: f"{line}      7"), FORMS),
    "a count behind the last row": (_last_row(lambda line: f"{line}      7"), FORMS),
    "the last row has no name": (_last_row(_without(r"(?:pipe +)?\d+-groups:?")), FORMS),
    "the last row has the name of the row before": (_name_of_the_row_before, FORMS),
    "a decimal comma": (_last_row(_with_point(",")), FORMS),
    "a figure torn behind the point": (_last_row(_with_point(". ")), FORMS),
    "a figure torn before the point": (_last_row(_with_point(" .")), FORMS),
    "another figure in the baseline": (
        _last_row(lambda line: re.sub(r"[14]\.00 \(", "3.25 (", line)), (COMPARE, CHANGES),
    ),
    "the first run has gains": (
        _each(lambda line: re.sub(r"(\[ *|\()0\.00(\]| pct\))", r"\g<1>3.00\2", line)), (PCT_IMP, CHANGES),
    ),
}  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("kind", "form"), [(kind, form) for kind, (_, forms) in HARMFUL.items() for form in forms])
def test_a_harmful_change_is_refused(kind: str, form: str, seed: int) -> None:
    table = generate(form, seed)
    text = text_of(table, HARMFUL[kind][0])
    assert text != text_of(table), "the change has no effect"
    with pytest.raises(ImportProblem) as caught:
        imported(text)
    assert caught.value.todo


@pytest.mark.parametrize("seed", SEEDS)
def test_a_box_with_the_other_direction_is_refused(seed: int) -> None:
    table = generate("pct-imp", seed)
    with pytest.raises(ImportProblem, match="unlike the box above"):
        imported(text_of(table).replace("Lower", "Higher"))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_box_without_unit_or_direction_changes_no_figure(seed: int) -> None:
    table = generate("pct-imp", seed)
    for line in BOX[1:5]:
        expect(imported(text_of(table).replace(f"{line}\n", "")), table)
    without_unit = imported(text_of(table).replace(f"{BOX[2]}\n", ""))
    assert {row.unit for each in without_unit.tables for row in each.rows} == {""}
