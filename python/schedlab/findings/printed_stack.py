"""A stack of changes in printed tables whose columns are runs of the stack's prefixes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from schedlab.analysis.machines import Combined
from schedlab.analysis.printed_stack import AttributedRow, PrintedRun, StackRow, Step, attribute, summarise
from schedlab.analysis.rows import Question
from schedlab.errors import SchedlabError
from schedlab.results.imported import Table, TableRow

Stack = Mapping[str, Sequence[str]]
"""The names of a stack's prefixes in order, each with the columns that are its runs."""


@dataclass(frozen=True)
class PrintedStack:
    """The attribution of all rows, and of the rows without their outlying runs; summaries over rows by change."""

    source: str
    stack: Stack
    alpha: float
    delta: float
    rows: tuple[AttributedRow, ...]
    summary: Mapping[str, Combined | None]
    trimmed: Mapping[str, AttributedRow]
    trimmed_summary: Mapping[str, Combined | None]


def printed_stack(
    tables: Sequence[Table], source: str, stack: Stack, metrics: Sequence[str], alpha: float, delta: float
) -> PrintedStack:
    """Attribute the rows of printed tables to the steps of a stack.

    Args:
        tables: the tables.
        source: name of the tables, for messages.
        stack: the prefixes and their columns.
        metrics: operations (``Elapsed``) of the rows; empty for all rows.
        alpha, delta: error rate and margin of equivalence.

    Raises SchedlabError for a run that no table has, and if no row has the runs of two prefixes and a direction.
    """
    known = dict.fromkeys(column for table in tables for column in table.columns)
    for run in (run for runs in stack.values() for run in runs):
        if run not in known:
            close = get_close_matches(run, known, n=1)
            todo = f"did you mean {close[0]!r}?" if close else f"the tables have {', '.join(list(known)[:10])}"
            raise SchedlabError(f"no table has the run {run!r}", where=source, todo=todo)
    rows = [
        _row(table, row, stack) for table in tables for row in table.rows if not metrics or row.operation in metrics
    ]
    usable = [row for row in rows if row is not None and sum(map(bool, row.prefixes.values())) > 1]
    if not usable:
        todo = "'schedlab import FILE --dry-run' prints the rows; state the direction of a table with --table"
        raise SchedlabError("no row has figures of two prefixes and a better direction", where=source, todo=todo)
    attributed = attribute(usable, alpha, delta)
    trimmed = attribute([row.row.without([run.name for run in row.outlying]) for row in attributed], alpha, delta)
    return PrintedStack(
        source=source,
        stack=stack,
        alpha=alpha,
        delta=delta,
        rows=tuple(attributed),
        summary=summarise(attributed, delta, 1 - alpha),
        trimmed={label(before): after for before, after in zip(attributed, trimmed, strict=True) if before.outlying},
        trimmed_summary=summarise(trimmed, delta, 1 - alpha),
    )


FULL = 0.1
"""Gain with the strongest colour of a heat map; larger gains look the same."""


def strength(step: Step) -> float:
    """Return the strength of a step's colour, from 0 to 1."""
    return min(abs(step.gain) / FULL, 1.0)


def label(row: AttributedRow) -> str:
    """Return a row's name for people: ``sdet 16 Throughput``."""
    question = row.row.question
    values = " ".join(str(value) for value in json.loads(question.parameters).values())
    return " ".join(part for part in (question.workload, values, question.metric) if part)


def _row(table: Table, row: TableRow, stack: Stack) -> StackRow | None:
    """Return the row; None without a direction or with a figure that has no logarithm."""
    if row.direction is None:
        return None
    cells = dict(zip(table.columns, row.cells, strict=True))
    figures = [cells[run].value for runs in stack.values() for run in runs if run in cells]
    if any(value is not None and value <= 0 for value in figures):
        return None
    prefixes = {
        name: tuple(
            PrintedRun(run, value, cells[run].spread_percent)
            for run in runs
            if run in cells and (value := cells[run].value) is not None
        )
        for name, runs in stack.items()
    }
    metric = " ".join(part for part in (row.operation, row.label) if part)
    parameters = json.dumps(dict(row.parameters), sort_keys=True)
    question = Question(table.workload or table.title, parameters, metric, row.unit, row.direction)
    return StackRow(question, prefixes)
