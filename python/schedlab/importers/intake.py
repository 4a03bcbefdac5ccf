"""Results of other tools: read under the names that the user states, and recorded in a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import SchedlabError, StoreError
from schedlab.importers import checks, detect
from schedlab.results.imported import Import, Table
from schedlab.results.metrics import Direction
from schedlab.store.file import open_store
from schedlab.store.imports import duplicates, record_imports
from schedlab.store.location import Location
from schedlab.store.merging import Copied, is_store, merge
from schedlab.store.reader import Run, chosen


@dataclass(frozen=True)
class Statements:
    """The user's statements on columns, metrics and the layout of printed tables."""

    names: Sequence[str] = ()
    baseline: str | None = None
    lower: Sequence[str] = ()
    higher: Sequence[str] = ()
    tables: Sequence[str] = ()
    columns: Sequence[str] = ()


_MOST_NAMED = 8
"""Runs that an error message names."""

NONE = Statements()
"""No statement."""


@dataclass(frozen=True)
class Copies:
    """Runs that were copied with their records, each with its source; ``exported``: from exports of samples."""

    runs: Sequence[tuple[str, Copied]]
    exported: bool


def copied(sources: Sequence[Location], to: Location, *, plain: bool) -> Copies | None:
    """Copy the runs of stores into the store ``to``, or if ``plain`` the runs of exported samples with their records.

    Return None for other sources; SchedlabError if some sources are stores.
    """
    stores = [source for source in sources if source.path is None or is_store(source.path)]
    if stores:
        if len(stores) < len(sources):
            what, todo = "is a store, and other paths are not stores", "import stores in a separate command"
            raise SchedlabError(what, where=str(stores[0]), todo=todo)
        return Copies(merge(stores, to, lambda source: open_store(source, create=False)), exported=False)
    paths = [source.file for source in sources]
    if plain and all(path.suffix in (".csv", ".parquet") and path.is_file() for path in paths):
        from schedlab.store.exports import has_records, read_export  # loads polars

        if all(map(has_records, paths)):
            return Copies(merge(sources, to, lambda source: read_export(source.file)), exported=True)
    return None


def read_tables(path: Path, layouts: Sequence[str]) -> list[Table]:
    """Return the printed tables of a path; ``layouts`` are the values of ``--table``."""
    return [table for each in read([path], None, Statements(tables=layouts)) for table in each.tables]


def read(paths: Sequence[Path], form: str | None, statements: Statements) -> list[Import]:
    """Return the imports of all paths under the names that the user states; write nothing."""
    layouts = []
    if statements.tables:
        from schedlab.importers.printed.layout import layouts as parsed

        layouts = [layout for text in statements.tables for layout in parsed(text)]
    plain = [name for name in statements.names if "=" not in name]
    if plain and len(plain) != len(paths):
        raise SchedlabError(
            f"{len(plain)} names for {len(paths)} paths",
            where="--name",
            todo="give a name for each PATH, or OLD=NEW for single columns",
        )
    stated = []
    if statements.columns:
        from schedlab.importers.logs.columns import stated_columns

        stated = stated_columns(statements.columns)
    imports = detect.read_all(paths, form, plain, layouts, stated)
    columns = checks.columns_of(imports)
    changes = {}
    for name in statements.names:
        if name not in plain:
            # A column may be called "ms=10", so the longest column name that fits is taken.
            old = max((column for column in columns if name.startswith(f"{column}=")), key=len, default=None)
            if old is None:
                raise SchedlabError(
                    f"{name} renames no column", where="--name", todo=f"the columns are {', '.join(columns)}"
                )
            changes[old] = name[len(old) + 1 :]
    imports = checks.renamed(imports, changes) if changes else imports
    if statements.baseline is not None:
        imports = checks.with_baseline(imports, statements.baseline)
    directions: dict[str, Direction] = {}
    directions |= dict.fromkeys(statements.lower, "lower")
    directions |= dict.fromkeys(statements.higher, "higher")
    imports = checks.with_directions(imports, directions) if directions else imports
    return [checks.directed(imported) for imported in imports]


def record(to: Location, imports: Sequence[Import], *, again: bool) -> list[list[Run]]:
    """Store the imports in one transaction and return the runs of each; StoreError if the store already contains the
    imports."""
    groups = [checks.by_column(imported) for imported in imports]
    parts = [part for group in groups for part in group]
    engine = open_store(to, create=True)
    if stored := [] if again else duplicates(engine, parts):
        runs = ", ".join(f"{duplicate.name} is run {duplicate.run_id}" for duplicate in stored[:_MOST_NAMED])
        runs += f" and {len(stored) - _MOST_NAMED:,} more" if len(stored) > _MOST_NAMED else ""
        raise StoreError(
            f"has these results already: {runs}",
            where=str(to),
            todo="nothing was imported: leave the path out, or import it once more with --again",
        )
    numbers = record_imports(engine, parts)
    by_number = {made.id: made for made in chosen(engine, numbers) if isinstance(made, Run)}
    made = iter(numbers)
    return [[by_number[next(made)] for _ in group] for group in groups]
