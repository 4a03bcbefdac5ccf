"""kernbench, SDET and NUMA schedbench as report 001 prints them: a run in each row, metrics in the header.

    NUMA schedbench 8:
    AvgUser Elapsed TotalUser TotalSys
    2.5.59 0.00 49.30 247.80 1.93
    2.5.59-sched4-2 0 0 0 0

The table is turned: runs become columns. A run of bare zeros failed, and its cells are missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from schedlab.importers.printed.lines import Line, Part, malformed, title_above, unique
from schedlab.kinds import Direction
from schedlab.results import Cell, Table, TableRow

LAYOUT = "runs in rows"

_FIGURE = r"-?\d+(?:\.\d+)?"
_PERCENT = rf"{_FIGURE}%"


@dataclass(frozen=True)
class _Grammar:
    """A table by its header. ``name`` and ``parameter`` of the benchmark, ``title`` with the parameter's value."""

    header: str
    name: str
    parameter: str
    title: re.Pattern[str]
    row: re.Pattern[str]


def _row_pattern(figure: str, count: int) -> re.Pattern[str]:
    return re.compile(rf"\s*(?P<run>\S.*?)(?P<figures>(?:\s+{figure}){{{count}}})\s*\Z")


_GRAMMARS = {
    grammar.header: grammar
    for grammar in (
        _Grammar(
            "Elapsed User System CPU",
            "kernbench",
            "jobs_per_cpu",
            re.compile(r"Kernbench-(\d+):"),
            _row_pattern(_FIGURE, 4),
        ),
        _Grammar(
            "Throughput Std. Dev",
            "sdet",
            "scripts",
            re.compile(r"SDET (\d+)\b"),
            _row_pattern(_PERCENT, 2),
        ),
        _Grammar(
            "AvgUser Elapsed TotalUser TotalSys",
            "schedbench",
            "processes",
            re.compile(r"NUMA schedbench (\d+):"),
            _row_pattern(_FIGURE, 4),
        ),
    )
}
_UNITS = {"CPU": "%"}
_LONGEST = 200


def read(lines: Sequence[Line], at: int, floor: int, source: str) -> Part | None:
    """Return the table whose header is ``lines[at]``; None if it is not a header of these benchmarks."""
    text = lines[at].text
    grammar = _GRAMMARS.get(" ".join(text.split())) if len(text) <= _LONGEST else None
    if grammar is None:
        return None
    title = title_above(lines, at, floor)
    rows, end = list[tuple[int, str, list[str]]](), at + 1
    for end in range(at + 1, len(lines) + 1):
        text = lines[end].text if end < len(lines) else ""
        match = grammar.row.match(text) if len(text) <= _LONGEST else None
        if match is None:
            break
        rows.append((lines[end].number, match["run"].rstrip(), match["figures"].split()))
    if rows and end < len(lines) and _is_broken(lines, end, grammar):
        raise malformed(source, lines[end], f"it is not a run and the figures {grammar.header}")
    if not rows:
        return Part(at + 1, notes=(f'line {lines[at].number}: the table "{title}" has no rows',))
    value = grammar.title.match(title)
    parameters: dict[str, str | int | float] = {grammar.parameter: int(value[1])} if value else {}
    return _table(grammar, rows, title, parameters, lines[at].number, end)


def _is_broken(lines: Sequence[Line], at: int, grammar: _Grammar) -> bool:
    """Whether the line that ends the rows is a damaged row: it has a figure, or a row follows it."""
    if not lines[at].text:
        return False
    if any(re.fullmatch(rf"{_FIGURE}%?|\d+\.", word) for word in lines[at].text.split()):
        return True
    return at + 1 < len(lines) and grammar.row.match(lines[at + 1].text) is not None


def _table(
    grammar: _Grammar,
    rows: Sequence[tuple[int, str, list[str]]],
    title: str,
    parameters: dict[str, str | int | float],
    line: int,
    end: int,
) -> Part:
    columns = unique([run for _, run, _ in rows])
    notes: list[str] = []
    if grammar.name == "sdet":
        cells = tuple(
            Cell(
                float(mean.rstrip("%")),
                mean.rstrip("%"),
                spread_percent=float(deviation.rstrip("%")),
                spread_kind="standard deviation",
            )
            for _, _, (mean, deviation) in rows
        )
        shares = rows[0][2][0] == "100.0%"
        unit = "% of first" if shares else "%"
        made = [TableRow("Throughput", "", parameters, unit, "higher", cells, line)]
        if shares:
            notes.append(f"line {line}: Throughput is in per cent of the first run's, not in its own unit")
    else:
        failed = [set(figures) == {"0"} for _, _, figures in rows]
        notes += [
            f"line {number}: {run} has nothing but zeros: a run that failed, taken as missing"
            for (number, run, _), bad in zip(rows, failed, strict=True)
            if bad
        ]
        made = []
        for k, metric in enumerate(grammar.header.split()):
            cells = tuple(
                Cell(None, figures[k]) if bad else Cell(float(figures[k]), figures[k])
                for (_, _, figures), bad in zip(rows, failed, strict=True)
            )
            direction: Direction | None = None if metric == "CPU" else "lower"
            made.append(TableRow(metric, "", parameters, _UNITS.get(metric, "s"), direction, cells, line))
    return Part(end, (Table(LAYOUT, title, grammar.name, columns, tuple(made), line),), tuple(notes))
