"""Printed tables: comparisons of MMTests, ``perf stat``, hackbench, 0-day reports, and tables of a stated layout.

    bytes ──mail──▶ numbered lines ──lines──▶ lines without quoting ──grammars──▶ tables, series, notes

Each grammar is a module. They are tried in turn at every line, and the first that recognises the line reads its table
to the end. A table that no grammar recognises is read only by a layout that the user states, or refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from schedlab.importers.printed import hackbench, mmtests, perf_stat, runs_in_rows, schbench, stated, zero_day
from schedlab.importers.printed.layout import Layout
from schedlab.importers.printed.lines import Line, Part, clean
from schedlab.importers.printed.mail import numbered_lines
from schedlab.importers.text import NotResults
from schedlab.results import Import, ImportProblem, Table, showable

FORMAT = "printed tables"
"""``Import.format`` of everything that is read here."""

_MOST_SUSPECTS = 3
"""Notes on lines that may be tables of an unknown layout."""


def read(path: Path, layouts: Sequence[Layout] = ()) -> Import:
    """Return all tables and series of a text file; raise :class:`ImportProblem`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ImportProblem(f"cannot be read: {error.strerror}", where=str(path), todo="check the path") from error
    return read_text(data, str(path), layouts)


def read_text(data: bytes | str, source: str, layouts: Sequence[Layout] = ()) -> Import:
    """Return all tables and series of a text; ``source`` names it in errors.

    Raises:
        ImportProblem: a line inside a table cannot be read, or does not fit the stated layout.
        NotResults: the text has no table that a grammar recognises and no layout is stated.
    """
    lines = clean(numbered_lines(data.encode() if isinstance(data, str) else data, source))
    parts, taken = _stated_lines(lines, layouts, source)
    readers = _Readers(lines, source)
    at = floor = 0
    while at < len(lines):
        if at in taken:
            at = floor = taken[at]
            continue
        part = readers.read(at, floor) if lines[at].text else None
        if part is None:
            at += 1
            continue
        parts.append(part)
        taken[at] = part.end
        at = floor = part.end
    everywhere = [layout for layout in layouts if layout.lines is None]
    suspects = list(stated.suspects(lines, list(taken.items()), stated=bool(everywhere)))
    if everywhere and suspects:
        parts += [stated.read(lines, first, end, everywhere[0], source) for first, end in suspects]
        suspects = []
    tables = [*(table for part in parts for table in part.tables), *readers.perf.tables()]
    series = readers.bench.series()
    if not tables and not series:
        raise _refused(lines, suspects, source)
    notes = [note for part in parts for note in part.notes] + readers.bench.notes
    notes += [
        f"lines {lines[first].number}–{lines[end - 1].number} may be a table of an unknown layout and were not read; "
        f"try {stated.example(lines, first, end)}"
        for first, end in suspects[:_MOST_SUSPECTS]
    ]
    if len(suspects) > _MOST_SUSPECTS:
        notes.append(f"and {len(suspects) - _MOST_SUSPECTS} more such places")
    columns = tuple(dict.fromkeys(each.column for each in series))
    return Import(FORMAT, source, columns, tuple(series), tuple(sorted(tables, key=_line)), tuple(notes))


def _line(table: Table) -> int:
    return table.line


class _Readers:
    """The grammars, in the order in which they are tried."""

    def __init__(self, lines: Sequence[Line], source: str) -> None:
        self.lines, self.source = lines, source
        self.bench, self.perf = hackbench.Reader(lines, source), perf_stat.Reader(lines, source)
        self.robot, self.comparison = zero_day.Reader(lines, source), mmtests.Reader(lines, source)

    def read(self, at: int, floor: int) -> Part | None:
        """Return what the first grammar that recognises ``lines[at]`` reads; None if no grammar does."""
        if (end := self.bench.read(at)) is not None or (end := self.perf.read(at, floor)) is not None:
            return Part(end)
        return (
            self.robot.read(at, floor)
            or runs_in_rows.read(self.lines, at, floor, self.source)
            or schbench.read(self.lines, at, floor)
            or self.comparison.read(at, floor)
        )


def _stated_lines(lines: Sequence[Line], layouts: Sequence[Layout], source: str) -> tuple[list[Part], dict[int, int]]:
    """Read the tables whose lines are stated; return them, and the end of each by the index where it begins."""
    parts, taken = list[Part](), dict[int, int]()
    for layout in layouts:
        if layout.lines is None:
            continue
        first, last = layout.lines
        inside = [at for at, line in enumerate(lines) if first <= line.number <= last and line.text]
        if not inside:
            raise ImportProblem(
                f"lines {first}–{last} are empty, or a patch or mail header",
                where=source,
                todo="correct lines=FIRST-LAST",
            )
        parts.append(stated.read(lines, inside[0], inside[-1] + 1, layout, source))
        taken[inside[0]] = inside[-1] + 1
    return parts, taken


def _refused(lines: Sequence[Line], suspects: Sequence[tuple[int, int]], source: str) -> NotResults:
    """Return the error for a text without a table that was read, with the layout to try for the first suspect."""
    if not suspects:
        return NotResults(
            "no table was found in this text",
            where=source,
            todo="tables of MMTests, perf stat, 0-day, hackbench and schbench are read; state the layout of another "
            "with --table lines=FIRST-LAST,columns=runs,label=1,baseline=2,better=lower",
        )
    first, end = suspects[0]
    more = f" (and {len(suspects) - 1} more)" if len(suspects) > 1 else ""
    option = stated.example(lines, first, end)
    return NotResults(
        f'the layout of this table is not known{more}: "{showable(lines[first].text.strip()[:80])}"',
        where=f"{source}:{lines[first].number}",
        todo=f"state the layout: {option} (columns=metrics if each row is a run, better=higher if more is better)",
    )
