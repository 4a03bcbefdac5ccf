"""Tables that are read by the layout that the user states.

The reader infers nothing from the wording of a text. Keys that are not stated have fixed defaults. A line that does not
fit is refused with its number, so that no row is lost.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from schedlab.importers.checks import unique
from schedlab.importers.printed import change_columns
from schedlab.importers.printed.layout import Layout, understood
from schedlab.importers.printed.lines import Line, Part, is_rule, number_or_text, title_above
from schedlab.importers.printed.possible_tables import trailing_figures
from schedlab.results.imported import Cell, ImportProblem, Spread, Table, TableRow

_EMPHASIS = re.compile(r"\*\*|`")


def _between(mark: str) -> Callable[[str], list[str]]:
    """Return a function that splits at a mark, as in CSV: not within quotes."""

    def split(text: str) -> list[str]:
        try:
            fields = next(csv.reader([text], delimiter=mark, skipinitialspace=True), [])
        except csv.Error:  # a field of more than 128 KiB
            fields = text.split(mark)
        return [field.strip() for field in fields]

    return split


_SEPARATORS: dict[str, Callable[[str], list[str]]] = {
    "bars": lambda text: [
        _EMPHASIS.sub("", field).strip() for field in text.strip().removeprefix("|").removesuffix("|").split("|")
    ],
    "tabs": lambda text: [field.strip() for field in text.split("\t")],
    "commas": _between(","),
    "semicolons": _between(";"),
    "wide": lambda text: re.split(r"\s{2,}|\t", _compact(text).strip()),
    "spaces": lambda text: _compact(text).split(),
}
_MARKS = {"bars": "|", "tabs": "\t", "commas": ",", "semicolons": ";"}

_BESIDE_FIGURE = re.compile(
    r"(?<=[\d%)\]])\s*(?:\(\s*(?:±|\+-|\+/-)?\s*[-+]?[\d.,]+\s*(?:%|pct)?\s*\)|\[\s*[-+]?[\d.,]+\s*(?:%|pct)?\s*\]"
    r"|\*\s*[-+]?[\d.]+\s*%\s*\*|(?:±|\+-|\+/-)\s*[\d.,]+(?:\s*%)?)"
)
"""A spread or change after a figure. The text belongs to the figure's column, even if the text contains spaces."""

_SUFFIXES = {"K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0}
_PLAIN_UNITS = {"", "%", *_SUFFIXES, *_SECONDS}
"""Units after a number that make the word a figure, unlike a name such as ``99th``."""
_NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?"
_VALUE = re.compile(rf"(?P<number>{_NUMBER})\s*(?P<unit>[^\d\s()\[\]*±+,.-][^\d\s()\[\]*±+]*)?")
_SPREAD = re.compile(rf"\(?\s*(?:±|\+-|\+/-)\s*(?P<number>{_NUMBER})\s*(?P<percent>%?)\s*\)?")
_BRACKET = re.compile(
    rf"\*\s*(?P<star>{_NUMBER})\s*(?:%|pct)\s*\*|\[\s*(?P<square>{_NUMBER})\s*(?:%|pct)?\s*\]"
    rf"|\(\s*(?P<round>{_NUMBER})\s*(?P<percent>%|pct)?\s*\)"
)
_MISSING = frozenset({"", "-", "--", "---", "n/a", "N/A", "NA", "nan", "NaN", "-nan", "inf"})

Labels = dict[str, str | int | float]
"""The labels of a row by the names of their columns."""


@dataclass(frozen=True)
class _Row:
    """A line and its fields."""

    line: Line
    fields: list[str]


@dataclass(frozen=True)
class _Figure:
    """A cell whose value is in ``unit``; ``column`` is the number of its column, from 1."""

    cell: Cell
    unit: str
    column: int


def read(lines: Sequence[Line], first: int, end: int, layout: Layout, source: str) -> Part:
    """Return the table in ``lines[first:end]``; raise :class:`ImportProblem` for the first line that does not fit."""
    inside = [line for line in lines[first:end] if line.text and not is_rule(line.text)]
    where = f"{source}:{(inside or lines[first:])[0].number}"
    if len(inside) + bool(layout.names) < 2:
        raise ImportProblem("the table has no rows below its header", where=where, todo="state 'names' or 'lines'")
    header, body = _split(inside, layout, source)
    width = len(header)
    for row in body:
        if len(row.fields) != width:
            raise _misfit(source, row.line, f"the line has {len(row.fields)} columns where the header has {width}")
    if outside := [k for k in (*layout.label, *layout.skip) if k > width]:
        raise ImportProblem(f"the table has {width} columns, not {outside[0]}", where=where, todo="correct --table")
    places = [k for k in range(width) if k + 1 not in layout.label and k + 1 not in layout.skip]
    if not places:
        raise ImportProblem("no column of figures is left", where=where, todo="correct 'label' and 'skip'")
    notes = [] if layout.names else _header_notes(header, places, layout, inside[0], body, where)
    change_columns.require_none(header, [row.fields for row in body], places, where)
    names = unique([header[k] or f"column {k + 1}" for k in places])
    labels = _labels(body, header, layout)
    _require_distinct(body, labels, source)
    figures = [[_figure(row, k, layout, source) for k in places] for row in body]
    number = inside[0].number
    title = title_above(lines, first, 0)
    if layout.columns == "metrics":
        # The rows are runs. Transpose the table, so that runs are columns.
        runs = tuple(_name(label) for label in labels)
        if found := next((row for row, run in zip(body, runs, strict=True) if change_columns.is_name(run)), None):
            raise _misfit(source, found.line, "a row of changes or spreads is not a run", "state the lines of the runs")
        numbers = list(range(1, len(runs) + 1))
        rows = [
            _table_row({"metric": name}, [row[k] for row in figures], layout, where, number)
            for k, name in enumerate(names)
        ]
    else:
        runs, numbers = names, [k + 1 for k in places]
        rows = [
            _table_row(label, cells, layout, f"{source}:{row.line.number}", row.line.number)
            for row, label, cells in zip(body, labels, figures, strict=True)
        ]
    table = Table(
        layout="runs in rows" if layout.columns == "metrics" else "columns",
        # A row of another table is not a title.
        title="" if trailing_figures(title) > 1 else title,
        workload="",
        columns=runs,
        rows=tuple(rows),
        line=number,
        baseline=_baseline(layout, runs, numbers, where),
        # An improvement needs a direction.
        gains=layout.gains or ("improvement" if layout.better else "change"),
    )
    shown = understood(header, [(row.line.number, row.fields) for row in body], layout)
    return Part(end, (table,), tuple(notes), shown)


def _split(lines: Sequence[Line], layout: Layout, source: str) -> tuple[Sequence[str], list[_Row]]:
    """Return header and rows, divided by the stated separator or by the only separator that gives a rectangle."""
    separator = layout.separator
    if separator is None:
        # Labels and figures do not contain bars or tabs.
        certain = [name for name in ("bars", "tabs") if all(_MARKS[name] in _raw(line, name) for line in lines)]
        fitting = {name: width for name in certain or _SEPARATORS if (width := _width(lines, name, layout)) > 1}
        if len(set(fitting.values())) != 1:
            marked = [name for name, mark in _MARKS.items() if any(mark in _raw(line, name) for line in lines)]
            state = " or ".join(f"separator={name}" for name in fitting or (*marked, "wide", "spaces"))
            raise ImportProblem(
                "the columns of the table cannot be separated with certainty",
                where=f"{source}:{lines[0].number}",
                todo=f"state {state}; and the lines=FIRST-LAST of the table, or names=NAME+NAME of all columns",
            )
        separator = next(iter(fitting))
    rows = [_Row(line, divided(line, separator)) for line in lines]
    if layout.names:
        return layout.names, rows
    header, body = rows[0].fields, rows[1:]
    unnamed = _unnamed_labels(lines, layout)
    return [""] * unnamed + header if len(header) + unnamed == len(body[0].fields) else header, body


def _unnamed_labels(lines: Sequence[Line], layout: Layout) -> int:
    """Return the number of label columns that may lack a name: the header then begins to the right of the rows."""
    indents = [len(line.text) - len(line.text.lstrip()) for line in lines]
    leading = layout.label == tuple(range(1, len(layout.label) + 1))
    return len(layout.label) if leading and indents[0] > max(indents[1:], default=0) else 0


def divided(line: Line, separator: str) -> list[str]:
    """Return the fields of a line between the marks of a separator."""
    return _SEPARATORS[separator](_raw(line, separator))


def is_figure(field: str) -> bool:
    """Return whether a field is a figure without spread or change, or a missing figure."""
    return field in _MISSING or bool(_VALUE.fullmatch(field))


def _raw(line: Line, separator: str) -> str:
    return (line.tabbed or line.text) if separator in ("tabs", "wide") else line.text


def _compact(text: str) -> str:
    """Return the text without the spaces before and within the spread and the change of a figure."""
    return _BESIDE_FIGURE.sub(lambda match: "".join(match[0].split()), text)


def _width(lines: Sequence[Line], separator: str, layout: Layout) -> int:
    """Return the number of columns that a separator gives every line; 0 if not all lines have the same number."""
    mark = _MARKS.get(separator)
    if mark is not None and not all(mark in _raw(line, separator) for line in lines):
        return 0
    widths = [len(divided(line, separator)) for line in lines]
    if layout.names is None and len(widths) > 1 and widths[0] + _unnamed_labels(lines, layout) == widths[1]:
        widths[0] = widths[1]
    return widths[0] if len(set(widths)) == 1 else 0


def _header_notes(
    header: Sequence[str], places: Sequence[int], layout: Layout, line: Line, body: Sequence[_Row], where: str
) -> list[str]:
    """Return a note if names of columns may be figures; raise ImportProblem if the header may be a row."""
    units = {k: match["unit"] or "" for k, name in enumerate(header) if (match := _VALUE.fullmatch(name))}
    figures = {k for k, unit in units.items() if unit in _PLAIN_UNITS}
    is_row = len(figures) == len(header) or any(map(_BESIDE_FIGURE.search, header))
    if figures.issuperset(places) and (layout.lines is None or not _is_above_numbers(header, layout, body)):
        is_row = True
    text, last = line.text.strip(), body[-1].line.number
    if is_row:
        todo = "state the names=NAME+NAME of all columns, and the lines=FIRST-LAST of the rows"
        if all(name.isprintable() and name and not set(name) & set("+,") for name in header):
            rows = f"lines={body[0].line.number}-{last},names={'+'.join(header)}"
            todo = f"if the line is the header, state {rows}; else {todo}"
        raise ImportProblem(
            f'the first line of the table may be a row, and is not a header with certainty: "{text[:80]}"',
            where=where,
            todo=todo,
        )
    return (
        [f'line {line.number}: assumed to be the header of a table: "{text[:80]}"']
        if units.keys() & set(places)
        else []
    )


def _is_above_numbers(header: Sequence[str], layout: Layout, body: Sequence[_Row]) -> bool:
    """Return whether a column of labels shows the header: a name above numbers alone, or no name above labels."""
    for number in layout.label:
        name, labels = header[number - 1], [row.fields[number - 1] for row in body]
        if all(labels) if not name else not _VALUE.fullmatch(name) and all(map(_VALUE.fullmatch, labels)):
            return True
    return False


_OTHER_LAYOUT = "state lines=FIRST-LAST, the separator, or names of columns; or correct the line"


def _misfit(source: str, line: Line, why: str, todo: str = _OTHER_LAYOUT) -> ImportProblem:
    return ImportProblem(
        f'a line does not fit the stated table: {why}: "{line.text.strip()[:100]}"',
        where=f"{source}:{line.number}",
        todo=todo,
    )


def _labels(rows: Sequence[_Row], header: Sequence[str], layout: Layout) -> list[Labels]:
    """Return the labels of each row. A label is a number only if all labels of its column are numbers."""
    labels: list[Labels] = [{} if layout.label else {"row": f"row {k}"} for k in range(1, len(rows) + 1)]
    for number in layout.label:
        texts = [row.fields[number - 1].rstrip(":") for row in rows]
        values = [number_or_text(text) for text in texts]
        column = texts if any(isinstance(value, str) for value in values) else values
        for label, value in zip(labels, column, strict=True):
            label[header[number - 1] or f"label {number}"] = value
    return labels


def _name(label: Labels) -> str:
    return " ".join(str(value) for value in label.values() if value != "")


def _require_distinct(rows: Sequence[_Row], labels: Sequence[Labels], source: str) -> None:
    lines: dict[str, int] = {}
    for row, label in zip(rows, labels, strict=True):
        name, number = _name(label), row.line.number
        if name in lines:
            raise ImportProblem(
                f'lines {lines[name]} and {number} have the same name: "{name[:80]}"',
                where=f"{source}:{number}",
                todo="state all columns that distinguish the rows (label=1+2), or the lines=FIRST-LAST of each table",
            )
        lines[name] = number


def _with_decimal_points(text: str) -> str | None:
    """Convert decimal commas to points; None if a point is anything but a separator of thousands."""
    if "." in re.sub(r"(?<![\d.,])\d{1,3}(\.\d{3})+(?![\d.])", "", text):
        return None
    return text.replace(".", "").replace(",", ".")


def _figure(row: _Row, place: int, layout: Layout, source: str) -> _Figure:
    """Read a field: a value, its unit, a spread and a change. Refuse any other text."""
    text = row.fields[place]

    def refused(why: str, todo: str = _OTHER_LAYOUT) -> ImportProblem:
        return _misfit(source, row.line, f"column {place + 1} {why}", todo)

    if text in _MISSING:
        return _Figure(Cell(None, text), "", place + 1)
    plain = _with_decimal_points(text) if layout.decimal == "comma" else text
    if plain is None:
        raise refused(f'has a point that does not separate thousands: "{text[:40]}"')
    match = _VALUE.match(plain)
    if match is None:
        raise refused(f'is not a figure: "{text[:40]}"')
    factor, unit = _scale(match["unit"] or "")
    value = float(match["number"].replace(",", ""))
    gain: float | None = None
    gain_text, star, spread = "", None, None
    rest = plain[match.end() :].lstrip()
    while rest:
        if (mark := _SPREAD.match(rest)) and spread is None:
            spread = _percent(mark["number"], bool(mark["percent"]), value)
        elif not (mark := _BRACKET.match(rest)):
            raise refused(f'has more than a figure: "{text[:40]}"')
        elif mark["round"] and spread is None and (layout.spread and (gain is not None or not layout.gains)):
            if not mark["percent"] and layout.spread_unit is None:
                raise refused(f'has "{mark[0]}"', "state spread_unit=percent or spread_unit=value")
            spread = _percent(mark["round"], bool(mark["percent"]) or layout.spread_unit == "percent", value)
        elif layout.gains and gain is None and not (mark["round"] and not mark["percent"]):
            gain_text = mark["star"] or mark["square"] or mark["round"]
            gain, star = float(gain_text.replace(",", "")), bool(mark["star"])
        else:
            raise refused(f'has "{mark[0]}"', "state gains=improvement, gains=change or spread=KIND")
        rest = rest[mark.end() :].lstrip()
    kind: Spread = "" if spread is None else layout.spread or "unknown"
    printed = text[: match.end()].strip()
    return _Figure(Cell(value * factor, printed, gain, gain_text, star, spread, kind), unit, place + 1)


def _percent(number: str, percent: bool, value: float) -> float | None:
    figure = float(number.replace(",", ""))
    if percent:
        return figure
    return 100 * figure / abs(value) if value else None


def _scale(unit: str) -> tuple[float, str]:
    """Return the factor of a decimal or binary suffix, and the unit without the suffix: ``M`` of ``9.7M``."""
    return (_SUFFIXES[unit], "") if unit in _SUFFIXES else (1.0, unit)


def _table_row(labels: Labels, figures: Sequence[_Figure], layout: Layout, where: str, line: int) -> TableRow:
    """Build a row in a single unit. Units of time are converted; other units must be equal.

    Labels that are texts form the row's operation. Labels that are numbers are parameters named after their columns.
    """
    operation = " ".join(label for label in labels.values() if isinstance(label, str) and label)
    parameters = {name: label for name, label in labels.items() if not isinstance(label, str)}
    label = " ".join(map(str, parameters.values()))
    name = f"{operation} {label}".strip() or "a row"
    columns: dict[str, list[int]] = {}
    for figure in figures:
        if figure.cell.value is not None:
            columns.setdefault(figure.unit, []).append(figure.column)
    unit = layout.unit or next(filter(None, columns), "")
    if layout.unit:
        columns.pop("", None)
    if len({unit, *columns}) > 1 and not {unit, *columns} <= _SECONDS.keys():
        listed = " and ".join(f"{other or 'without unit'} (column {numbers[0]})" for other, numbers in columns.items())
        fewest = min(reversed(columns.values()), key=len)
        remedy = f", or unit={unit} if all figures are in {unit}" if "" in columns else ""
        raise ImportProblem(
            f"{name} has figures of several units: {listed}",
            where=where,
            todo=f"state skip={'+'.join(map(str, dict.fromkeys(fewest)))}{remedy}",
        )
    cells = [
        replace(figure.cell, value=figure.cell.value * (_SECONDS[figure.unit] / _SECONDS[unit]))
        if figure.cell.value is not None and figure.unit not in ("", unit)
        else figure.cell
        for figure in figures
    ]
    return TableRow(operation, label, parameters, unit, layout.better, tuple(cells), line)


def _baseline(layout: Layout, runs: Sequence[str], numbers: Sequence[int], where: str) -> int:
    """Return the index of the baseline among the runs, whose columns or rows have these numbers."""
    stated = layout.baseline
    if stated is None:
        return 0
    if isinstance(stated, int) and stated in numbers:
        return numbers.index(stated)
    if str(stated) in runs:
        return list(runs).index(str(stated))
    listed = ", ".join(f"{number}: {run}" for number, run in zip(numbers, runs, strict=True))
    raise ImportProblem(f"baseline={stated} is not a run of the table", where=where, todo=f"there are {listed[:500]}")
