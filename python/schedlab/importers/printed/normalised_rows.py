"""Meaning of tables with gains in brackets or in a ``compare%`` column: facts above, baseline, direction, cells.

``[pct imp]`` is an improvement in per cent. CV, the coefficient of variation, is the standard deviation in per cent of
the mean. ``report.py`` of schedtests (github.com/yu-chen-surf/schedtests) prints improvements with a sign in the column
``compare%``, which has no figure of the run: ``(1 - compare / baseline) * 100`` where less is better, elsewhere
``(compare / baseline - 1) * 100``. Its ``std%`` is the standard deviation in per cent of the mean.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from schedlab.importers.checks import unique
from schedlab.importers.printed.lines import Line, is_rule, malformed, title_above
from schedlab.importers.printed.mmtests_rows import Parameters, vote
from schedlab.importers.printed.possible_tables import trailing_figures
from schedlab.results.imported import Cell, Table, TableRow
from schedlab.results.metrics import Direction
from schedlab.workloads.titles import benchmark

NORMALISED = "normalised"
"""Unit of figures that are relative to the baseline."""

_FACT = re.compile(r"(?P<key>[A-Za-z]+) *:\s+(?P<value>\S.*)\Z")
_TEST, _UNIT = re.compile(r"\s*Test *:\s+\S"), re.compile(r"\s*Units? *:\s+\S")
_MARKED = re.compile(r"\[(?:pct|%) ?imp\]|\w ?\( ?(?:CV|std ?%)\)")
"""Marks of columns in a header."""
_TITLED_RULE = re.compile(r"={3,} *(?P<title>[^=]*[^= ]) *={3,}\Z")
_NORMALISED = re.compile(r"normali[sz]ed\b", re.IGNORECASE)
_INTERPRETATIONS: dict[str, Direction] = {"lower is better": "lower", "higher is better": "higher"}
_SCHEDTESTS: dict[str, Direction] = {"hackbench": "lower", "netperf": "higher", "tbench": "higher", "schbench": "lower"}
"""Better directions of the benchmarks in ``report.py`` of schedtests."""
_RUNS = frozenset({"kernel", "kernels"})
"""Labels of tables whose rows are runs and whose columns are metrics."""
_COUNTED = re.compile(r"(?:(?P<number>\d+)[- ]?(?P<name>[A-Za-z]+)|(?P<before>[A-Za-z]+)-(?P<after>\d+))\Z")

REMARK = r"(?:[*^<#!][^\d%()\[\]|]*)?"
"""Pattern of a mark or a remark behind a row, such as ``* Overloaded``."""

_LONGEST_LINE = 500
_FARTHEST_FACT = 16
"""Lines between a header and the first fact of its box."""
_MOST_HEADINGS = 2
"""Lines of text between a box and the header of its table."""
_LONGEST_TITLE = 200


@dataclass(frozen=True)
class Column:
    """A column of the header: its name, and the parts of its cells in their order."""

    name: str
    parts: tuple[str, ...]

    @property
    def has_gain(self) -> bool:
        """Whether the cells contain gains."""
        return "gain" in self.parts or "improvement" in self.parts


@dataclass(frozen=True)
class Header:
    """A header: its first line, the index after its last line, the names of the label columns, and the columns."""

    line: Line
    end: int
    labels: tuple[str, ...]
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Row:
    """A row: the number of its line, its name, and the match of its cells."""

    number: int
    label: str
    match: re.Match[str]


@dataclass(frozen=True)
class Box:
    """The facts above a table, by their keys in lower case, and the table's title."""

    facts: Mapping[str, str] = field(default_factory=dict)
    title: str = ""

    @property
    def direction(self) -> Direction | None:
        """The stated direction."""
        return _INTERPRETATIONS.get(self.facts.get("interpretation", "").lower().rstrip("."))

    @property
    def is_normalised(self) -> bool:
        """Whether the stated unit is relative."""
        return _NORMALISED.match(self.facts.get("units", "")) is not None

    @property
    def statistic(self) -> str:
        """The statistic, if a single word states the statistic."""
        word = self.facts.get("statistic", "")
        return word if word.isalnum() else ""


def box_above(lines: Sequence[Line], at: int, floor: int) -> Box:
    """Return the facts in the box above the header ``lines[at]``. A heading between box and header joins the title."""
    facts, heading, headings = dict[str, str](), "", 0
    for place in range(at - 1, max(floor, at - _FARTHEST_FACT) - 1, -1):
        text = lines[place].text.strip()[:_LONGEST_LINE]
        if fact := _FACT.match(text):
            facts.setdefault(fact["key"].lower(), fact["value"])
        elif facts:
            break
        elif text and not is_rule(text):
            heading, headings = heading or _heading(text), headings + 1
            if headings > _MOST_HEADINGS or trailing_figures(text):
                break
    if "test" not in facts:
        above = lines[at - 1].text.strip()[:_LONGEST_LINE] if at > floor else ""
        return Box({}, _heading(above) if _TITLED_RULE.match(above) else title_above(lines, at, floor))
    named = [facts["test"], facts.get("units", ""), heading]
    return Box(facts, ", ".join(filter(None, named))[:_LONGEST_TITLE])


def unread_boxes(lines: Sequence[Line], taken: Collection[int]) -> Iterator[Line]:
    """Yield headers with marks that are not in a table, and the first line of each box of facts without a table.

    ``taken`` are the indices of all lines of tables.
    """
    tests = [at for at, line in enumerate(lines) if _TEST.match(line.text[:_LONGEST_LINE])]
    boxes = [at for at in tests if any(_UNIT.match(line.text[:_LONGEST_LINE]) for line in lines[at + 1 : at + 5])]
    empty = {
        at
        for at, following in zip_longest(boxes, boxes[1:], fillvalue=len(lines))
        if not any(place in taken for place in range(at + 1, following))
    }
    marked = {at for at, line in enumerate(lines) if at not in taken and _MARKED.search(line.text[:_LONGEST_LINE])}
    yield from (lines[at] for at in sorted(empty | marked))


def _heading(text: str) -> str:
    titled = _TITLED_RULE.match(text)
    return titled["title"] if titled else text.strip("#=~-: ")


def table(header: Header, rows: Sequence[Row], box: Box, source: str) -> tuple[Table | None, tuple[str, ...]]:
    """Return the table and notes; no table if its baseline is not certain.

    Raises:
        ImportProblem: the printed gains contradict the direction that the box states.
    """
    cells = [[_cell(row.match, k, column) for k, column in enumerate(header.columns)] for row in rows]
    if header.labels[0].lower() in _RUNS:
        columns = unique([row.label for row in rows])
        made = [
            TableRow(column.name, "", {}, "", None, tuple(row[k] for row in cells), rows[0].number)
            for k, column in enumerate(header.columns)
        ]
    else:
        columns = unique([column.name for column in header.columns])
        made = [_named(row, header.labels, box.statistic, line) for row, line in zip(rows, cells, strict=True)]
    baseline = _baseline(made)
    is_schedtests = any("improvement" in column.parts for column in header.columns)
    if baseline is None or (is_schedtests and any(row.cells[baseline].text != "1.00" for row in made)):
        return None, ()
    unit, notes = NORMALISED if is_schedtests or box.is_normalised else "", list[str]()
    if unit and any(row.cells[baseline].value not in (1, None) for row in made):
        unit = ""
        notes.append(
            f"line {header.line.number}: the values of {columns[baseline]} are not 1, so the unit is not known"
        )
    notes += remark_notes((row.number, row.match["remark"]) for row in rows)
    direction = _SCHEDTESTS.get(box.title) if is_schedtests else _direction(made, baseline, box, header, source)
    bench = benchmark(box.facts.get("test", box.title))
    return Table(
        layout="compare" if is_schedtests else "pct-imp",
        title=box.title,
        workload=bench.name if bench else "",
        columns=columns,
        rows=tuple(replace(row, unit=unit, direction=direction) for row in made),
        line=header.line.number,
        baseline=baseline,
    ), tuple(notes)


def _named(row: Row, labels: Sequence[str], statistic: str, cells: Sequence[Cell]) -> TableRow:
    """Return a row without unit and direction. The first of two names is the row's operation."""
    names = row.label.split(" ", len(labels) - 1)
    parameters: Parameters = {}
    for label, name in zip(labels, names, strict=True):
        parameters |= row_parameters(label.lstrip("#").lower(), name, alone=len(labels) == 1)
    # A row without a statistic and a case is known by its name only.
    operation, label = (
        (names[0], names[1]) if len(names) > 1 else (statistic, names[0]) if statistic else (names[0], "")
    )
    return TableRow(operation, label, parameters, "", None, tuple(cells), row.number)


def row_parameters(label: str, name: str, *, alone: bool) -> Parameters:
    """Return the parameter in a row's name: ``{"groups": 16}`` of ``16-groups``, ``{"clients": 8}`` of ``8``.

    ``label`` is the name of the column, in lower case; a text in the only such column (``alone``) is a case.
    """
    if name.isdecimal() and len(name) < 16:
        return {label if label.isidentifier() else "case": int(name)}
    if match := _COUNTED.match(name):
        counted = (match["name"] or match["before"]).lower()
        return {f"{counted.removesuffix('s')}s": int(match["number"] or match["after"])}
    return {"case" if alone else label: name}


def remark_notes(remarks: Iterable[tuple[int, str]]) -> list[str]:
    """Return a note for each remark in words, by the number of its line."""
    return [
        f'line {number}: remark left out: "{remark.strip()}"'
        for number, remark in remarks
        if any(map(str.isalpha, remark))
    ]


def begins_as_row(text: str, names: Sequence[str], *, separate: bool) -> bool:
    """Whether a line begins with a row's name: one of the names with other numbers.

    After blank lines (``separate``), a number alone is not such a name.
    """
    if len(text) > _LONGEST_LINE or not any(map(str.isdigit, text)):
        return False
    shape = re.sub(r"\d+", "0", " ".join(text.replace("|", " ").split()))
    shapes = {re.sub(r"\d+", "0", name) for name in names}
    return any(re.match(rf"{re.escape(each)}:?(?: |\Z)", shape) for each in shapes if each != "0" or not separate)


def _cell(match: re.Match[str], k: int, column: Column) -> Cell:
    fields = match.groupdict()
    text, gain, spread = (fields.get(f"{part}{k}") for part in ("value", "gain", "spread"))
    printed = "" if gain in (None, "baseline") else str(gain)
    percent = _number(spread)
    gained = _number(printed)
    return Cell(
        value=_number(text),
        text=text or "",
        gain=None if gained is None else gained + 0.0,  # not -0.0
        gain_text=printed,
        spread_percent=percent,
        spread_kind="" if percent is None else "standard deviation",
    )


def _number(text: str | None) -> float | None:
    """Return a figure; None for no figure, and for ``-``, a missing figure."""
    return float(text) if text and text != "-" else None


def _baseline(rows: Sequence[TableRow]) -> int | None:
    """Return the column without gains, else the column whose gains are all 0; None if neither is certain."""
    columns = [[row.cells[k] for row in rows] for k in range(len(rows[0].cells))]
    without = [k for k, cells in enumerate(columns) if not any(cell.gain_text for cell in cells)]
    zero = [k for k, cells in enumerate(columns) if {cell.gain for cell in cells} - {None} == {0.0}]
    candidates = without or zero
    # Further columns of zeros are equal to the first column, which is the baseline of these tables.
    return candidates[0] if len(candidates) == 1 or candidates[:1] == [0] else None


def _direction(rows: Sequence[TableRow], baseline: int, box: Box, header: Header, source: str) -> Direction | None:
    """Return the direction that the box states, otherwise the direction that the printed improvements prove."""
    count = sum(vote(row.cells[baseline], cell) for row in rows for cell in row.cells)
    proved: Direction | None = "higher" if count > 0 else "lower" if count < 0 else None
    if box.direction and proved and box.direction != proved:
        why = f"the gains below show that {proved} is better, unlike the box above, which states {box.direction}"
        raise malformed(source, header.line, why)
    return box.direction or proved
