"""The columns of a comparison: arguments of a command as runs and variants, and columns that are refused."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Engine

from schedlab.analysis.matching import match
from schedlab.errors import SchedlabError, StoreError
from schedlab.store import location, reader, selection
from schedlab.store.columns import Chosen, variants_of
from schedlab.store.file import open_store
from schedlab.store.location import Named
from schedlab.store.merging import is_store

if TYPE_CHECKING:
    from schedlab.importers.printed.layout import Layout

MOST_NAMED = 5
"""Most unmatched rows that an error message names."""


class ComparisonError(SchedlabError):
    """Columns that cannot be compared."""


def choose(words: Sequence[str], store: Callable[[], Engine], layouts: Sequence[Layout] = ()) -> list[Chosen]:
    """Return the columns for run numbers, names, ``RUN:VARIANT``, or paths of results.

    ``store`` opens the store; the function is called only for arguments that are not a path or are ambiguous.
    ``layouts`` are the layouts of the printed tables in a path. Raises StoreError or ImportProblem for an unknown
    argument, ComparisonError for an argument that is both a path and a run.
    """
    columns: list[Chosen] = []
    for word in words:
        if location.is_url(word):
            columns += columns_of_store(location.location(word))
        elif not Path(word).exists():
            columns += selection.select(store(), word)
        elif not _is_certainly_a_path(word) and _in_store(store, word):
            raise ComparisonError(
                f"{word!r} is a file or folder here and a run in the store",
                todo=f"write ./{word} for the file, or the number of the run ('schedlab store list')",
            )
        elif is_store(Path(word)):
            columns += columns_of_store(Path(word))
        else:
            columns += read(Path(word), layouts)
    return columns


def side_by_side(
    words: Sequence[str], store: Named, baseline: str | None, tables: Sequence[str]
) -> tuple[Engine, list[Chosen]]:
    """Return the columns of a comparison, the baseline first, and the store of the columns that do not name a store.

    Args:
        words: see :func:`choose`.
        store: the store, which is opened only for runs.
        baseline: name of the column to compare with; None for the first.
        tables: layouts of printed tables, as the values of ``--table``.

    Raises:
        ComparisonError: the columns cannot be compared.
    """
    opened = cache(lambda: open_store(store, create=False))
    layouts: list[Layout] = []
    if tables:
        from schedlab.importers.printed.layout import layouts as parsed

        layouts = [layout for text in tables for layout in parsed(text)]
    chosen = selection.named_apart(choose(words, opened, layouts))
    chosen = selection.with_baseline(chosen, baseline) if baseline else chosen
    refuse(chosen)
    stores = [column.store for column in chosen if column.store is not None]
    return opened() if len(stores) < len(chosen) else stores[0], chosen


def read(path: Path, layouts: Sequence[Layout] = ()) -> list[Chosen]:
    """Read the results at a path into memory and return their columns; ImportProblem without any results."""
    from schedlab.importers import detect
    from schedlab.store.imports import read_into_memory

    engine, runs = read_into_memory([detect.read(path, layouts=layouts)])
    return [replace(column, store=engine) for run in runs for column in variants_of(run)]


def columns_of_store(named: Named) -> list[Chosen]:
    """Return the columns of a store's newest run, without its A/A control, which controls no other run."""
    engine = open_store(named, create=False)
    run = reader.run(engine, None)
    chosen = [column for column in variants_of(run) if column.variant != run.design.control]
    return [replace(column, store=engine) for column in chosen]


def _in_store(store: Callable[[], Engine], word: str) -> bool:
    """Return whether the store has a run of this name; False for a missing or unreadable store."""
    try:
        return selection.contains(store(), word)
    except StoreError:
        return False


def _is_certainly_a_path(word: str) -> bool:
    return "/" in word or word in (".", "..")


def sampled(columns: Sequence[Chosen]) -> list[Chosen]:
    """Return the columns with samples. Columns of printed tables have no samples."""
    return [column for column in columns if column.run.design.questions]


def refuse(columns: Sequence[Chosen]) -> None:
    """Raise ComparisonError for a column that occurs twice, a single column, and columns without a common row.

    Columns of printed tables are compared only with each other, unless their source also contains samples.
    """
    _refuse_repeated(columns)
    with_samples = sampled(columns)
    if not with_samples:
        return
    sources = {(column.store, column.run.experiment_path) for column in with_samples}
    for column in columns:
        if not column.run.design.questions and (column.store, column.run.experiment_path) not in sources:
            raise ComparisonError(
                f"{column.name} is a column of printed figures, {with_samples[0].name} has samples",
                where=column.run.experiment_path,
                todo="compare tables with tables; 'schedlab report --format mmtests' prints the figures of samples",
            )
    if len(with_samples) < 2:
        raise ComparisonError(
            f"{with_samples[0].name} is a single column, and a comparison needs two columns",
            todo="name a second run, variant or path; 'schedlab report' shows one run",
        )
    matching = match({column.name: column.run.design.questions for column in with_samples})
    if not matching.rows:
        reasons = [f"{row.question.workload} {row.question.metric}: {row.reason}" for row in matching.unmatched]
        more = [f"and {len(reasons) - MOST_NAMED} more"] if len(reasons) > MOST_NAMED else []
        raise ComparisonError(
            "\n  ".join([f"no row of {with_samples[0].name} is in another column", *reasons[:MOST_NAMED], *more]),
            todo="choose columns with equal rows: workload, metric, parameters, unit and direction must be the same",
        )


def _refuse_repeated(columns: Sequence[Chosen]) -> None:
    keys: set[tuple[object, int, str]] = set()
    for column in columns:
        # A path that is named twice is read into two stores in memory.
        name = str(column.store.url.database) if column.store and column.stored else column.run.experiment_path
        source = column.store and (name if location.is_url(name) else os.path.realpath(name))
        key = (source, column.run.id, column.variant)
        if key in keys:
            raise ComparisonError(
                f"{column.name} is compared with itself",
                todo="name two runs, or two variants of one run as RUN:VARIANT ('schedlab store list' lists them)",
            )
        keys.add(key)


RunKey = tuple[Engine, int]
"""Store and number of a run: runs of two stores may have the same number."""


def run_key(column: Chosen) -> RunKey:
    """Return the key of a column's run."""
    if column.store is None:
        raise ValueError(f"{column.name} is in no store")
    return column.store, column.run.id


def first_columns(columns: Sequence[Chosen]) -> dict[RunKey, Chosen]:
    """Return the first column of each run, in their order."""
    first: dict[RunKey, Chosen] = {}
    for column in columns:
        first.setdefault(run_key(column), column)
    return first
