"""Reading of a text in which output of tools stands below headings: a column for each heading."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise

from schedlab.importers.checks import require_name, unique
from schedlab.importers.logs.headings import Kinds, Part, Stack, divide
from schedlab.importers.logs.series import ReadLog
from schedlab.results.imported import ImportProblem, Table
from schedlab.workloads.log_reader import Log, Reader, Reading

_LONGEST_LINE = 500
"""Longest line in characters that is tested with the patterns of the tools; a longer line is output."""
_MOST_NAMED = 12
"""Most headings that a note lists."""
_LEADING = r"results?|numbers|times|of|for"
"""Words that are left out at the beginning of a column's name."""

_STATED = re.compile(r"(?P<name>.+)=(?P<first>[1-9]\d{0,8})-(?P<last>[1-9]\d{0,8})")


@dataclass(frozen=True)
class StatedColumn:
    """A column that the user states: its name, and its first and last line in the file, from 1."""

    name: str
    first: int
    last: int

    def of(self, log: Log) -> Log:
        """Return the lines of the column as a log."""
        numbers = log.numbers or range(1, len(log.lines) + 1)
        first, end = (bisect_left(numbers, number) for number in (self.first, self.last + 1))
        return _below(log, [range(first, end)])


def stated_columns(texts: Sequence[str]) -> list[StatedColumn]:
    """Return the columns of ``--column NAME=FIRST-LAST``; ImportProblem for other text or a line in two columns."""
    todo = "--column NAME=FIRST-LAST, once for each part of a column"
    columns = []
    for text in texts:
        match = _STATED.fullmatch(text)
        if match is None or int(match["first"]) > int(match["last"]):
            raise ImportProblem(f"{text!r} is not NAME=FIRST-LAST", where="--column", todo=todo)
        require_name(match["name"], "--column")
        columns.append(StatedColumn(match["name"], int(match["first"]), int(match["last"])))
    ranges = sorted((column.first, column.last) for column in columns)
    for (_, last), (first, _) in pairwise(ranges):
        if first <= last:
            raise ImportProblem(f"line {first} is stated twice", where="--column", todo=todo)
    return columns


_Rows = set[tuple[str, ...]]
"""Rows of a part: workload, metric and parameters of samples, and the same of printed tables."""


def kinds(tools: Sequence[Reader]) -> Kinds:
    """Classify the lines of a text with output of ``tools``."""

    def printing(text: str) -> list[Reader]:
        if len(text) > _LONGEST_LINE:
            return list(tools)
        return [tool for tool in tools if tool.line is not None and tool.line(text)] if text else []

    def begins(_: int, text: str) -> bool:
        return any(tool.begins is None or tool.begins.fullmatch(text) for tool in printing(text))

    def command(text: str) -> str | None:
        tool = next((tool for tool in tools if tool.command is not None and tool.command.fullmatch(text)), None)
        return None if tool is None else re.sub(r"\S*\Z", "", text.partition(tool.name)[0]).strip("$#+> ")

    return Kinds(lambda _, text: bool(printing(text)), begins, command)


def read_columns(log: Log, readers: Sequence[Reader], kinds: Kinds, *, whole: bool) -> list[ReadLog]:
    """Return the output of each reader in a text, with a column for each heading.

    ``whole``: without headings, the readers read the complete text; otherwise only the lines between the first and the
    last line of a tool.

    Raises:
        ImportProblem: a reader refuses its output, or text between two runs may be a heading or prose.
    """
    division = divide(log, kinds)
    counting = [
        f'{log.at(line.at + 1)}: "{line.text[:60]}" only counts or dates runs, which stay in one column'
        for line in division.counting[:1]
    ]
    if len(division.parts) < 2:
        text = log if whole or not division.parts else _below(log, division.parts[0].lines)
        return [_read(reader, text, counting) for reader in readers]
    logs = {part.stack: list(_read_part(log, part, readers)) for part in division.parts}
    names = _names(log, [reader.name for reader in readers], {stack: _rows(each) for stack, each in logs.items()})
    notes = [_heading_note(log, division.parts, names), *counting]
    return [
        _in_column(each, names[stack], notes if number == 0 else ())
        for stack, of_part in logs.items()
        for number, each in enumerate(of_part)
    ]


def read_one_column(log: Log, readers: Sequence[Reader], kinds: Kinds) -> list[ReadLog]:
    """Return the output of each reader in a text that the user states to be one column, with a note on its headings."""
    notes: list[str] = []
    with suppress(ImportProblem):
        headed = [part.heading for part in divide(log, kinds).parts if part.heading is not None]
        if len(headed) > 1:
            names = ", ".join(f'"{line.text[:60]}"' for line in headed[:_MOST_NAMED])
            notes = [f"{log.name}: the runs below all headings are one column, as --name states: {names}"]
    return [_read(reader, log, notes) for reader in readers]


def _read(reader: Reader, log: Log, notes: Iterable[str] = ()) -> ReadLog:
    reading = reader.read(log)
    return ReadLog(reader.name, log.name, log.column, replace(reading, notes=[*notes, *reading.notes]))


def _below(log: Log, ranges: Sequence[range]) -> Log:
    """Return the lines in the ranges of indices as a log with the numbers of the lines in the source."""
    lines, numbers = list[str](), list[int]()
    places = sorted(ranges, key=lambda each: each.start)
    for at, line in enumerate(log.lines):
        while places and at >= places[0].stop:
            places.pop(0)
        if places and at in places[0]:
            lines.append(line)
            numbers.append(log.numbers[at] if log.numbers else at + 1)
    return replace(log, text="".join(f"{line}\n" for line in lines), numbers=numbers, alone=False, mixed=True)


def _read_part(log: Log, part: Part, readers: Sequence[Reader]) -> Iterator[ReadLog]:
    """Yield the output of each reader in a part. Output below one heading alone may be cut off, which is refused."""
    text = _below(log, part.lines)
    present = [reader for reader in readers if reader.is_in(text.text)]
    yield from (_read(reader, text) for reader in present or readers[:1])


def _rows(logs: Sequence[ReadLog]) -> _Rows:
    """Return the rows of the logs of one part."""
    rows: _Rows = set()
    for log in logs:
        for part in log.reading.samples:
            parameters = json.dumps(dict(part.parameters), sort_keys=True)
            rows.add((part.workload, part.metric.name, parameters, part.column))
        for table in log.reading.tables:
            rows |= {
                (table.workload, row.operation, row.label, json.dumps(dict(row.parameters), sort_keys=True))
                for row in table.rows
            }
    return rows


def _names(log: Log, tools: Sequence[str], rows: dict[Stack, _Rows]) -> dict[Stack, str]:
    """Return the column of each stack of headings.

    Inner levels that only name the test are left out: their runs have no row in common. If no two runs of the text have
    a row in common, all belong to the column of the file.
    """
    depth = max(map(len, rows))
    level = next((level for level in range(depth) if _are_disjoint(rows, level)), depth)
    if level == 0:
        return dict.fromkeys(rows, log.column)
    groups: dict[Stack, list[Stack]] = {}
    for stack in rows:
        groups.setdefault(stack[:level], []).append(stack)
    times = Counter(line for stack in rows for line in dict.fromkeys(stack))
    names = []
    for prefix, stacks in groups.items():
        headings = stacks[0] if len(stacks) == 1 else prefix
        own = [line for line in headings if times[line] <= len(stacks)]
        shared_by_some = [line for line in headings if times[line] < len(rows)]
        names.append(own[-1] if own else " ".join(shared_by_some or headings))
    leading = re.compile(rf"(?:(?:{'|'.join(map(re.escape, tools))}|{_LEADING})\b[\s:,-]*)+(?=\w)", re.IGNORECASE)
    short = unique([leading.sub("", name, count=1) if leading.match(name) else name for name in names])
    columns = [name if log.alone or name == log.column else f"{log.column}: {name}" for name in short]
    return {stack: column for stacks, column in zip(groups.values(), columns, strict=True) for stack in stacks}


def _are_disjoint(rows: dict[Stack, _Rows], level: int) -> bool:
    """Return whether no two stacks with the same outer levels have a row in common."""
    seen: dict[Stack, _Rows] = {}
    for stack, own in rows.items():
        outer = seen.setdefault(stack[:level], set())
        if outer & own:
            return False
        outer |= own
    return True


def _in_column(log: ReadLog, column: str, notes: Iterable[str]) -> ReadLog:
    """Return the log in this column, with further notes."""

    def moved(table: Table) -> Table:
        return replace(table, columns=tuple(column if name == log.column else name for name in table.columns))

    reading = log.reading
    return replace(
        log,
        column=column,
        reading=Reading(reading.samples, list(map(moved, reading.tables)), [*notes, *reading.notes]),
    )


def _heading_note(log: Log, parts: Sequence[Part], names: Mapping[Stack, str]) -> str:
    """Return a note on the lines that are the headings of the columns."""
    headed = [(part.heading, names[part.stack]) for part in parts if part.heading is not None]
    shown = [
        f'{log.at(line.at + 1).removeprefix(f"{log.name}:")} "{line.text[:60]}" → {name}'
        for line, name in headed[:_MOST_NAMED]
    ]
    more = f", and {len(headed) - _MOST_NAMED} more" if len(headed) > _MOST_NAMED else ""
    above = [f"; runs above the first heading → {names[part.stack]}" for part in parts if part.heading is None]
    return f"{log.name}: headings of the columns: line {', line '.join(shown)}{more}{''.join(above)}"
