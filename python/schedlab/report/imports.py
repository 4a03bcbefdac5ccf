"""The results of an import: a summary for the terminal, and complete JSON (documented in ``docs/importing.md``)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from schedlab.importers.checks import condensed
from schedlab.importers.outline import SAMPLES, Outline, OutlineTable, Row
from schedlab.notation.units import counted
from schedlab.report.numbers import figure, percent
from schedlab.report.printed import NO_RATIO, no_ratio
from schedlab.report.words import GAIN_SIGN, listed
from schedlab.results.imported import Origin

SCHEMA = 1
"""Version of the JSON. The version rises when a field is removed or changes its meaning, not for a new field."""

MOST_ROWS = 8
"""Maximum number of rows of a table in the summary. The JSON contains all rows."""
MOST_COLUMNS = 3
"""Maximum number of columns of a table in the summary. A narrow terminal shows fewer columns."""
MOST_NAMES = 12
"""Maximum number of columns that the summary names."""
ROOM = 80
"""Width of a table in the summary."""
SIGNS = {"improvement": GAIN_SIGN, "change": "change: + is larger"}
"""Meaning of the signs in a table, by its convention."""

LONGEST_HEAD, SHORTEST_HEAD = 28, 16
"""Maximum width of a row's head, above which the head is folded to make room for columns, and minimum width after
folding."""


def to_json(outlines: Sequence[Outline], runs: Sequence[Mapping[str, Any]] | None = None) -> str:
    """Return one JSON object with a line for each row, so that text differences are readable.

    ``runs`` are the new runs with ``id``, ``name`` and ``path``; None without an import.
    """
    content: dict[str, Any] = {"schema": SCHEMA, "imports": [_import(outline) for outline in outlines]}
    return _laid_out(content if runs is None else content | {"runs": list(runs)}, 0)


def _import(outline: Outline) -> dict[str, Any]:
    listed = {
        "format": outline.format,
        "source": outline.source,
        "columns": list(outline.columns),
        "notes": list(outline.notes),
        "origins": {column: asdict(origin) for column, origin in outline.origins.items()},
    }
    tables = [
        {name: value for name, value in vars(table).items() if name not in ("rows", "disagreements")}
        | {"rows": [_row(row) for row in table.rows]}
        for table in outline.tables
    ]
    disagreements = [
        {"table": index} | asdict(cell) for index, table in enumerate(outline.tables) for cell in table.disagreements
    ]
    return listed | {"tables": tables, "disagreements": disagreements}


def _row(row: Row) -> dict[str, Any]:
    return vars(row) | {"spreads": [None if spread is None else asdict(spread) for spread in row.spreads]}


def _laid_out(value: Any, depth: int) -> str:
    """Return JSON with a line for each member down to rows."""
    inner = "  " * (depth + 1)
    if isinstance(value, dict) and "printed_gains" not in value and any(isinstance(v, list) for v in value.values()):
        members = [f"{inner}{json.dumps(key)}: {_laid_out(member, depth + 1)}" for key, member in value.items()]
        return "{\n" + ",\n".join(members) + "\n" + "  " * depth + "}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(inner + _laid_out(item, depth + 1) for item in value) + "\n" + "  " * depth + "]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def render(outlines: Sequence[Outline]) -> RenderableType:
    """Return the first rows of every table, the notes, and the gains that do not follow from the values."""
    return Group(*(part for outline in outlines for part in _parts(outline)))


def _parts(outline: Outline) -> Iterator[RenderableType]:
    yield Text(f"{outline.format}: {outline.source}", style="bold")
    if outline.columns:
        names = listed(outline.columns, MOST_NAMES)
        yield Text(f"columns of samples: {names} (the first is the baseline); [unit, which is better]")
    for column, origin in islice(outline.origins.items(), MOST_NAMES):
        yield Text(f"  {column}: measured {_origin(origin)}", style="dim")
    for line in outline.understood:
        yield Text(f"  {line}", style="dim")
    for table in outline.tables:
        yield Text()
        yield _title(table)
        yield Padding(_table(table), (0, 0, 0, 2), expand=False)
    yield Text()
    shown = [row for table in outline.tables for row in table.rows[:MOST_ROWS]]
    if any(each is not None for row in shown for each in row.differences):
        yield Text(f"{NO_RATIO}.", style="dim")
    yield from remarks(outline)
    for table in outline.tables:
        for cell in table.disagreements:
            yield Text.assemble(
                ("! ", "yellow"),
                f"line {cell.line}: {cell.row}, {cell.column}: {cell.printed:+zg} % is printed, the values give "
                f"{percent(cell.recomputed, 2, signed=True)}",
            )


def _origin(origin: Origin) -> str:
    """Describe when, where and on which kernel a column was measured, as its source states it."""
    date = "" if origin.started is None else f"{datetime.fromtimestamp(origin.started, UTC):%Y-%m-%d %H:%M UTC}"
    parts = (date, f"on {origin.host}" if origin.host else "", f"under Linux {origin.kernel}" if origin.kernel else "")
    return " ".join(filter(None, parts))


def remarks(outline: Outline) -> Iterator[Text]:
    """Yield the notes on omissions and assumptions."""
    for note in condensed(outline.notes):
        yield Text.assemble(("! ", "yellow"), note)


def sums(outline: Outline) -> str:
    """Return the size of an import in one line."""
    samples = [row for table in outline.tables for row in table.rows if row.samples is not None]
    printed = [table for table in outline.tables if table.layout != SAMPLES]
    values = sum(len(column) for row in samples for column in row.samples or () if column is not None)
    parts = []
    if samples:
        parts.append(
            f"{counted(values, 'sample')} in {counted(len(samples), 'row')} of {listed(outline.columns, MOST_NAMES)}"
        )
    if printed:
        rows = sum(len(table.rows) for table in printed)
        wrong = sum(len(table.disagreements) for table in printed)
        parts.append(f"{counted(len(printed), 'printed table')} of {counted(rows, 'row')}")
        if wrong:
            verb = "does" if wrong == 1 else "do"
            parts.append(f"{counted(wrong, 'printed gain')} {verb} not follow from the values (--dry-run lists them)")
    return ", ".join(parts)


def _title(table: OutlineTable) -> Text:
    size = f"{counted(len(table.rows), 'row')} × {len(table.columns)}"
    gains = f"; {SIGNS[table.gains]}" if len(table.columns) > 1 else ""
    if table.layout == SAMPLES:
        n = sum(len(values) for row in table.rows for values in row.samples or () if values is not None)
        return Text.assemble((table.workload, "bold"), f": {size}, {counted(n, 'sample')}{gains}")
    names = dict.fromkeys(word for word in (table.title, table.workload) if word)
    where = f"line {table.line}, " if table.line else ""
    return Text.assemble((" · ".join(names) or "table", "bold"), f": {where}{table.layout}, {size}{gains}")


def _table(table: OutlineTable) -> Table:
    heads = [_head(row) for row in table.rows[:MOST_ROWS]]
    cells = [[_cell(row, index) for index in range(len(table.columns))] for row in table.rows[:MOST_ROWS]]
    shown, room = _fitting(table, heads, cells)
    view = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, pad_edge=False, header_style="dim")
    view.add_column("", overflow="fold", max_width=room)
    for index in shown:
        view.add_column(table.columns[index], justify="right", overflow="fold")
    if len(table.columns) > len(shown):
        view.add_column(f"and {len(table.columns) - len(shown)} more", no_wrap=True)
    for head, of_row in zip(heads, cells, strict=True):
        view.add_row(head, *(of_row[index] for index in shown))
    if len(table.rows) > MOST_ROWS:
        view.add_row(Text(f"and {counted(len(table.rows) - MOST_ROWS, 'more row')}", style="dim"))
    return view


def _fitting(table: OutlineTable, heads: Sequence[Text], cells: Sequence[Sequence[Text]]) -> tuple[list[int], int]:
    """Return the first columns that fit with unbroken names and figures, and the room for heads.

    At least two columns are shown, even with a broken name, as the first column has no changes.
    """
    longest = max((head.cell_len for head in heads), default=0)
    more = len(f"and {len(table.columns)} more") + 2
    left = ROOM - 2
    shown: list[int] = []
    for index, name in enumerate(table.columns[:MOST_COLUMNS]):
        width = max([len(name), *(of_row[index].cell_len for of_row in cells)]) + 2
        after = left - width - (more if index + 1 < len(table.columns) else 0)
        if index > 1 and after < min(longest, LONGEST_HEAD):
            break
        left -= width
        shown.append(index)
    left -= more if len(shown) < len(table.columns) else 0
    return shown, max(min(longest, left), SHORTEST_HEAD)


def _head(row: Row) -> Text:
    parameters = " ".join(f"{name}={value}" for name, value in row.parameters.items())
    if row.metric is None:
        words = f"{row.operation} {row.label}".strip()
        return Text.assemble(words, (f" [{row.unit}]" if row.unit else "", "dim"))
    better = f"{row.unit}, {row.direction}".removeprefix(", ")
    return Text.assemble(row.metric, f" {parameters}" if parameters else "", (f" [{better}]", "dim"))


def _cell(row: Row, index: int) -> Text:
    value = row.values[index]
    printed, recomputed = row.printed_gains[index], row.recomputed_gains[index]
    gain = printed if printed is not None else recomputed
    star = "*" if row.stars[index] else ""
    # A table in multiples of its first column prints only changes for the other columns.
    shown = "-" if value is None else figure(value)
    if gain is not None:
        return Text.assemble(shown, (f" {percent(gain, 2, signed=True)}{star}", "dim"))
    difference = row.differences[index]
    return Text.assemble(shown, (f" {no_ratio(difference)}" if difference is not None else "", "dim"), (star, "dim"))
