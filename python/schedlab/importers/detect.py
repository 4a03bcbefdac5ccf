"""Finding out what a path holds, by its content, and reading it: trees of MMTests, logs of tools, printed tables.

    path ──tree?──▶ mmtests
         ──log?───▶ the first reader of tool logs that recognises the text, the strictest first
         ──else───▶ printed tables, for which nearly any text will do

Everything is read before anything is returned; what cannot be understood is an ImportProblem, and nothing is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from schedlab.importers.sound import require_sound
from schedlab.importers.text import NotResults
from schedlab.results import Import, ImportProblem

MMTESTS, PRINTED = "mmtests", "tables"

WHAT_IS_READ = (
    "read are MMTests trees, printed tables, and logs of hackbench, tbench, pgbench, perf bench, perf stat, netperf, "
    "iperf3, hyperfine, schbench, cyclictest, UnixBench, stress-ng, will-it-scale, and schedlab's samples as CSV; "
    "name one with --as"
)


def formats() -> Mapping[str, str]:
    """Every format that ``--as`` takes, and what it reads."""
    from schedlab.importers.logs.reading import readers

    logs = {reader.name: reader.reads for reader in readers()}
    return {
        MMTESTS: "result trees of MMTests (work/log, a run, an iteration, a benchmark)",
        PRINTED: "printed tables: MMTests' comparisons, perf stat, 0-day, hackbench, columns; mails and changelogs",
        **logs,
    }


def read(path: Path, form: str | None = None) -> Import:
    """All that one path holds; ``form`` is one of :func:`formats` for a path whose content does not tell.

    Raises:
        ImportProblem: the path is not there, holds nothing that is known, or is damaged; file and line are told.
    """
    found = read_all([path], form)
    return found[0] if len(found) == 1 else _one(found, str(path))


def read_all(paths: Sequence[Path], form: str | None = None, names: Sequence[str] = ()) -> list[Import]:
    """What the paths hold: an Import for each text of tables, one for all trees, and one for all logs of tools.

    Columns of trees and logs keep the order of the paths. ``names`` has a column's name for each path, or is empty; a
    folder of logs is one column then. ImportProblem as for :func:`read`, and for a name for what has several columns.
    """
    if form is not None and form not in formats():
        raise ImportProblem(f"{form!r} is no format", todo=f"one of {', '.join(formats())}")
    for path in paths:
        if str(path) != "-" and not path.exists():
            raise ImportProblem("there is no such file or folder", where=str(path), todo="check the path")
    called = dict(zip(paths, names, strict=True)) if names else {}
    trees = [path for path in paths if _is_tree(path, form)]
    found = [(paths.index(trees[0]), _trees(trees, called))] if trees else []
    if rest := [path for path in paths if path not in trees]:
        found += [(paths.index(root), one) for root, one in _files(rest, form, called)]
    return [require_sound(one) for _, one in sorted(found, key=lambda pair: pair[0])]


def _is_tree(path: Path, form: str | None) -> bool:
    if form is not None:
        return form == MMTESTS
    if not path.is_dir():
        return False
    from schedlab.importers import mmtests

    return mmtests.looks_like(path)


def _trees(paths: Sequence[Path], names: Mapping[Path, str]) -> Import:
    """Runs named one by one are columns of one import, as those of one folder are."""
    from schedlab.importers import mmtests

    found = [_named(mmtests.read(path), names.get(path)) for path in paths]
    return _one(found, ", ".join(map(str, paths)))


def _named(found: Import, name: str | None) -> Import:
    """The import with its one column called this."""
    from schedlab.importers.adjust import columns_of, renamed

    if name is None:
        return found
    columns = columns_of([found])
    if len(columns) != 1:
        raise ImportProblem(
            f"holds {len(columns)} columns, not one to be called {name!r}: {', '.join(columns)}",
            where=found.source,
            todo="rename single ones with --name OLD=NEW",
        )
    return renamed([found], {columns[0]: name})[0]


def _one(imports: Sequence[Import], source: str) -> Import:
    """Several imports as one; a column name that is used before gets a number."""
    if len(imports) == 1:
        return imports[0]
    columns: list[str] = []
    series = []
    for found in imports:
        renamed = {name: _free(name, columns) for name in found.columns}
        columns += renamed.values()
        series += [replace(one, column=renamed[one.column]) for one in found.series]
    return Import(
        format=", ".join(dict.fromkeys(found.format for found in imports)),
        source=source,
        columns=tuple(columns),
        series=tuple(series),
        tables=tuple(table for found in imports for table in found.tables),
        notes=tuple(dict.fromkeys(note for found in imports for note in found.notes)),
    )


def _free(name: str, taken: Sequence[str]) -> str:
    number, fresh = 2, name
    while fresh in taken:
        number, fresh = number + 1, f"{name} ({number})"
    return fresh


def _files(paths: Sequence[Path], form: str | None, names: Mapping[Path, str]) -> list[tuple[Path, Import]]:
    """Every text of tables by itself, and all logs of tools together, each with the path where it begins."""
    from schedlab.importers.logs.files import files
    from schedlab.importers.logs.reading import read_file, with_threads
    from schedlab.importers.logs.series import ReadLog, to_import

    texts: list[tuple[Path, Import]] = []
    logs: list[ReadLog] = []
    roots: dict[Path, None] = {}
    left_out: list[str] = []
    wanted = with_threads(files(paths, names))
    for file in wanted:
        try:
            found = read_file(file, form, alone=len(wanted) == 1 and not names)
        except NotResults as problem:
            # A folder may hold more than results; what was given was meant.
            if file.given:
                raise
            left_out.append(f"left out: {file.path} {problem.what}")
            continue
        if isinstance(found, Import):
            texts.append((file.root, _named(found, file.name)))
        else:
            logs += found
            roots[file.root] = None
    if logs:
        together = to_import(logs, ", ".join(map(str, roots)), left_out)
        return [(next(iter(roots)), together), *texts]
    if not texts:
        raise NotResults("holds no file with results", where=", ".join(map(str, paths)), todo=WHAT_IS_READ)
    (root, first), *others = texts
    return [(root, replace(first, notes=(*first.notes, *left_out))), *others]
