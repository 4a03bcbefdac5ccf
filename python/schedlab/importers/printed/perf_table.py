"""Blocks of counters put side by side: what ran the same command is compared, each heading is a column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from schedlab.importers.printed.benchmarks import benchmark
from schedlab.importers.printed.header import unique
from schedlab.results import Cell, Direction, Table, TableRow

_LOWER = frozenset(
    (
        "elapsed",
        "user",
        "sys",
        "task-clock",
        "cpu-clock",
        "context-switches",
        "cpu-migrations",
        "page-faults",
        "cycles",
        "instructions",
        "branches",
        "branch-misses",
        "cache-references",
        "cache-misses",
    )
)
"""Of these less is better for one and the same work, as the adapter of ``perf stat`` has it."""


@dataclass(frozen=True)
class Event:
    """One counter: its name without modifiers taken off, its unit, figure and line."""

    name: str
    unit: str
    cell: Cell
    line: int


@dataclass(frozen=True)
class Block:
    """The counters printed under one heading for one command, over ``runs`` repeats where told.

    ``title`` is what stands above a block whose heading is in its own line.
    """

    heading: str
    command: str
    runs: int | None
    events: tuple[Event, ...]
    line: int
    title: str = ""


def tables_of(blocks: Sequence[Block]) -> list[Table]:
    """Neighbouring blocks of one command with an event in common are the columns of one table."""
    groups: list[list[Block]] = []
    for block in blocks:
        if groups and _belongs(groups[-1], block):
            groups[-1].append(block)
        else:
            groups.append([block])
    return [_table(group) for group in groups]


def _belongs(group: Sequence[Block], block: Block) -> bool:
    headings = {before.heading for before in group}
    if len(headings) > 1 and block.heading == group[0].heading:
        # The same columns once more are those of the next comparison.
        return False
    names = {event.name for event in group[0].events}
    return block.command == group[-1].command and any(event.name in names for event in block.events)


def _table(group: Sequence[Block]) -> Table:
    found: dict[tuple[str, int], dict[int, Event]] = {}
    for k, block in enumerate(group):
        times: Counter[str] = Counter()
        for event in block.events:
            times[event.name] += 1
            found.setdefault((event.name, times[event.name]), {})[k] = event
    # The same event twice under one heading is the whole measurement done twice.
    repeated = {name for name, time in found if time > 1}
    rows = tuple(
        _row({"run": time} if name in repeated else {}, [by_block.get(k) for k in range(len(group))])
        for (name, time), by_block in found.items()
    )
    command = group[0].command
    known = benchmark(command) or benchmark(group[0].title)
    columns = unique([block.heading or block.command or f"line {block.line}" for block in group])
    return Table("perf-stat", group[0].title or command, known.name if known else "", columns, rows, group[0].line)


def _row(parameters: dict[str, str | int | float], events: Sequence[Event | None]) -> TableRow:
    first = next(event for event in events if event is not None)
    cells = tuple(Cell(None) if event is None else event.cell for event in events)
    return TableRow(first.name, "", parameters, first.unit, _direction(first.name), cells, first.line)


def _direction(event: str) -> Direction | None:
    return "lower" if event.partition(":")[0] in _LOWER else None
