"""Printed tables: comparisons of MMTests, reviews of series, ``perf stat``, 0-day reports, tables of a stated layout.

    bytes ──mail──▶ numbered lines ──lines──▶ lines without quoting ──grammars──▶ tables, series, notes

Each grammar is a module. The grammars are tried in turn at every line. The first grammar that recognises the line reads
the table to its end. A table that no grammar recognises is read by a layout that the user states, or refused.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from schedlab.importers.logs.columns import kinds, read_columns
from schedlab.importers.logs.series import ReadLog, to_import
from schedlab.importers.printed import (
    changes,
    changes_only,
    counters,
    lines,
    ministat,
    mmtests,
    normalised,
    runs_in_rows,
    side_by_side,
    stated,
    zero_day,
)
from schedlab.importers.printed.layout import Layout, option
from schedlab.importers.printed.lines import Line, Part
from schedlab.importers.printed.mail import numbered_lines
from schedlab.importers.printed.normalised_rows import unread_boxes
from schedlab.importers.printed.possible_tables import PossibleTable, paragraphs_with_figures, possible_tables
from schedlab.importers.printed.proposal import proposed
from schedlab.importers.printed.suggestions import suggestion
from schedlab.importers.text import NotResults
from schedlab.results.imported import Import, ImportProblem, Table
from schedlab.workloads.log_reader import Log, Reader
from schedlab.workloads.registry import log_readers

FORMAT = "printed tables"
"""``Import.format`` of printed tables and series."""

_MOST_NOTES = 3
"""Largest number of notes on lines that may be tables of an unknown layout."""


@dataclass(frozen=True)
class Text:
    """Content of a text: output of tools, tables, notes, and what was understood of stated tables."""

    logs: Sequence[ReadLog]
    tables: Sequence[Table]
    notes: Sequence[str]
    understood: tuple[str, ...]

    def imported(self, source: str) -> Import:
        """Return the content as one import."""
        samples = to_import(self.logs, source)
        notes = (*self.notes, *samples.notes)
        return Import(FORMAT, source, samples.columns, samples.series, tuple(self.tables), notes, self.understood)


def read_parts(
    data: bytes,
    source: str,
    layouts: Sequence[Layout],
    column: str,
    *,
    alone: bool = True,
    is_one_column: bool = False,
) -> Text:
    """Return the output of tools and all tables of a text.

    Args:
        data: the text as it is in the file.
        source: name of the text in errors.
        layouts: stated layouts of tables.
        column: column of samples without a heading.
        alone: whether no other file is imported with this text.
        is_one_column: whether the output below all headings is one column.

    Raises:
        ImportProblem: a line inside a table cannot be read, or does not fit the stated layout.
        NotResults: the text has no table that a grammar recognises and no layout is stated.
    """
    unquoted = lines.unquoted(numbered_lines(data))
    text = lines.results_only(unquoted)
    parts = _stated_lines(unquoted, text, layouts, source)
    tools = _tools(text)
    if not tools and (plain := lines.dedented(text, _begins_a_run)) is not text and (tools := _tools(plain)):
        text = plain
    readers = _Readers(text, source, tools)
    ends = dict[int, int]()
    at = floor = 0
    while at < len(text):
        part = readers.read(at, floor) if text[at].text else None
        if part is None:
            at += 1
            continue
        parts.append(part)
        ends[at] = part.end
        at = floor = part.end
    unread = list(paragraphs_with_figures(unquoted, text, ends) if layouts else possible_tables(text, ends))
    for layout in (layout for layout in layouts if layout.lines is None):
        parts += [
            stated.read(unquoted, table.first, table.end, layout, source) for table in unread if table.is_separated
        ]
        unread = [table for table in unread if not table.is_separated]
    tables = [*(table for part in parts for table in part.tables), *readers.counters.tables()]
    tables_at = {at for first, end in ends.items() for at in range(first, end)} - readers.output
    log = Log(
        source,
        "".join(f"{line.text}\n" for line in text),
        column,
        alone=alone,
        numbers=[line.number for line in text],
        borders=lines.borders(unquoted, text),
    )
    logs = readers.logs(log, tables_at, is_one_column=is_one_column)
    if not tables and not logs:
        raise _refused(text, unquoted, unread or list(paragraphs_with_figures(unquoted, text, ends)), source)
    notes = [note for part in parts for note in part.notes]
    spans = [*ends.items(), *((table.first, table.end) for table in unread)]
    listed = {at for first, end in spans for at in range(first, end)}
    notes += [
        f'line {line.number}: no table is read below "{line.text.strip()[:80]}"' for line in unread_boxes(text, listed)
    ]
    notes += [
        f"lines {text[table.first].number}–{text[table.end - 1].number} may be a table of an unknown layout "
        f"and were not read; try {suggestion(table, unquoted, source)}"
        for table in unread[:_MOST_NOTES]
    ]
    if len(unread) > _MOST_NOTES:
        notes.append(f"and {len(unread) - _MOST_NOTES} more such places")
    understood = tuple(line for part in parts for line in part.understood)
    tables.sort(key=_line)
    return Text(logs, tables, notes, understood)


def _tools(text: Sequence[Line]) -> list[Reader]:
    """Return the readers of tools with output in a text."""
    plain = "\n".join(line.text for line in text)
    return [tool for tool in log_readers() if tool.line is not None and tool.is_in(plain)]


def _begins_a_run(text: str) -> bool:
    return bool(text) and any(tool.begins is not None and tool.begins.fullmatch(text) for tool in log_readers())


def results_of(data: bytes) -> tuple[list[Line], set[int]]:
    """Return the lines of a text without quoting, where lines of patches, diffstats and mail headers are blank; and the
    indices of lines at which another text begins."""
    unquoted = lines.unquoted(numbered_lines(data))
    results = lines.results_only(unquoted)
    return results, lines.borders(unquoted, results)


def _line(table: Table) -> int:
    return table.line


class _Readers:
    """The grammars, in the order in which they are tried. ``output``: indices of the lines that tools printed."""

    def __init__(self, text: Sequence[Line], source: str, tools: Sequence[Reader]) -> None:
        self.text, self.source, self.tools = text, source, tools
        self.output = set[int]()
        self.table_end = 0
        self.kinds = kinds(self.tools)
        self.beside = [
            side_by_side.Reader(tool, text, source) for tool in log_readers() if tool.side_by_side is not None
        ]
        self.counters = counters.Reader(text, source, self.output)
        self.zero_day, self.mmtests = zero_day.Reader(text, source), mmtests.Reader(text, source)

    def read(self, at: int, floor: int) -> Part | None:
        """Return the result of the first grammar that recognises ``text[at]``; None if no grammar recognises the
        table."""
        beside = (reader.read(at, floor) for reader in self.beside)
        end = next((end for end in beside if end is not None), None)
        if end is None:
            # The heading of a block of counters may be above output of the measured tool.
            end = self.counters.read(at, self.table_end)
        part = None if end is None else Part(end)
        if part is None and self.kinds.is_output(at, self.text[at].text.strip()):
            self.output.add(at)
            return Part(at + 1)
        part = part or self._table(at, floor)
        self.table_end = part.end if part else self.table_end
        return part

    def _table(self, at: int, floor: int) -> Part | None:
        return (
            self.zero_day.read(at, floor)
            or runs_in_rows.read(self.text, at, floor, self.source)
            or normalised.read(self.text, at, floor, self.source)
            or ministat.read(self.text, at, floor, self.source)
            or self.mmtests.read(at, floor)
            or changes.read(self.text, at, floor)
            or changes_only.read(self.text, at, floor)
        )

    def logs(self, log: Log, tables: Collection[int], *, is_one_column: bool) -> list[ReadLog]:
        """Return the output of tools in the text ``log``, outside the lines of tables."""
        beside = [log for reader in self.beside for log in reader.logs()]
        if not self.output:
            return beside
        kinds = replace(self.kinds, tables=tables)
        return [*beside, *read_columns(log, self.tools, kinds, whole=False, is_one_column=is_one_column)]


def _stated_lines(unquoted: list[Line], text: list[Line], layouts: Sequence[Layout], source: str) -> list[Part]:
    """Read the tables whose lines are stated, and blank these lines. Restore the other lines of their paragraphs.

    ``text`` lacks lines that look like a patch; in a paragraph with a stated table, such lines may be rows.
    """
    parts = list[Part]()
    if sum(layout.lines is None for layout in layouts) > 1:
        raise ImportProblem("two layouts without lines are stated", where="--table", todo="state lines=FIRST-LAST")
    ranges = sorted(layout.lines for layout in layouts if layout.lines is not None)
    for before, after in pairwise(ranges):
        if after[0] <= before[1]:
            raise ImportProblem(f"line {after[0]} is stated twice", where="--table", todo="correct lines=FIRST-LAST")
    for layout in layouts:
        if layout.lines is None:
            continue
        first, last = layout.lines
        inside = [at for at, line in enumerate(unquoted) if first <= line.number <= last and line.text]
        if not inside:
            raise ImportProblem(f"lines {first}–{last} are empty", where=source, todo="correct lines=FIRST-LAST")
        begin, end = inside[0], inside[-1] + 1
        parts.append(stated.read(unquoted, begin, end, layout, source))
        start, stop = begin, end
        while start > 0 and unquoted[start - 1].text:
            start -= 1
        while stop < len(text) and unquoted[stop].text:
            stop += 1
        text[start:stop] = unquoted[start:stop]
        text[begin:end] = unquoted[begin:end] = list(map(lines.emptied, unquoted[begin:end]))
    return parts


def _refused(
    text: Sequence[Line], unquoted: Sequence[Line], unread: Sequence[PossibleTable], source: str
) -> NotResults:
    """Return the error for a text without a table that was read, with the layout to try for the first table."""
    if not unread:
        message = "is not output of a known tool, and has no table"
        todo = f"'schedlab import --help' lists the formats; state the layout of another table: {option()}"
        return NotResults(message, where=f"{source}:1", todo=todo)
    table = unread[0]
    # The first lines of the paragraph may belong to a patch, and are blank then.
    line = next((each for each in text[table.first : table.end] if each.text), text[table.first])
    more = f" (and {len(unread) - 1} more)" if len(unread) > 1 else ""
    is_csv = bool({",", ";"} & set(line.text))
    stated_option = proposed(unquoted, table.first, table.end, source) if is_csv else None
    return NotResults(
        f'the layout of this table is not known{more}: "{line.text.strip()[:80]}"',
        where=f"{source}:{line.number}",
        todo=f"state the layout: {stated_option or suggestion(table, unquoted, source)}"
        f"{'; samples as CSV: docs/importing.md' if is_csv else ''}",
    )
