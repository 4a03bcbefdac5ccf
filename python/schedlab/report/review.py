"""The report in the form in which scheduler series are reviewed: ``Case: base[pct imp](CV)  patched[pct imp](CV)``.

:mod:`schedlab.importers.printed.normalised` reads this form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from schedlab.analysis.review import STATISTIC, Cell, Table, View
from schedlab.errors import SchedlabError
from schedlab.report import words
from schedlab.report.document import Report

_RULE = "=" * 66
_MARKS = "[pct imp](CV)"
_GAP = "  "
_BRACKETS = str.maketrans({"(": "{", ")": "}", "[": "{", "]": "}", "%": "pct"})
"""Brackets and per cent signs in names would be read as marks of columns or as figures."""


def render(report: Report) -> str:
    """Return a box and a table for each metric, then the footers; SchedlabError for a report without samples."""
    if report.review is None:
        raise SchedlabError(
            "the report has printed tables without samples, which have no table of this form",
            where="--format pct-imp",
            todo="--format mmtests prints the tables",
        )
    kinds = dict.fromkeys(run.kind for run in report.runs if run.sampled and run.kind not in ("real", "imported"))
    changed = [name for name in report.review.columns if name != name.translate(_BRACKETS)]
    renamed = [f"! brackets and % are replaced in the names of columns: {', '.join(changed)}"] if changed else []
    warnings = [f"! {each.seen}" for each in report.warnings]
    footers = [f"({words.PCT_IMP})", *(f"[{kind}]" for kind in kinds), *renamed, *warnings]
    return view_text(report.review, footers)


def view_text(view: View, footers: Sequence[str] = ()) -> str:
    """Return the tables and the footers; ends with a newline."""
    parts = ["\n".join(_table(table, view.columns)) for table in view.tables]
    return "\n\n".join([*parts, *(["\n".join(footers)] if footers else [])]) + "\n"


def _table(table: Table, columns: Sequence[str]) -> Iterator[str]:
    shared = _shared(table)
    yield _RULE
    yield f"Test          : {table.workload}"
    if shared:
        yield f"Parameters    : {_case(shared)}"
    yield f"Units         : Normalized {table.metric}{f' in {table.unit}' if table.unit else ''}"
    yield f"Interpretation: {table.direction.capitalize()} is better"
    yield f"Statistic     : {STATISTIC}"
    yield _RULE
    names = [f"{' '.join(name.split()).translate(_BRACKETS)}{_MARKS}" for name in columns]
    rows = [
        (
            _case({name: value for name, value in line.parameters.items() if name not in shared}),
            list(map(_cell, line.cells)),
        )
        for line in table.lines
    ]
    margin = max(len("Case:"), *(len(case) for case, _ in rows))
    widths = [max(len(name), *(len(cells[k]) for _, cells in rows)) for k, name in enumerate(names)]
    yield f"{'Case:':<{margin}}" + "".join(f"{_GAP}{name:>{size}}" for name, size in zip(names, widths, strict=True))
    for case, cells in rows:
        yield f"{case:>{margin}}" + "".join(f"{_GAP}{cell:>{size}}" for cell, size in zip(cells, widths, strict=True))


def _shared(table: Table) -> dict[str, str | int | float]:
    """Return the parameters that all rows have; none if there is only one row, which needs a name."""
    first, *others = (line.parameters for line in table.lines)
    return {name: value for name, value in first.items() if others and all(each.get(name) == value for each in others)}


def _case(parameters: Mapping[str, str | int | float]) -> str:
    """Name a row as in these tables: ``16-groups``; further parameters follow."""
    named = (f"{name}={value}" if isinstance(value, str) else f"{value}-{name}" for name, value in parameters.items())
    return " ".join("-".join(each.split()) for each in named).translate(_BRACKETS) or "all"


def _cell(cell: Cell) -> str:
    return f"{_figure(cell.value, 5)} [{_figure(cell.gain, 6)}]({_figure(cell.variation, 5)})"


def _figure(figure: float | None, width: int) -> str:
    return f"{'-':>{width}}" if figure is None else f"{figure:{width}.2f}"
