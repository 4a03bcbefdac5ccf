"""Tables that are read by the layout that the user states.

Nothing is inferred from words. Keys that are not stated have fixed defaults, and a table that does not fit is refused
with its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from schedlab.importers.printed.layout import Layout
from schedlab.importers.printed.lines import Line, Part, is_rule, title_above, unique
from schedlab.results import Cell, ImportProblem, Spread, Table, TableRow, showable

_EMPHASIS = re.compile(r"\*\*|`")
_SEPARATORS: dict[str, Callable[[str], list[str]]] = {
    "bars": lambda text: [
        _EMPHASIS.sub("", field).strip() for field in text.strip().removeprefix("|").removesuffix("|").split("|")
    ],
    "tabs": lambda text: [field.strip() for field in text.split("\t")],
    "commas": lambda text: [field.strip() for field in text.split(",")],
    "semicolons": lambda text: [field.strip() for field in text.split(";")],
    "wide": lambda text: re.split(r"\s{2,}", _compact(text).strip()),
    "spaces": lambda text: _compact(text).split(),
}
_MARKS = {"bars": "|", "tabs": "\t", "commas": ",", "semicolons": ";"}

_BESIDE_FIGURE = re.compile(
    r"(?<=[\d%)\]])\s*(?:\(\s*(?:±|\+-|\+/-)?\s*[-+]?[\d.,]+\s*(?:%|pct)?\s*\)|\[\s*[-+]?[\d.,]+\s*(?:%|pct)?\s*\]"
    r"|\*\s*[-+]?[\d.]+\s*%\s*\*|(?:±|\+-|\+/-)\s*[\d.,]+(?:\s*%)?)"
)
"""A spread or change behind a figure: part of the same column, whatever the spaces in it."""

_SUFFIXES = {"K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0}
_NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?"
_VALUE = re.compile(rf"(?P<number>{_NUMBER})\s*(?P<unit>[^\d\s()\[\]*±+,.-][^\d\s()\[\]*±+]*)?")
_SPREAD = re.compile(rf"\(?\s*(?:±|\+-|\+/-)\s*(?P<number>{_NUMBER})\s*(?P<percent>%?)\s*\)?")
_BRACKET = re.compile(
    rf"\*\s*(?P<star>{_NUMBER})\s*(?:%|pct)\s*\*|\[\s*(?P<square>{_NUMBER})\s*(?:%|pct)?\s*\]"
    rf"|\(\s*(?P<round>{_NUMBER})\s*(?P<percent>%|pct)?\s*\)"
)
_MISSING = frozenset({"", "-", "--", "---", "n/a", "N/A", "NA", "nan", "NaN", "-nan", "inf"})


def _compact(text: str) -> str:
    """Return the text without spaces between a figure and its spread and change, or within these."""
    return _BESIDE_FIGURE.sub(lambda match: "".join(match[0].split()), text)


@dataclass
class _Split:
    """A line and its fields."""

    line: Line
    fields: list[str]


def read(lines: Sequence[Line], first: int, end: int, layout: Layout, source: str) -> Part:
    """Return the table in ``lines[first:end]``; raise :class:`ImportProblem` for the first line that does not fit."""
    inside = [line for line in lines[first:end] if line.text and not is_rule(line.text)]
    where = f"{source}:{inside[0].number}"
    if len(inside) + bool(layout.names) < 2:
        raise ImportProblem("the table has no rows below its header", where=where, todo="state 'names' or 'lines'")
    header, body = _split(inside, layout, source)
    width = len(header)
    if any(map(_BESIDE_FIGURE.search, header)):
        raise ImportProblem("the first line of the table is not a header", where=where, todo="state 'names' or 'lines'")
    for row in body:
        if len(row.fields) != width:
            raise _misfit(source, row.line, f"it has {len(row.fields)} columns where the header has {width}")
    outside = [k for k in (*layout.label, *layout.skip) if k > width]
    if outside:
        raise ImportProblem(f"the table has {width} columns, not {outside[0]}", where=where, todo="correct --table")
    places = [k for k in range(width) if k + 1 not in layout.label and k + 1 not in layout.skip]
    if not places:
        raise ImportProblem("no column of figures is left", where=where, todo="correct 'label' and 'skip'")
    names = unique([header[k] or f"column {k + 1}" for k in places])
    labels = [_label(row, header, layout) for row in body]
    figures = [[_figure(row, k, layout, source) for k in places] for row in body]
    number = inside[0].number
    title = title_above(lines, first, 0)
    # Without a direction, nothing can be called an improvement.
    gains = layout.gains or ("improvement" if layout.better else "change")
    if layout.columns == "metrics":
        runs = unique([" ".join(map(str, label.values())) or f"row {k}" for k, label in enumerate(labels, 1)])
        made = [
            _row({"metric": name}, [row[k] for row in figures], layout, f"{source}:{number}", number)
            for k, name in enumerate(names)
        ]
        baseline = _baseline(layout, runs, list(range(1, len(runs) + 1)), where)
        table = Table("runs in rows", title, "", runs, tuple(made), number, baseline, gains)
    else:
        made = []
        for row, label, cells in zip(body, labels, figures, strict=True):
            made.append(_row(label, cells, layout, f"{source}:{row.line.number}", row.line.number))
        baseline = _baseline(layout, names, [k + 1 for k in places], where)
        table = Table("columns", title, "", names, tuple(made), number, baseline, gains)
    return Part(end, (table,))


def _split(lines: Sequence[Line], layout: Layout, source: str) -> tuple[Sequence[str], list[_Split]]:
    """Return the header and the rows, by the stated separator or by the only one that gives a rectangle."""
    separator = layout.separator
    if separator is None:
        fitting = {name: width for name in _SEPARATORS if (width := _width(lines, name, layout)) > 1}
        # Bars and tabs never stand inside of a column.
        fitting = {name: width for name, width in fitting.items() if name in ("bars", "tabs")} or fitting
        if len(set(fitting.values())) != 1:
            marked = [name for name, mark in _MARKS.items() if any(mark in _raw(line, name) for line in lines)]
            state = " or ".join(f"separator={name}" for name in fitting or (*marked, "wide", "spaces"))
            raise ImportProblem(
                "the columns of the table cannot be separated with certainty",
                where=f"{source}:{lines[0].number}",
                todo=f"state {state}; and the lines=FIRST-LAST of the table, or names=NAME+NAME of all columns",
            )
        separator = next(iter(fitting))
    split = [_Split(line, _SEPARATORS[separator](_raw(line, separator))) for line in lines]
    if layout.names:
        return layout.names, split
    unnamed = _unnamed_labels(lines, layout)
    if unnamed and len(split[0].fields) + unnamed == len(split[1].fields):
        return [""] * unnamed + split[0].fields, split[1:]
    return split[0].fields, split[1:]


def _unnamed_labels(lines: Sequence[Line], layout: Layout) -> int:
    """Return the number of label columns if the header may lack their names: it begins right of the rows."""
    indents = [len(line.text) - len(line.text.lstrip()) for line in lines]
    leading = layout.label == tuple(range(1, len(layout.label) + 1))
    return len(layout.label) if leading and indents[0] > max(indents[1:], default=0) else 0


def _raw(line: Line, separator: str) -> str:
    return (line.tabbed or line.text) if separator == "tabs" else line.text


def _width(lines: Sequence[Line], separator: str, layout: Layout) -> int:
    """Return the number of columns that a separator gives every line; 0 if not all lines have the same number."""
    mark = _MARKS.get(separator)
    if mark is not None and not all(mark in _raw(line, separator) for line in lines):
        return 0
    widths = [len(_SEPARATORS[separator](_raw(line, separator))) for line in lines]
    if layout.names is None and len(widths) > 1 and widths[0] + _unnamed_labels(lines, layout) == widths[1]:
        widths[0] = widths[1]
    return widths[0] if len(set(widths)) == 1 else 0


def _misfit(source: str, line: Line, why: str) -> ImportProblem:
    return ImportProblem(
        f'a line does not fit the stated table: {why}: "{showable(line.text.strip()[:100])}"',
        where=f"{source}:{line.number}",
        todo="state lines=FIRST-LAST, the separator, or names of columns; or correct the line",
    )


def _label(row: _Split, header: Sequence[str], layout: Layout) -> dict[str, str | int | float]:
    """Return the row's labels by the names of their columns."""
    return {header[k - 1] or f"label {k}": _number_or_text(row.fields[k - 1].rstrip(":")) for k in layout.label}


def _number_or_text(text: str) -> str | int | float:
    """Return a number if it prints as the text does: ``6.10`` is the name of a kernel, not 6.1."""
    if re.fullmatch(r"\d{1,15}(\.\d{1,15})?", text):
        number = float(text) if "." in text else int(text)
        return number if str(number) == text else text
    return text


@dataclass(frozen=True)
class _Figure:
    """A cell whose value is in ``unit``."""

    cell: Cell
    unit: str


def _with_decimal_points(text: str) -> str | None:
    """Convert decimal commas to points; None if a point is anything but a separator of thousands."""
    if "." in re.sub(r"(?<![\d.,])\d{1,3}(\.\d{3})+(?![\d.])", "", text):
        return None
    return text.replace(".", "").replace(",", ".")


def _figure(row: _Split, place: int, layout: Layout, source: str) -> _Figure:
    """Read a field: a value, its unit, a spread and a change; anything else is refused."""
    text = row.fields[place]
    if text in _MISSING:
        return _Figure(Cell(None, text), "")
    plain = _with_decimal_points(text) if layout.decimal == "comma" else text
    if plain is None:
        why = f'column {place + 1} has a point that does not separate thousands: "{showable(text[:40])}"'
        raise _misfit(source, row.line, why)
    match = _VALUE.match(plain)
    if match is None:
        raise _misfit(source, row.line, f'column {place + 1} is not a figure: "{showable(text[:40])}"')
    factor, unit = _scale(match["unit"] or "")
    value = float(match["number"].replace(",", "")) * factor
    gain: float | None = None
    gain_text, star, spread = "", None, None
    at = match.end()
    while plain[at:].strip():
        at += len(plain[at:]) - len(plain[at:].lstrip())
        if (mark := _SPREAD.match(plain, at)) and spread is None:
            spread = _percent(mark["number"], bool(mark["percent"]), value / factor)
        elif not (mark := _BRACKET.match(plain, at)):
            raise _misfit(source, row.line, f'column {place + 1} has more than a figure: "{showable(text[:40])}"')
        elif mark["round"] and spread is None and (layout.spread and (gain is not None or not layout.gains)):
            if not mark["percent"] and layout.spread_unit is None:
                why = f'column {place + 1} has "{showable(mark[0])}": state spread_unit=percent or spread_unit=value'
                raise _misfit(source, row.line, why)
            percent = bool(mark["percent"]) or layout.spread_unit == "percent"
            spread = _percent(mark["round"], percent, value / factor)
        elif layout.gains and gain is None and not (mark["round"] and not mark["percent"]):
            gain_text = mark["star"] or mark["square"] or mark["round"]
            gain, star = float(gain_text.replace(",", "")), bool(mark["star"])
        else:
            why = f'column {place + 1} has "{showable(mark[0])}": state gains=improvement, gains=change or spread=KIND'
            raise _misfit(source, row.line, why)
        at = mark.end()
    kind: Spread = "" if spread is None else layout.spread or "unknown"
    printed = text[: match.end()].strip()
    return _Figure(Cell(value, printed, gain, gain_text, star, spread, kind), unit)


def _percent(number: str, percent: bool, value: float) -> float | None:
    figure = float(number.replace(",", ""))
    if percent:
        return figure
    return 100 * figure / abs(value) if value else None


def _scale(unit: str) -> tuple[float, str]:
    """Return the factor of a decimal or binary suffix, and the unit without it: ``M`` of ``9.7M``."""
    return (_SUFFIXES[unit], "") if unit in _SUFFIXES else (1.0, unit)


def _row(
    labels: dict[str, str | int | float], figures: Sequence[_Figure], layout: Layout, where: str, line: int
) -> TableRow:
    """Build a row in a single unit; units of time are converted, others must be equal.

    Texts among the labels are its operation, numbers are parameters named like their columns.
    """
    operation = " ".join(label for label in labels.values() if isinstance(label, str) and label)
    parameters = {name: label for name, label in labels.items() if not isinstance(label, str)}
    label = " ".join(map(str, parameters.values()))
    name = f"{operation} {label}".strip() or "a row"
    printed = list(dict.fromkeys(figure.unit for figure in figures if figure.unit))
    unit = layout.unit or (printed[0] if printed else "")
    cells = []
    for figure in figures:
        cell = figure.cell
        if figure.unit not in ("", unit) and cell.value is not None:
            if figure.unit not in _SECONDS or unit not in _SECONDS:
                raise ImportProblem(
                    f"{name} has figures in {figure.unit} and in {unit}",
                    where=where,
                    todo="state skip=COLUMN for columns of another unit, or the unit that is printed",
                )
            factor = _SECONDS[figure.unit] / _SECONDS[unit]
            cell = replace(cell, value=cell.value * factor)
        elif not figure.unit and len(printed) > 0 and cell.value is not None and not layout.unit:
            raise ImportProblem(
                f"{name} has figures in {unit} and others without unit",
                where=where,
                todo=f"state unit={unit} if all are, or skip=COLUMN",
            )
        cells.append(cell)
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


def suspects(
    lines: Sequence[Line], taken: Sequence[tuple[int, int]], *, stated: bool = False
) -> Iterator[tuple[int, int]]:
    """Yield the paragraphs outside ``taken`` that may be a table: two lines in them end with two figures.

    The lines of a paragraph are yielded from the line above the first figures to the last figures. Where the user has
    ``stated`` a layout, one line of figures is enough and the whole paragraph is yielded, so that no row is lost.
    """
    for first, end in _gaps(len(lines), taken):
        at = first
        while at < end:
            stop = at
            while stop < end and lines[stop].text:
                stop += 1
            inside = [place for place in range(at, stop) if _has_figures(lines[place].text)]
            if len(inside) > 1 or any(stated or _is_alone(lines, place, at) for place in inside):
                begin = inside[0] - 1
                while begin > at and is_rule(lines[begin].text):
                    begin -= 1
                yield (at, stop) if stated else (max(at, begin), inside[-1] + 1)
            at = stop + 1


def _is_alone(lines: Sequence[Line], at: int, floor: int) -> bool:
    """Whether a row is a table with its header alone: it has bars, or as many columns as the line above."""
    row = lines[at].text
    above = lines[at - 1].text if at > floor else ""
    columns = [len(re.split(r"\s{2,}", text.strip())) for text in (above, row)]
    return row.count("|") > 1 or columns[0] == columns[1] > _FEWEST_COLUMNS


def _gaps(length: int, taken: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    at = 0
    for first, end in sorted(taken):
        if first > at:
            yield at, first
        at = max(at, end)
    if at < length:
        yield at, length


_FEWEST_COLUMNS = 2
_LONGEST_FIGURE = 40
_UNITS = frozenset(
    {"%", "ns", "us", "µs", "μs", "ms", "s", "sec", "MB/s", "GB/s", "ops/s", "kB", "KB", "MB", "GB", "W", "J"}
)
"""Units that may stand apart from their figure."""
_FIGURE_WORD = re.compile(
    r"[-+~±(*\[]*\d[-\d.,%()*\[\]±+/~]*(?:(?<=\d)[a-zA-Zµ][a-zA-Zµ%/]{0,5})?[)*\]%,;]*|[-+±/()*\[\]%]+|pct\)|[nN]/?[aA]N?"
)


def _has_figures(text: str) -> bool:
    """Whether a line ends with two figures or more, so that it may be a row of a table; ``n/a`` may be one of them."""
    figures, missing, after_unit = 0, 0, False
    spaced = text.replace("|", " ").replace(";", " ")
    for word in reversed((spaced if " " in spaced.strip() else spaced.replace(",", " ")).split()):
        if word in _UNITS and not after_unit:
            after_unit = True
            continue
        if len(word) > _LONGEST_FIGURE or not _FIGURE_WORD.fullmatch(word):
            break
        figures += any(map(str.isdigit, word))
        missing += word[0] in "nN"
        after_unit = False
    return figures > 0 and figures + missing > 1


def example(lines: Sequence[Line], first: int, end: int) -> str:
    """Return a ``--table`` option to try for a table in ``lines[first:end]``."""
    return f"--table lines={lines[first].number}-{lines[end - 1].number},columns=runs,label=1,baseline=2,better=lower"
