"""Printed tables beside each other: figures without samples, from one source or several."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Engine

from schedlab.analysis.matching import Unmatched
from schedlab.analysis.rows import Question
from schedlab.analysis.tables import IncompleteRow, check, side_by_side
from schedlab.comparison.refusing import ComparisonError
from schedlab.findings import Findings, findings
from schedlab.results import Table
from schedlab.store.columns import Chosen
from schedlab.store.importing import printed_tables


def tabled(engine: Engine | None, chosen: Sequence[Chosen]) -> Findings:
    """The tables of one source as they are, those of several side by side; the first column is the baseline.

    Raises ComparisonError when several sources have no row in common.
    """
    sources = _sources(chosen)
    first = chosen[0]
    found = findings(_engine(first, engine), first.run.id)
    if len(sources) == 1:
        checked = tuple(check(table, first.name) for table in found.printed)
        return replace(found, columns=tuple(chosen), checked=checked, printed=tuple(one.table for one in checked))
    held = {name: printed_tables(_engine(column, engine), column.run.id) for name, column in sources.items()}
    merged, incomplete = side_by_side(held)
    if not merged:
        names = ", ".join(sources)
        raise ComparisonError(
            f"no printed row of {names} is in another",
            todo="rows are the same when workload, operation, label, parameters and unit are",
        )
    return replace(
        found,
        columns=tuple(chosen),
        printed=tuple(merged),
        checked=tuple(map(check, merged)),
        unmatched=tuple(map(_unmatched, incomplete)),
        notes=tuple(note for column in sources.values() for note in column.run.notes),
    )


def tables_of(engine: Engine | None, chosen: Sequence[Chosen]) -> tuple[Table, ...]:
    """All tables of the sources of these columns."""
    return tuple(
        table
        for column in _sources(chosen).values()
        for table in printed_tables(_engine(column, engine), column.run.id)
    )


def _sources(chosen: Sequence[Chosen]) -> dict[str, Chosen]:
    """One column of each source, by a name for it."""
    first: dict[tuple[Engine | None, int], Chosen] = {}
    for column in chosen:
        first.setdefault((column.store, column.run.id), column)
    named: dict[str, Chosen] = {}
    for column in first.values():
        name = column.run.name if column.store else str(column.run.id)
        named[name if name not in named else f"{name} ({len(named) + 1})"] = column
    return named


def _engine(column: Chosen, engine: Engine | None) -> Engine:
    found = column.store or engine
    if found is None:
        raise ValueError(f"{column.name} lies in no store")
    return found


def _unmatched(lone: IncompleteRow) -> Unmatched:
    row = lone.row
    metric = " ".join(part for part in (row.operation, row.label) if part)
    parameters = json.dumps(dict(row.parameters), sort_keys=True)
    question = Question(lone.workload, parameters, metric, row.unit, row.direction or "lower")
    return Unmatched(question, lone.missing, f"not in {', '.join(lone.missing)}")
