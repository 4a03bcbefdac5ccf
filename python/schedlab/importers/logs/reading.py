"""Reading one file of results: its format is told by how it begins, unless it is known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from schedlab.importers.logs import sides
from schedlab.importers.logs.base import Log, Reader, Reading
from schedlab.importers.logs.files import File
from schedlab.importers.logs.near import advice
from schedlab.importers.logs.objects import load
from schedlab.importers.logs.pgbench_log import READER as TRANSACTIONS
from schedlab.importers.logs.registry import READERS, recognise
from schedlab.importers.logs.series import ReadLog
from schedlab.importers.text import Document, NotResults, opened
from schedlab.results import Import, ImportProblem, Table, showable

_LONGEST = 16 * 1024 * 1024
"""Bytes of text in which tables are looked for. Mails are far shorter; a line takes some 50 µs to be understood."""
_THREAD = re.compile(r"\.\d+\.\d+$")
_JSON = re.compile(r"\s*(?:\{\s*[\"}]|\[\s*(?:[\[\]{\"]|-?\d[\d.eE+-]*\s*(?:,|\]\s*\Z)))")
"""How JSON begins; a mail may begin with ``[PATCH``, and a kernel's log with the time in brackets."""

TODO = "'schedlab import --help' lists what is read; --as FORMAT names the format where the content does not tell"


def read_file(file: File, form: str | None, *, alone: bool) -> list[ReadLog] | Import:
    """A tool's log (of several tools, where a script wrote one after the other), or the tables of a text.

    Raises:
        NotResults: it is empty, no text, or of no known format.
        ImportProblem: it cannot be read, or is damaged.
    """
    with opened(file.path) as document:
        first = next((one for one in READERS if one.name == form), None) if form else recognise(document.head)
        if first is None:
            return _tables(document, file, meant=form is not None)
        text = document.text
        if form is None and first.in_mails and (sides.is_mail(text) or sides.has_gains(text)):
            found = _printed(document, first)
            if found is not None:
                left = (
                    f"{document.name}: left out: output of {first.name} beside the tables; --as {first.name} reads it"
                )
                return replace(found, notes=(*found.notes, left))
    for part in file.more:
        with opened(part) as document:
            text = f"{text.rstrip(chr(10))}\n{document.text}"
    readers = [first]
    if form is None and first.in_mails:
        readers += [one for one in READERS if one.in_mails and one is not first and one.is_in(text)]
    log = Log(str(file.path), text, file.column, alone, mixed=len(readers) > 1)
    return [ReadLog(one.name, log.name, file.column, _read(one, log)) for one in readers]


def _read(reader: Reader, log: Log) -> Reading:
    return sides.read(reader, log) if reader.in_mails else reader.read(log)


def with_threads(found: Sequence[File]) -> list[File]:
    """Files with their parts: threads of one pgbench write their transactions to ``NAME.PID`` and ``NAME.PID.1``."""
    by_path = {file.path: file for file in found}
    parts: dict[Path, list[Path]] = {}
    for file in found:
        main = file.path.with_suffix("")
        if _THREAD.search(file.path.name) and main in by_path and all(map(_holds_transactions, (main, file.path))):
            parts.setdefault(main, []).append(file.path)
    inner = {path for paths in parts.values() for path in paths}
    return [replace(file, more=tuple(parts.get(file.path, ()))) for file in found if file.path not in inner]


def _holds_transactions(path: Path) -> bool:
    try:
        with opened(path) as document:
            return TRANSACTIONS.recognises(document.head)
    except ImportProblem:
        return False


_ABOVE = 4
"""Lines above a table of figures in which a tool says what it prints there."""


def _printed(document: Document, tool: Reader) -> Import | None:
    """The tables of a text but those that are the tool's own output; None where it has none."""
    from schedlab.importers import printed

    if len(document.raw) > _LONGEST:
        return None
    try:
        found = printed.read_text(document.raw, document.name)
    except ImportProblem:
        return None
    lines = document.text.split("\n")
    tables = tuple(table for table in found.tables if not _is_output(table, tool, lines))
    return replace(found, tables=tables) if tables or found.series else None


def _is_output(table: Table, tool: Reader, lines: Sequence[str]) -> bool:
    """Whether a table without gains stands in lines by which the tool is known: netperf's figures have headers too."""
    if any(cell.gain is not None for row in table.rows for cell in row.cells):
        return False
    region = lines[max(table.line - 1 - _ABOVE, 0) : table.rows[-1].line]
    return tool.is_in("\n".join(region))


def _tables(document: Document, file: File, *, meant: bool) -> Import:
    from schedlab.importers import printed

    if _JSON.match(document.head):
        keys = showable(", ".join(list(load(Log(document.name, document.text, file.column)))[:8]))
        raise NotResults(f"is JSON of no tool that is known (its keys: {keys})", where=document.name, todo=TODO)
    if instead := advice(document.head):
        raise NotResults(f"is {instead[0]}", where=f"{document.name}:1", todo=instead[1])
    if not (meant or printed.looks_like(document.head)):
        raise NotResults(
            "is no output of a tool that is known, and holds no table", where=f"{document.name}:1", todo=TODO
        )
    if len(document.raw) > _LONGEST:
        raise NotResults(
            f"is no output of a known tool, and with {len(document.raw) >> 20} MiB too long to look for tables in",
            where=f"{document.name}:1",
            todo="cut out the lines around the tables; --as FORMAT names the tool if it is a tool's output",
        )
    try:
        return printed.read_text(document.raw, document.name, meant=meant)
    except ImportProblem as problem:
        # A problem without a line is that of the whole: there is no table in it.
        if problem.where == document.name:
            raise NotResults(problem.what, where=problem.where, todo=TODO) from problem
        raise
