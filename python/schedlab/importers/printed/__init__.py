"""Tables that people print: MMTests' comparisons, ``perf stat``, hackbench, Intel's 0-day reports, and plain columns.

    bytes ──decode──▶ numbered lines ──page──▶ lines without quoting ──layouts──▶ tables, series, notes

Each layout is a module. They are asked in turn at every line; the first that knows the line reads its table to the end.
"""

from __future__ import annotations

import re
from pathlib import Path

from schedlab.importers.printed import aligned, bordered, hackbench, normalised, perf_stat, zero_day
from schedlab.importers.printed import vocabulary as words
from schedlab.importers.printed.decimals import with_points
from schedlab.importers.printed.decode import numbered_lines
from schedlab.importers.printed.page import page
from schedlab.importers.printed.rows import CHANGE
from schedlab.results import Import, ImportProblem, Table

FORMAT = "printed tables"
"""``Import.format`` of everything read here."""

_FIGURES = re.compile(r"^.*\S.*(?<![\w.])\d[\d.,]*[%a-zµ/]*[)*]*[^\S\r\n].*\d", re.MULTILINE)
_QUOTING = "> |\t"
_TOLD = 3
"""Notes on what was not read that an error repeats."""


def looks_like(head: str) -> bool:
    """Whether a text's beginning may hold tables: two lines with two figures each, or a row of MMTests with its gains.

    Ask it after stricter readers.
    """
    if "\0" in head:
        return False
    found = _FIGURES.finditer(head)
    if next(found, None) is None:
        return False
    return (
        "Time:" in head
        or "%stddev" in head
        or next(found, None) is not None
        or any(map(_is_mmtests_row, head.splitlines()))
    )


def _is_mmtests_row(line: str) -> bool:
    return words.begins_with_operation(line.lstrip(_QUOTING)) and len(CHANGE.findall(line)) > 1


def read(path: Path) -> Import:
    """All tables and series of a mail or other text; raises :class:`ImportProblem`, nothing half imported."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ImportProblem(f"cannot be read: {error.strerror}", where=str(path), todo="check the path") from error
    return read_text(data, str(path))


def read_text(data: bytes | str, source: str, *, meant: bool = False) -> Import:
    """:func:`read` for a text in hand; ``source`` names it in errors.

    ``meant``: the user says that its tables are results, so that nothing in them has to.
    """
    lines = page(numbered_lines(data.encode() if isinstance(data, str) else data, source))
    perf, bench = perf_stat.Reader(lines, source), hackbench.Reader(lines, source)
    # What tools print has a grammar of its own, also under a locale with decimal commas.
    lines = with_points(lines)
    robots, columns = zero_day.Reader(lines, source), aligned.Reader(lines, source, meant)
    multiples = normalised.Reader(lines, source)
    tables: list[Table] = []
    notes: list[str] = []
    at = floor = 0
    while at < len(lines):
        if not lines[at].text:
            at += 1
            continue
        if (end := bench.read(at)) is not None or (end := perf.read(at, floor)) is not None:
            floor = at = end
            continue
        found = robots.read(at, floor) or multiples.read(at, floor)
        found = found or bordered.read(lines, at, floor, source, meant=meant)
        found = found or columns.read(at, floor) or columns.empty(at, floor)
        if found is None:
            at += 1
            continue
        tables += found.tables
        notes += found.notes
        at = found.end
        floor = at if found.tables or found.notes else floor
    tables = sorted([*tables, *perf.tables()], key=lambda table: table.line)
    series = bench.series()
    if not tables and not series:
        told = "".join(f"; {note}" for note in notes[:_TOLD])
        raise ImportProblem(
            f"no table was found in this text{told}",
            where=source,
            todo="a table is rows of figures under a header, or what MMTests, perf stat, hackbench or 0-day print",
        )
    names = tuple(dict.fromkeys(one.column for one in series))
    return Import(FORMAT, source, names, tuple(series), tuple(tables), (*notes, *bench.notes))
