"""Comparison of printed tables, which have figures without samples, from one or more sources."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from schedlab.analysis.matching import Unmatched
from schedlab.analysis.rows import Question
from schedlab.analysis.tables import IncompleteRow, check, side_by_side
from schedlab.findings.columns import ComparisonError, first_columns, run_key
from schedlab.findings.run import Findings, findings
from schedlab.results.imported import Table
from schedlab.store.columns import Chosen
from schedlab.store.imports import printed_tables


def compare(columns: Sequence[Chosen]) -> Findings:
    """Return the tables of one source unchanged, or the tables of several sources side by side, the baseline first.

    Raises ComparisonError if several sources have no row in common.
    """
    sources, first = _sources(columns), columns[0]
    result = replace(findings(*run_key(first)), columns=tuple(columns))
    if len(sources) == 1:
        checked = tuple(check(table, first.name) for table in result.printed)
        return replace(result, checked=checked, printed=tuple(table.table for table in checked))
    merged, incomplete = side_by_side({name: printed_tables(*run_key(column)) for name, column in sources.items()})
    if not merged:
        raise ComparisonError(
            f"{', '.join(sources)} have no printed row in common",
            todo="choose sources with equal rows: workload, operation, label, parameters and unit must be the same",
        )
    return replace(
        result,
        printed=tuple(merged),
        checked=tuple(map(check, merged)),
        unmatched=tuple(map(_unmatched, incomplete)),
        notes=tuple(note for column in sources.values() for note in column.run.notes),
    )


def tables_of(columns: Sequence[Chosen]) -> tuple[Table, ...]:
    """Return all tables of the sources of these columns."""
    return tuple(table for column in _sources(columns).values() for table in printed_tables(*run_key(column)))


def _sources(columns: Sequence[Chosen]) -> dict[str, Chosen]:
    """Return one column of each source by the source's name: the number of a stored run, or the name of a path."""
    named: dict[str, Chosen] = {}
    for column in first_columns(columns).values():
        name = str(column.run.id) if column.stored else column.run.name
        named[name if name not in named else f"{name} ({len(named) + 1})"] = column
    return named


def _unmatched(incomplete: IncompleteRow) -> Unmatched:
    row = incomplete.row
    metric = " ".join(part for part in (row.operation, row.label) if part)
    parameters = json.dumps(dict(row.parameters), sort_keys=True)
    question = Question(incomplete.workload, parameters, metric, row.unit, row.direction or "lower")
    return Unmatched(question, incomplete.missing, f"not in {', '.join(incomplete.missing)}")
