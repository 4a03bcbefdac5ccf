"""Detection and reading of the contents of a path: trees of MMTests, logs of tools, printed tables.

    path ──tree?──▶ mmtests, criterion, lkp
         ──log?───▶ the first reader of tool logs that recognises the text, the strictest first
         ──text───▶ printed tables, by their grammars or by the layout that the user states

All paths are read before anything is returned. An unrecognised path raises ImportProblem, and nothing is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedlab.files import packed
from schedlab.importers.checks import checked, columns_of, directed, renamed, require_name, unique
from schedlab.importers.text import NotResults, naming_decimal_commas, too_much_memory
from schedlab.results.imported import Import, ImportProblem

if TYPE_CHECKING:
    from schedlab.importers.logs.columns import StatedColumn
    from schedlab.importers.logs.series import ReadLog
    from schedlab.importers.printed.layout import Layout

PRINTED = "tables"
_TREES = {
    "mmtests": "result trees of MMTests (work/log, a run, an iteration, a benchmark)",
    "criterion": "folders target/criterion of Rust's criterion; a column for each saved baseline",
    "lkp": "result trees and matrix.json of lkp-tests; a column for each commit",
}
"""Formats of several files, by the name of their module."""


def formats() -> Mapping[str, str]:
    """Return every format that ``--as`` takes, with a description."""
    from schedlab.importers.logs.reading import readers

    logs = {reader.name: reader.reads for reader in readers()}
    return {
        **_TREES,
        PRINTED: "printed tables: MMTests' comparisons, reviews of series, perf stat, 0-day; mails and changelogs",
        **logs,
    }


def read(
    path: Path, form: str | None = None, layouts: Sequence[Layout] = (), columns: Sequence[StatedColumn] = ()
) -> Import:
    """Return everything in a path as one import.

    Args:
        path: a file or folder.
        form: a name of :func:`formats`, where the content does not determine the format.
        layouts: of the printed tables in a text.
        columns: lines of a text that are columns.

    Raises:
        ImportProblem: the path does not exist, contains nothing that is read, is damaged, or needs too much memory;
            with file and line.
    """
    return directed(_joined(read_all([path], form, layouts=layouts, columns=columns), str(path)))


def read_all(
    paths: Sequence[Path],
    form: str | None = None,
    names: Sequence[str] = (),
    layouts: Sequence[Layout] = (),
    columns: Sequence[StatedColumn] = (),
) -> list[Import]:
    """Return an import for each text of tables, one for all trees, and one for all logs of tools.

    Columns of trees and logs keep the order of the paths. ``names`` is empty, or has a column name for each path; a
    folder of logs is one column then. Raises ImportProblem as :func:`read` does, and if a path that is to be called by
    a name has several columns.
    """
    if form is not None and form not in formats():
        raise ImportProblem(f"{form!r} is not a format", todo=f"the formats are {', '.join(formats())}")
    if layouts and form not in (None, PRINTED):
        raise ImportProblem(f"a stated table is not {form}", where="--table", todo=f"--as {PRINTED}, or no --as")
    if columns and (len(paths) > 1 or names or layouts or not all(map(Path.is_file, paths))):
        todo = "import this file alone, without --name and --table"
        raise ImportProblem("states the columns of one file", where="--column", todo=todo)
    for name in names:
        require_name(name, "--name")
    for path in paths:
        if str(path) != "-" and not path.exists():
            raise ImportProblem("there is no such file or folder", where=str(path), todo="check the path")
    named = dict(zip(paths, names, strict=True)) if names else {}
    # The error is made without the limit. Where a file alone needs too much memory, its path is named.
    with _enough_memory(paths[0]), packed.limited(packed.MOST):
        is_text = form is None and bool(layouts or columns)
        kinds = {path: None if is_text else _tree(path, form) for path in paths}
        trees = {kind: [path for path in paths if kinds[path] == kind] for kind in _TREES}
        imports = [(paths.index(found[0]), _trees(kind, found, named)) for kind, found in trees.items() if found]
        if rest := [path for path in paths if kinds[path] is None]:
            imports += [(paths.index(root), imported) for root, imported in _files(rest, form, named, layouts, columns)]
        return [checked(imported) for _, imported in sorted(imports, key=lambda pair: pair[0])]


@contextmanager
def _enough_memory(path: Path) -> Iterator[None]:
    """Raise ImportProblem with the path if the block needs too much memory."""
    try:
        yield
    except MemoryError:
        raise too_much_memory(path) from None


def _tree(path: Path, form: str | None) -> str | None:
    """Return the kind of tree at a path; without a stated format, the content decides."""
    if form is not None:
        return form if form in _TREES else None
    with _enough_memory(path):
        return next((kind for kind in _TREES if _module(kind).looks_like(path)), None)


def _module(kind: str) -> Any:
    return import_module(f"schedlab.importers.{kind}")


def _trees(kind: str, paths: Sequence[Path], names: Mapping[Path, str]) -> Import:
    """Read trees of one kind; several runs are columns of one import, as if they were in one folder."""
    imports = []
    for path in paths:
        with _enough_memory(path), naming_decimal_commas():
            imports.append(_named(_module(kind).read(path), names.get(path)))
    return _joined(imports, ", ".join(map(str, paths)))


def _named(imported: Import, name: str | None) -> Import:
    """Return the import with its only column under this name."""
    if name is None:
        return imported
    columns = columns_of([imported])
    if len(columns) != 1:
        raise _several(columns, name, imported.source)
    return renamed([imported], {columns[0]: name})[0]


def _called(log: ReadLog, name: str | None) -> ReadLog:
    """Return the log with its only column under this name, which the log already has as ``column``."""
    samples, undirected = log.reading.samples, log.reading.undirected
    columns = dict.fromkeys(each.column or log.column for each in (*samples, *undirected))
    if name is None or not columns.keys() - {name}:
        return log
    if len(columns) > 1:
        raise _several(columns, name, log.source)
    samples, undirected = ([replace(each, column="") for each in of_log] for of_log in (samples, undirected))
    return replace(log, reading=replace(log.reading, samples=samples, undirected=undirected))


def _several(columns: Iterable[str], name: str, source: str) -> ImportProblem:
    listed = list(columns)
    return ImportProblem(
        f"contains {len(listed)} columns, so the columns cannot all have the name {name!r}: {', '.join(listed)}",
        where=source,
        todo="rename single columns with --name OLD=NEW",
    )


def _joined(imports: Sequence[Import], source: str) -> Import:
    """Merge several imports; a repeated column name gets a number."""
    if len(imports) == 1:
        return imports[0]
    columns = unique([name for imported in imports for name in imported.columns])
    fresh = iter(columns)
    fresh_names = [dict(zip(imported.columns, fresh, strict=False)) for imported in imports]
    renamed_imports = [
        renamed([replace(imported, tables=())], names)[0] for imported, names in zip(imports, fresh_names, strict=True)
    ]
    return Import(
        format=", ".join(dict.fromkeys(imported.format for imported in imports)),
        source=source,
        columns=columns,
        series=tuple(series for imported in renamed_imports for series in imported.series),
        undirected=tuple(series for imported in renamed_imports for series in imported.undirected),
        tables=tuple(table for imported in imports for table in imported.tables),
        notes=tuple(dict.fromkeys(note for imported in imports for note in imported.notes)),
        origins={name: origin for imported in renamed_imports for name, origin in imported.origins.items()},
    )


def _files(
    paths: Sequence[Path],
    form: str | None,
    names: Mapping[Path, str],
    layouts: Sequence[Layout],
    columns: Sequence[StatedColumn],
) -> list[tuple[Path, Import]]:
    """Read every text of tables separately, and all logs of tools together, each log with the path where the log
    begins."""
    from schedlab.importers.logs.files import files, is_warm_up
    from schedlab.importers.logs.reading import read_file, with_further
    from schedlab.importers.logs.series import to_import

    texts: list[tuple[Path, Import]] = []
    logs: list[ReadLog] = []
    roots: dict[Path, None] = {}
    left_out: list[str] = []
    wanted = with_further(files(paths, names))
    for file in sorted(wanted, key=is_warm_up):
        if is_warm_up(file) and file.root in (*roots, *(root for root, _ in texts)):
            left_out.append(f"left out: {file.path} is a warm-up by its name: name the file itself to import it")
            continue
        try:
            with _enough_memory(file.path), naming_decimal_commas():
                alone = len(wanted) == 1 and not names
                content = read_file(file, form, alone=alone, layouts=layouts, columns=columns)
        except NotResults as problem:
            # A folder may contain more than results; a file that the user names must be results.
            if file.is_named:
                raise
            left_out.append(f"left out: {file.path} {problem.what}")
            continue
        if isinstance(content, Import):
            texts.append((file.root, _named(content, file.name)))
        else:
            logs += [_called(log, file.name) for log in content]
            roots[file.root] = None
    if logs:
        together = to_import(logs, ", ".join(map(str, roots)), left_out)
        return [(next(iter(roots)), together), *texts]
    if not texts:
        todo = f"formats that are read, and that --as names: {', '.join(formats())}"
        raise NotResults("contains no file with results", where=", ".join(map(str, paths)), todo=todo)
    (root, first), *others = texts
    return [(root, replace(first, notes=(*first.notes, *left_out))), *others]
