"""What cannot be compared, refused in words before anything is judged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from schedlab.analysis.matching import Matching, match
from schedlab.errors import SchedlabError
from schedlab.store.columns import Chosen

MOST_TOLD = 5
"""Rows without a partner that a refusal names."""


class ComparisonError(SchedlabError):
    """Columns that cannot be compared."""


def refuse(chosen: Sequence[Chosen]) -> None:
    """Raise ComparisonError for a column that is named twice or stands alone, or where no row is in common.

    Columns of printed tables are compared with each other alone; those of a text that also has samples stand beside.
    """
    _refuse_twins(chosen)
    with_samples = sampled(chosen)
    if not with_samples:
        return
    sources = {(column.store, column.run.experiment_path) for column in with_samples}
    for column in chosen:
        if not column.run.design.questions and (column.store, column.run.experiment_path) not in sources:
            raise ComparisonError(
                f"{column.name} is a column of printed figures, {with_samples[0].name} has samples",
                where=column.run.experiment_path,
                todo="compare tables with tables; 'schedlab report --format mmtests' prints the figures of samples",
            )
    _refuse_lonely(with_samples)
    found = match({column.name: column.run.design.questions for column in with_samples})
    if not found.rows:
        raise _nothing_in_common(with_samples[0].name, found)


def sampled(chosen: Sequence[Chosen]) -> list[Chosen]:
    """The columns that have samples; those of printed tables have none."""
    return [column for column in chosen if column.run.design.questions]


def _refuse_twins(chosen: Sequence[Chosen]) -> None:
    seen: set[tuple[object, int, str]] = set()
    for column in chosen:
        key = (_source(column), column.run.id, column.variant)
        if key in seen:
            raise ComparisonError(
                f"{column.name} is compared with itself",
                todo="name two runs, or two variants of one as RUN:VARIANT ('schedlab runs' lists them)",
            )
        seen.add(key)


def _refuse_lonely(chosen: Sequence[Chosen]) -> None:
    if len(chosen) < 2:
        names = ", ".join(column.name for column in chosen)
        raise ComparisonError(
            f"{names} alone is no comparison",
            todo="name a second run, variant or path; 'schedlab report' shows one run",
        )


def _nothing_in_common(baseline: str, found: Matching) -> ComparisonError:
    told = [f"{row.question.workload} {row.question.metric}: {row.reason}" for row in found.unmatched]
    more = [f"and {len(told) - MOST_TOLD} more"] if len(told) > MOST_TOLD else []
    return ComparisonError(
        "\n  ".join([f"no row of {baseline} is in another column", *told[:MOST_TOLD], *more]),
        todo="rows are the same when workload, metric, parameters, unit and direction are",
    )


def _source(column: Chosen) -> object:
    """The store, or the path that was read: a path that is given twice is read into two stores."""
    return column.store and str(Path(column.run.experiment_path).resolve())
