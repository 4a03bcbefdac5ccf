"""Reader of kernbench, SDET and NUMA schedbench tables as in report 001: one run per row, metrics in the header.

    NUMA schedbench 8:
    AvgUser Elapsed TotalUser TotalSys
    2.5.59 0.00 49.30 247.80 1.93
    2.5.59-sched4-2 0 0 0 0

The reader transposes the table: runs become columns. A run whose figures are all zero failed; its cells are missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schedlab.importers.checks import unique
from schedlab.importers.printed.lines import Line, Part, malformed, title_above
from schedlab.results.imported import Cell, Table, TableRow
from schedlab.results.metrics import Direction

LAYOUT = "runs in rows"

_ROW = re.compile(r"\s*(?P<run>\S.*?)(?P<figures>(?:\s+-?\d+(?:\.\d+)?%?)+)\s*\Z")
_FIGURE_OR_ITS_BEGINNING = re.compile(r"-?\d+(?:\.\d+)?%?|\d+\.")
_SECONDS: tuple[str, Direction | None] = ("s", "lower")
_UNITS: dict[str, tuple[str, Direction | None]] = {"CPU": ("%", None)}
_LONGEST = 200


@dataclass(frozen=True)
class _Grammar:
    """Format of a benchmark's table. The pattern ``title`` extracts the value of ``parameter`` from the title."""

    name: str
    parameter: str
    title: str
    figures: int
    percent: bool = False

    def row(self, line: Line) -> tuple[str, list[str]] | None:
        """Return the run and the figures of a row; None for other lines. A name may end with a number."""
        match = _ROW.match(line.text) if len(line.text) <= _LONGEST else None
        words = match["figures"].split() if match else []
        figures = words[-self.figures :]
        if match is None or len(figures) < self.figures or any(("%" in text) != self.percent for text in figures):
            return None
        return " ".join([match["run"].rstrip(), *words[: -self.figures]]), figures


_GRAMMARS = {
    "Elapsed User System CPU": _Grammar("kernbench", "jobs_per_cpu", r"Kernbench-(\d+):", 4),
    "Throughput Std. Dev": _Grammar("sdet", "scripts", r"SDET (\d+)\b", 2, percent=True),
    "AvgUser Elapsed TotalUser TotalSys": _Grammar("schedbench", "processes", r"NUMA schedbench (\d+):", 4),
}


def read(lines: Sequence[Line], at: int, floor: int, source: str) -> Part | None:
    """Return the table whose header is ``lines[at]``; None if the line is not a header of these benchmarks."""
    text = lines[at].text
    header = " ".join(text.split()) if len(text) <= _LONGEST else ""
    if header not in _GRAMMARS:
        return None
    grammar, number = _GRAMMARS[header], lines[at].number
    title = title_above(lines, at, floor)
    rows, end = list[tuple[int, str, list[str]]](), at + 1
    while end < len(lines) and (row := grammar.row(lines[end])) is not None:
        rows.append((lines[end].number, *row))
        end += 1
    if not rows:
        return Part(at + 1, notes=(f'line {number}: the table "{title}" has no rows',))
    if end < len(lines) and _is_broken(lines, end, grammar):
        raise malformed(source, lines[end], f"expected the name of a run and the figures {header}")
    value = re.match(grammar.title, title)
    parameters = {grammar.parameter: int(value[1])} if value else {}
    made, notes = (_shares if grammar.percent else _metrics)(header.split(), rows, parameters, number)
    return Part(end, (Table(LAYOUT, title, grammar.name, unique([run for _, run, _ in rows]), made, number),), notes)


def _is_broken(lines: Sequence[Line], at: int, grammar: _Grammar) -> bool:
    """Whether the line after the rows is a damaged row: the line has a figure, or a row follows the line."""
    words = lines[at].text.split()
    if any(map(_FIGURE_OR_ITS_BEGINNING.fullmatch, words)):
        return True
    return bool(words) and at + 1 < len(lines) and grammar.row(lines[at + 1]) is not None


def _metrics(
    header: Sequence[str], runs: Sequence[tuple[int, str, list[str]]], parameters: Mapping[str, int], line: int
) -> tuple[tuple[TableRow, ...], tuple[str, ...]]:
    """Return a row for each metric of the header, and notes on runs that failed."""
    failed = [set(figures) == {"0"} for _, _, figures in runs]
    rows = []
    for k, metric in enumerate(header):
        unit, direction = _UNITS.get(metric, _SECONDS)
        texts = [figures[k] for _, _, figures in runs]
        cells = [Cell(None if bad else float(text), text) for text, bad in zip(texts, failed, strict=True)]
        rows.append(TableRow(metric, "", parameters, unit, direction, tuple(cells), line))
    return tuple(rows), tuple(
        f"line {number}: all figures of {run} are 0, so the run failed and its values are missing"
        for (number, run, _), bad in zip(runs, failed, strict=True)
        if bad
    )


def _shares(
    _header: Sequence[str], runs: Sequence[tuple[int, str, list[str]]], parameters: Mapping[str, int], line: int
) -> tuple[tuple[TableRow, ...], tuple[str, ...]]:
    """Return the row of throughputs with their deviations, and a note if the throughputs are relative to the first
    run."""
    percents = [[figure.rstrip("%") for figure in figures] for _, _, figures in runs]
    cells = tuple(
        Cell(float(mean), mean, spread_percent=float(deviation), spread_kind="standard deviation")
        for mean, deviation in percents
    )
    relative = percents[0][0] == "100.0"
    row = TableRow("Throughput", "", parameters, "% of first" if relative else "%", "higher", cells, line)
    note = f"line {line}: Throughput is in per cent of the first run, without a unit"
    return (row,), (note,) if relative else ()
