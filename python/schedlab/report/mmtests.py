"""The report in the layout of MMTests: its columns, its widths, its two lines of names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from schedlab.analysis.mmtests.stars import FOOTERS
from schedlab.analysis.mmtests.tables import Cell, Table, View
from schedlab.report import printed, words
from schedlab.report.document import Report

_NAME = re.compile(r"([^-]+(?:-rc\d+)?)-(.+)")
"""MMTests breaks a run's name at the first dash, but not between a version and its ``-rc``."""

WIDEST = 10_000
"""Width of printed tables in this format, which breaks no lines."""


def render(report: Report, width: int | None = None) -> str:
    """Return MMTests' tables with footers, or the printed tables of a report without samples."""
    if report.mmtests is None:
        tables = ["\n".join([printed.title(table), *printed.lines(table, width or WIDEST)]) for table in report.printed]
        return "\n\n".join([*tables, printed.explanation(report.printed)]) + "\n"
    kinds = dict.fromkeys(run.kind for run in report.runs if run.sampled and run.kind not in ("real", "imported"))
    warnings = report.warnings if report.mmtests.stars == "verdicts" else []
    gains = [f"({words.GAIN_SIGN})"] if len(report.columns) > 1 else []
    labels = (f"[{kind}]" for kind in kinds)
    return view_text(report.mmtests, [*gains, *labels, *(f"! {warning.seen}" for warning in warnings)])


def view_text(view: View, footers: Sequence[str] = ()) -> str:
    """Return a title, the names and the lines of each table, then the footers; ends with a newline."""
    parts = ["\n".join(_table(table, view.columns)) for table in view.tables]
    rule = [FOOTERS[view.stars]] if view.stars in FOOTERS else []
    if lines := [*rule, *footers]:
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _table(table: Table, columns: Sequence[str]) -> Iterator[str]:
    operation = max(len(line.operation) for line in table.lines)
    label = max(len(line.label) for line in table.lines)
    yield table.title
    yield from _names(columns, operation + 1 + label, table.width + table.gain_width + 4)
    for line in table.lines:
        cells = "".join(_cell(cell, table) for cell in line.cells)
        yield f"{line.operation:<{operation}} {line.label:<{label}}{cells}"


def _names(columns: Sequence[str], margin: int, width: int) -> Iterator[str]:
    halves = [match.groups() if (match := _NAME.fullmatch(name)) else ("", name) for name in columns]
    for half in zip(*halves, strict=True):
        if any(half):
            yield " " * margin + "".join(f"{text:>{width}}" for text in half)


def _cell(cell: Cell, table: Table) -> str:
    value = "-" if cell.value is None else f"{cell.value:.{table.decimals}f}"
    gain = f"{'-':>{table.gain_width}} " if cell.gain is None else f"{cell.gain:{table.gain_width}.2f}%"
    opening, closing = "**" if cell.star else "()"
    return f" {value:>{table.width - 1}} {opening}{gain}{closing}"
