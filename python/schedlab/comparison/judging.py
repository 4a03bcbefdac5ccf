"""Verdicts over the sides of a comparison: by block within one run, as groups that nothing pairs between several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from sqlalchemy import Engine

from schedlab.analysis.cells import average_blocks, block_means
from schedlab.analysis.matching import Matched
from schedlab.analysis.unpaired import Group, UnpairedRow, group, judge_unpaired, unpaired_warnings
from schedlab.analysis.verdicts import Options, Verdict, judge
from schedlab.analysis.warnings import Warning
from schedlab.comparison.sides import Side
from schedlab.store import reading
from schedlab.store.columns import Row, Samples, read_cells, samples_by_row
from schedlab.store.samples import sample_table


def side_by_side(sides: Sequence[Side]) -> pl.DataFrame:
    """Block means of all sides by their columns' names; see :func:`schedlab.analysis.cells.average_blocks`."""
    of_run: dict[tuple[Engine, int], pl.DataFrame] = {}
    for side in sides:
        if side.of not in of_run:
            of_run[side.of] = average_blocks(read_cells(side.engine, side.run))
    return pl.concat([of(of_run[side.of], side) for side in sides])


def failed(sides: Sequence[Side]) -> pl.DataFrame:
    """The failed trials of all sides, by their columns' names; see :func:`schedlab.store.reading.failures`."""
    return pl.concat([of(reading.failures(*side.of), side) for side in sides])


def of(frame: pl.DataFrame, side: Side) -> pl.DataFrame:
    """The lines of one side's variant, under its column's name."""
    named = pl.lit(side.name).alias("variant")
    return frame.filter(pl.col("variant") == side.column.variant).with_columns(named)


def paired(sides: Sequence[Side], rows: Sequence[Matched], values: pl.DataFrame, options: Options) -> list[Verdict]:
    """Verdicts over variants of one run, which were measured in turn."""
    questions, names = [row.question for row in rows], [side.name for side in sides]
    if options.interval == "bootstrap":
        # It resamples single iterations within their blocks.
        values = sample_table(sides[0].engine, [side.column for side in sides]).rename({"column": "variant"})
    return judge(values, questions, names, None, options, reading.failure_counts(*sides[0].of))


def unpaired(
    sides: Sequence[Side], rows: Sequence[Matched], values: pl.DataFrame, options: Options, *, ranks: bool
) -> tuple[list[Verdict], list[Warning]]:
    """Verdicts of each side over the rows that it has, and the warnings that go with such verdicts."""
    names = [side.name for side in sides]
    groups = _groups(sides, rows, values)
    warnings = list(unpaired_warnings(groups, names))
    if options.family == "run":
        judged = judge_unpaired(groups, names, options, ranks=ranks)
    else:
        judged = [
            verdict
            for place, name in enumerate(names[1:], start=1)
            for verdict in judge_unpaired(_of_two(groups, place), [names[0], name], options, ranks=ranks)
        ]
    held = {(verdict.question, verdict.variant): verdict for verdict in judged}
    return [held[row.question, name] for row in rows for name in names[1:] if name in row.columns], warnings


def _samples(side: Side) -> dict[Row, Samples]:
    variant = side.column.variant
    return samples_by_row(read_cells(side.engine, side.run, {variant}), variant)


def _of_two(groups: Sequence[UnpairedRow], place: int) -> list[UnpairedRow]:
    """The rows that a side has, with the baseline and that side alone: a row that it lacks is none of its questions."""
    return [replace(row, groups=(row.groups[0], row.groups[place])) for row in groups if row.groups[place] is not None]


def _groups(sides: Sequence[Side], rows: Sequence[Matched], values: pl.DataFrame) -> list[UnpairedRow]:
    """The block means of each side in each row, or the samples of its only block."""
    means = block_means(values)
    # Where every row has several blocks the samples are not needed, and there may be a million of them.
    pooled = {key[3] for key, blocks in means.items() if len(blocks) < 2}
    samples = {side.name: _samples(side) for side in sides if side.name in pooled}

    def group_of(row: Matched, side: Side) -> Group | None:
        if side.name not in row.columns:
            return None
        key = (row.question.workload, row.question.parameters, row.question.metric)
        blocks = list(means.get((*key, side.name), {}).values())
        return group(samples.get(side.name, {}).get(key, np.empty(0)), blocks)

    return [UnpairedRow(row.question, tuple(group_of(row, side) for side in sides)) for row in rows]
