"""Reading of a text in which output of tools stands below headings: a column for each heading."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from schedlab.importers.checks import require_name, unique
from schedlab.importers.logs.headings import Division, Kinds, Level, Part, Stack, divide
from schedlab.importers.logs.series import ReadLog
from schedlab.results.imported import ImportProblem, Table
from schedlab.workloads.log_reader import Log, Reader, Reading

_LONGEST_LINE = 500
"""Longest line in characters that is tested with the patterns of the tools; a longer line is output."""
_MOST_NAMED = 12
"""Most headings that a note lists."""
_LEADING = r"results?|numbers|times|of|for"
"""Words that are left out at the beginning of a column's name."""

_WORD = re.compile(r"[^\W_]+")
_OF_TESTS = frozenset({"test", "benchmark", "results", "result", "with", "for", "of", "mode", "rr", "stream"})
"""Words of headings that name a test."""
_ENDS = ":,-– "
"""Characters that are left out at the ends of a shortened name."""
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


def unstated_output(log: Log, columns: Sequence[StatedColumn], tools: Sequence[Reader]) -> list[str]:
    """Return a note on the first run of a tool outside the lines of the stated columns; empty without such a run."""
    numbers = log.numbers or range(1, len(log.lines) + 1)
    is_first = kinds(tools).begins
    for at, (number, line) in enumerate(zip(numbers, map(str.strip, log.lines), strict=True)):
        if not any(column.first <= number <= column.last for column in columns) and is_first(at, line):
            return [f"{log.name}:{number}: left out: output of a tool in no stated column"]
    return []


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

    def is_command(text: str) -> bool:
        return any(tool.command is not None and tool.command.fullmatch(text) for tool in tools)

    return Kinds(lambda _, text: bool(printing(text)), begins, is_command)


def read_columns(
    log: Log, readers: Sequence[Reader], kinds: Kinds, *, whole: bool, is_one_column: bool = False
) -> list[ReadLog]:
    """Return the output of each reader in a text, with a column for each heading.

    Args:
        log: the text.
        readers: readers of the tools.
        kinds: classification of the lines.
        whole: without headings, the readers read the complete text; otherwise only the lines between the first and the
            last line of a tool.
        is_one_column: the user states that the output below all headings is one column.

    Raises:
        ImportProblem: a reader refuses its output, or text between two runs may be a heading or prose.
    """
    try:
        division = divide(log, kinds)
    except ImportProblem:
        if not is_one_column:
            raise
        division = Division([], ())
    notes = [
        f'{log.at(line.at + 1)}: "{line.text[:60]}" only counts or dates runs, which stay in one column'
        for line in division.counting[:1]
    ]
    if len(division.parts) < 2 or is_one_column:
        headed = [part.heading for part in division.parts if part.heading is not None]
        if len(headed) > 1:
            lines = ", ".join(f'"{line.text[:60]}"' for line in headed[:_MOST_NAMED])
            notes.append(f"{log.name}: the runs below all headings are one column, as --name states: {lines}")
        text = log if whole or len(division.parts) != 1 else _below(log, division.parts[0].lines)
        return [_read(reader, text, notes) for reader in readers]
    logs = {part.stack: list(_read_part(log, part, readers)) for part in division.parts}
    names = _names(log, [reader.name for reader in readers], {stack: _rows(each) for stack, each in logs.items()})
    notes.insert(0, _heading_note(log, division.parts, names))
    return [
        _in_column(each, names[stack], notes if number == 0 else ())
        for stack, of_part in logs.items()
        for number, each in enumerate(of_part)
    ]


def _read(reader: Reader, log: Log, notes: Iterable[str] = ()) -> ReadLog:
    reading = reader.read(log)
    return ReadLog(reader.name, log.name, log.column, replace(reading, notes=[*notes, *reading.notes]))


def _below(log: Log, ranges: Sequence[range]) -> Log:
    """Return the lines in the ranges of indices as a log with the numbers of the lines in the source."""
    lines, numbers = list[str](), list[int]()
    places = deque(sorted(ranges, key=lambda each: each.start))
    for at, line in enumerate(log.lines):
        while places and at >= places[0].stop:
            places.popleft()
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

    Levels that only name the test are left out if then no two runs of a column have a row in common, and so are such
    words if this joins columns. If no level is left, all runs belong to the column of the file.
    """
    short = {stack: stack for stack in rows}
    for without in (_without_levels, _without_words):
        shorter = {stack: without(stack, _known_words(own, tools)) for stack, own in rows.items()}
        is_useful = without is _without_levels or len(set(shorter.values())) < len(set(short.values()))
        is_consistent = not any(shorter.values()) or all(shorter[stack] for stack in rows if stack)
        if is_useful and is_consistent and _are_disjoint([(shorter[stack], own) for stack, own in rows.items()]):
            short = shorter
    kept = list(dict.fromkeys(short.values()))
    times = Counter(level for stack in kept for level in dict.fromkeys(stack))
    own_levels = [[level for level in stack if times[level] == 1] for stack in kept]
    count = max(min(map(len, own_levels)), 1)
    leading = re.compile(rf"(?:(?:{'|'.join(map(re.escape, tools))}|{_LEADING})\b[\s:,-]*)+(?=\w)", re.IGNORECASE)
    names = []
    for stack, own in zip(kept, own_levels, strict=True):
        levels = own[-count:] or [level for level in stack if times[level] < len(kept)]
        name = ", ".join(level.name for level in levels)
        names.append((leading.sub("", name, count=1) if leading.match(name) else name) or log.column)
    columns = [name if log.alone or name == log.column else f"{log.column}: {name}" for name in unique(names)]
    by_kept = dict(zip(kept, columns, strict=True))
    return {stack: by_kept[short[stack]] for stack in rows}


def _known_words(rows: _Rows, tools: Sequence[str]) -> set[str]:
    """Return the words that only name the test of the rows: tools, workloads, parameters and their values."""
    known = {word for row in rows for text in row for word in _WORD.findall(text.casefold())}
    return known | {word for tool in tools for word in _WORD.findall(tool)} | _OF_TESTS


def _without_levels(stack: Stack, known: set[str]) -> Stack:
    """Return the levels that have a word that is not known."""
    return tuple(level for level in stack if not set(_WORD.findall(level.key)) <= known)


def _without_words(stack: Stack, known: set[str]) -> Stack:
    """Return the levels without known words; a version such as ``6.12`` is never a known word."""
    levels = []
    for level in stack:
        kept = [
            word
            for word in level.name.split()
            if re.search(r"\d\.\d", word) or not set(_WORD.findall(word.casefold())) <= known
        ]
        name = " ".join(kept).strip(_ENDS)
        levels += [Level(name.casefold(), name)] if name else []
    return tuple(levels)


def _are_disjoint(parts: Sequence[tuple[Stack, _Rows]]) -> bool:
    """Return whether no two parts with the same stack have a row in common."""
    seen: dict[Stack, _Rows] = {}
    for stack, own in parts:
        outer = seen.setdefault(stack, set())
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
