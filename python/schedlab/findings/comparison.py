"""Verdicts on columns against the first column: paired by block within one run, unpaired groups between several;
printed tables, which have figures without samples, side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from sqlalchemy import Engine

from schedlab.analysis.cells import average_blocks, block_means
from schedlab.analysis.confirmation import confirmed, of_conditions
from schedlab.analysis.diagnostics import differing_means
from schedlab.analysis.judging import judge
from schedlab.analysis.matching import Matched, Unmatched, match
from schedlab.analysis.rows import Question
from schedlab.analysis.summaries import levels
from schedlab.analysis.tables import IncompleteRow, check, side_by_side
from schedlab.analysis.ties import ties
from schedlab.analysis.unpaired import Group, UnpairedRow, group, judge_unpaired, unpaired_warnings
from schedlab.analysis.verdicts import Options, Verdict
from schedlab.analysis.warnings import Warning
from schedlab.findings import warnings
from schedlab.findings.columns import ComparisonError, RunKey, first_columns, refuse, run_key, sampled
from schedlab.findings.run import Findings, findings, interim
from schedlab.findings.settings import settings_of_columns
from schedlab.results.imported import Table
from schedlab.store import reader
from schedlab.store.columns import Chosen, read_cells, sample_table, samples_by_row
from schedlab.store.imports import printed_tables
from schedlab.store.selection import named_apart


def compare(engine: Engine | None, chosen: Sequence[Chosen], *, ranks: bool = True) -> Findings:
    """Judge the columns against the first column.

    Args:
        engine: the store of the columns that name no store.
        chosen: the columns, the baseline first.
        ranks: whether to compute Mann–Whitney's p, which loads a large library.

    Raises ComparisonError for a column that occurs twice, and for columns without a common row.
    """
    named = named_apart(chosen)
    refuse(named)
    named = [replace(column, store=column.store or engine) for column in named]
    columns = sampled(named)
    if not columns:
        return compare_printed(named)
    runs = first_columns(columns)
    means = {key: average_blocks(read_cells(key[0], column.run)) for key, column in runs.items()}
    failures = {key: reader.failures(*key) for key in runs}
    matching = match({column.name: column.run.design.questions for column in columns})
    questions = [row.question for row in matching.rows]
    values, options = _of_columns(columns, means), _options(columns[0].run)
    unpaired: list[Warning] = []
    if len(runs) == 1:
        verdicts = _paired(columns, matching.rows, values, means[run_key(columns[0])], options)
    else:
        # Interim analyses, and joint tests of all rows by block, need the blocks of a single run.
        correction = "holm" if options.correction == "max-t" else options.correction
        options = replace(options, looks=(), correction=correction, reference="")
        verdicts, unpaired = _unpaired(columns, matching.rows, values, options, ranks=ranks)
    of_runs = warnings.within_runs(columns, means, failures, questions, options)
    tables = tables_of([column for column in named if not column.run.design.questions])
    doubts = [_doubt(key, column, len(runs) > 1) for key, column in runs.items() if column.run.design.paired]
    doubt = next(filter(None, doubts), "")
    return Findings(
        columns=tuple(columns),
        verdicts=confirmed(verdicts, doubt),
        settings=settings_of_columns(columns),
        doubt=doubt,
        ties=ties(values, questions),
        levels=() if verdicts else levels(values, questions, [column.name for column in columns]),
        warnings=[*unpaired, *warnings.between_runs(columns), *of_runs, *differing_means(verdicts, options)],
        values=values,
        failures=_of_columns(columns, failures),
        options=options,
        paired=len(runs) == 1,
        unmatched=matching.unmatched,
        printed=tables,
        checked=tuple(map(check, tables)),
        notes=tuple(dict.fromkeys(warnings.notes(columns))),
    )


def _doubt(key: RunKey, column: Chosen, several: bool) -> str:
    doubt = of_conditions(reader.conditions(*key), column.run.kind)
    return f"{doubt} in run {column.run.id}" if doubt and several else doubt


def _options(run: reader.Run) -> Options:
    return run.design.options(run.seed, run.kind)


def _of_columns(columns: Sequence[Chosen], frames: Mapping[RunKey, pl.DataFrame]) -> pl.DataFrame:
    """Return the lines of the columns' variants from frames of their runs, under the columns' names."""
    return pl.concat(
        [
            frames[run_key(column)]
            .filter(pl.col("variant") == column.variant)
            .with_columns(pl.lit(column.name).alias("variant"))
            for column in columns
        ]
    )


def _paired(
    columns: Sequence[Chosen], rows: Sequence[Matched], values: pl.DataFrame, means: pl.DataFrame, options: Options
) -> list[Verdict]:
    """Judge variants of one run, which were measured in turn; ``means`` are the block means of all its variants.

    The run's control takes part only if the first column is the baseline, which the control repeats.
    """
    engine, number = run_key(columns[0])
    control = options.reference if columns[0].variant == columns[0].run.design.variants[0] else ""
    chosen = {column.variant: column.name for column in columns}
    if control and control not in chosen:
        values = pl.concat([values, means.filter(pl.col("variant") == control)])
        chosen[control] = control
    options = replace(options, reference=chosen.get(control, ""))
    if options.interval == "bootstrap":
        # The bootstrap resamples single iterations within their blocks.
        values = sample_table(engine, columns).rename({"column": "variant"})
    names, questions = [column.name for column in columns], [row.question for row in rows]
    options, done = interim(engine, columns[0].run, options)
    counts = reader.trial_counts(engine, number)
    recorded = {
        (workload, parameters, chosen[variant]): of_blocks
        for (workload, parameters, variant), of_blocks in counts.items()
        if variant in chosen
    }
    return judge(values, questions, names, None, options, recorded, done)


def _unpaired(
    columns: Sequence[Chosen], rows: Sequence[Matched], values: pl.DataFrame, options: Options, *, ranks: bool
) -> tuple[list[Verdict], list[Warning]]:
    """Judge each column over its own rows; return the verdicts and the warnings about unpaired verdicts."""
    names = [column.name for column in columns]
    groups = _groups(columns, rows, values)
    if options.family == "run":
        judged = judge_unpaired(groups, names, options, ranks=ranks)
    else:
        judged = [
            verdict
            for index, name in enumerate(names[1:], start=1)
            for verdict in judge_unpaired(_pairs(groups, index), [names[0], name], options, ranks=ranks)
        ]
    verdicts = {(verdict.question, verdict.variant): verdict for verdict in judged}
    ordered = [verdicts[row.question, name] for row in rows for name in names[1:] if name in row.columns]
    return ordered, list(unpaired_warnings(groups, names))


def _pairs(groups: Sequence[UnpairedRow], index: int) -> list[UnpairedRow]:
    """Return the rows of a column with the baseline's group and the column's group, without rows that the column
    lacks."""
    return [replace(row, groups=(row.groups[0], row.groups[index])) for row in groups if row.groups[index] is not None]


def _groups(columns: Sequence[Chosen], rows: Sequence[Matched], values: pl.DataFrame) -> list[UnpairedRow]:
    """Return the block means of each column in each row, or the samples of its only block."""
    means = block_means(values)
    # There may be a million samples. They are read only for columns with a single block in some row.
    pooled = {key[3] for key, blocks in means.items() if len(blocks) < 2}
    samples = {
        column.name: samples_by_row(read_cells(run_key(column)[0], column.run, {column.variant}), column.variant)
        for column in columns
        if column.name in pooled
    }

    def group_of(row: Matched, column: Chosen) -> Group | None:
        if column.name not in row.columns:
            return None
        key = row.question.row
        blocks = list(means.get((*key, column.name), {}).values())
        return group(samples.get(column.name, {}).get(key, np.empty(0)), blocks)

    return [UnpairedRow(row.question, tuple(group_of(row, column) for column in columns)) for row in rows]


def compare_printed(columns: Sequence[Chosen]) -> Findings:
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
