"""Which columns somebody means: runs by number or name, variants of them, imports that lie beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Engine

from schedlab.errors import StoreError
from schedlab.store import reading
from schedlab.store.columns import Chosen, variants_of
from schedlab.store.reading import Run


def select(engine: Engine, word: str) -> list[Chosen]:
    """The columns of ``3`` (a run's number), ``slice`` (its name) or ``3:batch`` (one variant of it).

    A measured run without a variant is its baseline; an imported text's run is all columns of its tables. StoreError
    says what a word could have meant when it names no run, or several.
    """
    for name, variant in _readings(word):
        if found := _named(engine, name):
            return _columns(_only(engine, name, found), variant, word)
    raise StoreError(
        f"the store holds no run {word!r}",
        where=str(engine.url.database),
        todo="'schedlab runs' lists what it holds; a path is taken where it exists",
    )


def one_run(engine: Engine, word: str) -> Run:
    """The run of this number or name as a whole; StoreError as by :func:`select`, or for a single variant."""
    columns = select(engine, word)
    run = columns[0].run
    if word not in (str(run.id), run.name):
        raise StoreError(
            f"{word} is one variant, which is no comparison",
            where=str(engine.url.database),
            todo=f"name run {run.id} for all of its variants, or a second one beside it",
        )
    return run


def holds(engine: Engine, word: str) -> bool:
    """Whether a word names something in the store, be it ambiguous."""
    return any(_named(engine, name) for name, _ in _readings(word))


def imported_beside(engine: Engine, run: Run) -> list[Chosen]:
    """An imported run of samples and the others of the store that share a row with it, the first imported first."""
    rows = _rows(run)
    imported = [other for other in reading.runs(engine) if not other.design.paired and _rows(other) & rows]
    return [
        Chosen(other, other.design.variants[0], other.name) for other in sorted(imported, key=lambda other: other.id)
    ]


def with_baseline(chosen: Sequence[Chosen], name: str) -> list[Chosen]:
    """The same columns with the one of this name first; StoreError where none or several have it."""
    found = [column for column in chosen if column.name == name]
    if len(found) != 1:
        names = ", ".join(column.name for column in chosen)
        many = "several columns are" if found else "no column is"
        raise StoreError(f"{many} called {name!r}", where="--baseline", todo=f"the columns are {names}")
    return [found[0], *(column for column in chosen if column is not found[0])]


def named_apart(chosen: Sequence[Chosen]) -> list[Chosen]:
    """The columns by names that tell them apart: variants of one run by their own, those of several by ``RUN:VARIANT``.

    What was imported keeps the name that its source gave it as long as no other column has it.
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
    own = not several or not column.run.design.paired
    return column.variant if own else f"{column.run.id}:{column.variant}"


def _readings(word: str) -> list[tuple[str, str | None]]:
    """The ways to read a word: a name may itself hold a colon."""
    head, colon, tail = word.rpartition(":")
    return [(word, None), *([(head, tail)] if colon else [])]


def _named(engine: Engine, name: str) -> list[Run]:
    return [run for run in reading.runs(engine) if (str(run.id) if name.isdecimal() else run.name) == name]


def _only(engine: Engine, name: str, found: Sequence[Run]) -> Run:
    if len(found) > 1:
        numbers = ", ".join(str(run.id) for run in sorted(found, key=lambda run: run.id))
        raise StoreError(
            f"several runs are called {name!r}", where=str(engine.url.database), todo=f"say which by number: {numbers}"
        )
    return found[0]


def _columns(run: Run, variant: str | None, word: str) -> list[Chosen]:
    columns = variants_of(run)
    if variant is None:
        return columns if not run.design.paired else columns[:1]
    found = [column for column in columns if column.variant == variant]
    if not found:
        names = ", ".join(column.variant for column in columns)
        raise StoreError(f"run {run.id} has no variant {variant!r}", where=word, todo=f"its variants are {names}")
    return found


def _rows(run: Run) -> set[tuple[str, str, str]]:
    return {(question.workload, question.parameters, question.metric) for question in run.design.questions}
