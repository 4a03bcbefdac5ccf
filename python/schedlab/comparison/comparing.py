"""Judging columns of one run or several against the first of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Engine

from schedlab.analysis.matching import match
from schedlab.analysis.tables import check
from schedlab.analysis.warnings import Warning
from schedlab.comparison import judging, remarks
from schedlab.comparison.refusing import refuse, sampled
from schedlab.comparison.sides import Side, one_of_each_run
from schedlab.comparison.tabled import tabled, tables_of
from schedlab.findings import Findings
from schedlab.store.columns import Chosen
from schedlab.store.selection import named_apart


def compare(engine: Engine | None, chosen: Sequence[Chosen], *, ranks: bool = True) -> Findings:
    """Judge the columns against the first of them; ``engine`` is the store of those that name no other.

    ``ranks`` asks for Mann–Whitney's p beside Welch's, for which a large library is loaded. Raises ComparisonError for
    a column that is named twice, and for columns without a row in common.
    """
    named = named_apart(chosen)
    refuse(named)
    if not sampled(named):
        return tabled(engine, named)
    sides = [Side(column, store) for column in sampled(named) if (store := column.store or engine) is not None]
    found = match({side.name: side.run.design.questions for side in sides})
    run, of_one_run = sides[0].run, len(one_of_each_run(sides)) == 1
    options, values = run.design.options(run.seed), judging.side_by_side(sides)
    warnings: list[Warning] = []
    if of_one_run:
        verdicts = judging.paired(sides, found.rows, values, options)
    else:
        # Looks are a matter of one run's blocks.
        options = replace(options, looks=())
        verdicts, warnings = judging.unpaired(sides, found.rows, values, options, ranks=ranks)
    questions = [row.question for row in found.rows]
    printed = tables_of(engine, [column for column in named if not column.run.design.questions])
    return Findings(
        columns=tuple(replace(side.column, store=side.engine) for side in sides),
        verdicts=verdicts,
        warnings=[*warnings, *remarks.between(sides), *remarks.within(sides, questions, options)],
        values=values,
        failures=judging.failed(sides),
        options=options,
        paired=of_one_run,
        unmatched=found.unmatched,
        printed=printed,
        checked=tuple(map(check, printed)),
        notes=tuple(dict.fromkeys(remarks.notes(sides))),
    )
