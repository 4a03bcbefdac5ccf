"""Columns by name: runs by number or name, variants of a run, imported runs that share rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Engine

from schedlab.errors import StoreError
from schedlab.store import reader
from schedlab.store.columns import Chosen, variants_of
from schedlab.store.location import location
from schedlab.store.reader import Run

LATEST = "latest"
"""Word for the newest run of a store."""


def select(engine: Engine, word: str) -> list[Chosen]:
    """Return the columns of ``3`` (a run's number), ``slice`` (its name), ``latest`` or ``3:batch`` (a variant).

    A measured run without a variant means its baseline; the run of an imported text means all columns of its tables.
    Raises StoreError, with the possible meanings, for an argument that names no run or several runs.
    """
    for name, variant in _splits(word):
        if runs := _runs_called(engine, name):
            return _columns(_only(engine, name, runs), variant, word)
    raise StoreError(
        f"the store contains no run {word!r}",
        where=str(engine.url.database),
        todo="'schedlab store list' lists the runs; to read a file, give its path",
    )


def one_run(engine: Engine, word: str) -> Run:
    """Return the run of this number or name, or the latest; StoreError as for :func:`select`, and for a variant."""
    run = select(engine, word)[0].run
    if word not in (str(run.id), run.name, LATEST):
        raise StoreError(
            f"{word} is a single variant, and a comparison needs two columns",
            where=str(engine.url.database),
            todo=f"name run {run.id} for all its variants, or name a second column",
        )
    return run


def contains(engine: Engine, word: str) -> bool:
    """Whether an argument names at least one run of the store."""
    return any(_runs_called(engine, name) for name, _ in _splits(word))


def imported_beside(engine: Engine, run: Run) -> list[Chosen]:
    """Return the columns of all imported runs that share a row with an imported run, the oldest import first."""
    rows = _rows(run)
    imported = [other for other in reader.runs(engine) if not other.design.paired and _rows(other) & rows]
    return [
        Chosen(other, other.design.variants[0], other.name) for other in sorted(imported, key=lambda other: other.id)
    ]


def with_baseline(chosen: Sequence[Chosen], name: str) -> list[Chosen]:
    """Return the columns with the column of this name first; StoreError unless exactly one column has the name."""
    baselines = [column for column in chosen if column.name == name]
    if len(baselines) != 1:
        names = ", ".join(column.name for column in chosen)
        count = "several columns are" if baselines else "no column is"
        raise StoreError(f"{count} called {name!r}", where="--baseline", todo=f"the columns are {names}")
    return [baselines[0], *(column for column in chosen if column is not baselines[0])]


def named_apart(chosen: Sequence[Chosen]) -> list[Chosen]:
    """Return the columns with unique names: the variant's name, or ``RUN:VARIANT`` for variants of several runs.

    A variant of a run in another store is ``STORE:VARIANT``. An imported column has the name of its source unless
    another column has the same name.
    """
    several = len({(column.store, column.run.id) for column in chosen}) > 1
    plain = [_name(column, several) for column in chosen]
    names = [
        f"{column.run.id}:{name}" if plain.count(name) > 1 and column.store is None else name
        for column, name in zip(chosen, plain, strict=True)
    ]
    for i, name in enumerate(names):
        if name in names[:i]:
            names[i] = next(new for n in range(2, len(names) + 2) if (new := f"{name} ({n})") not in names)
    return [replace(column, name=name) for column, name in zip(chosen, names, strict=True)]


def _name(column: Chosen, several: bool) -> str:
    if several and column.run.design.paired and column.store is not None and column.stored:
        return f"{location(str(column.store.url.database)).short}:{column.variant}"
    return f"{column.run.id}:{column.variant}" if several and column.run.design.paired else column.variant


def _splits(word: str) -> list[tuple[str, str | None]]:
    """Return the ways to split an argument into run and variant: a run's name may contain a colon."""
    head, colon, tail = word.rpartition(":")
    return [(word, None), *([(head, tail)] if colon else [])]


def _runs_called(engine: Engine, name: str) -> list[Run]:
    """Return the runs of this name, or the run of this number. Raise Damaged when that run is damaged."""
    if name == LATEST:
        return [reader.run(engine, None)]
    listed = reader.listing(engine)
    for run in listed:
        if isinstance(run, reader.DamagedRun) and str(run.id) == name:
            raise run.reason
    runs = (run for run in listed if isinstance(run, Run))
    return [run for run in runs if (str(run.id) if name.isdecimal() else run.name) == name]


def _only(engine: Engine, name: str, runs: Sequence[Run]) -> Run:
    if len(runs) > 1:
        numbers = ", ".join(str(run.id) for run in sorted(runs, key=lambda run: run.id))
        raise StoreError(
            f"several runs are called {name!r}", where=str(engine.url.database), todo=f"use a number: {numbers}"
        )
    return runs[0]


def _columns(run: Run, variant: str | None, word: str) -> list[Chosen]:
    columns = variants_of(run)
    if variant is None:
        return columns[:1] if run.design.paired else columns
    of_variant = [column for column in columns if column.variant == variant]
    if not of_variant:
        names = ", ".join(column.variant for column in columns)
        raise StoreError(f"run {run.id} has no variant {variant!r}", where=word, todo=f"the run's variants are {names}")
    return of_variant


def _rows(run: Run) -> set[tuple[str, str, str]]:
    return {question.row for question in run.design.questions}
