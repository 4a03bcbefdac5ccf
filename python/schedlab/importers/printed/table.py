"""From an understood grid to the contract's table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from schedlab.importers.printed import directions
from schedlab.importers.printed import vocabulary as words
from schedlab.importers.printed.around import headings_of, unit_in, unit_said, unit_with_direction
from schedlab.importers.printed.benchmarks import Benchmark, benchmark, title_parameters
from schedlab.importers.printed.cells import cells_of
from schedlab.importers.printed.changes import baseline_of, without_doubtful
from schedlab.importers.printed.grid import Grid, GridRow, Layout, pivot_column, runs_are_rows, understood, ungrouped
from schedlab.importers.printed.header import unique
from schedlab.importers.printed.naming import Named, Parameters, name_row, unit_of
from schedlab.importers.printed.own import OwnTitle, own_title
from schedlab.importers.printed.tokens import Figure
from schedlab.results import Table, TableRow

_NAME = re.compile(r"[A-Za-z][\w.+-]{2,30}")

_NO_BENCHMARKS = frozenset({"comparison", "comparisons", "results", "result", "summary", "overview", "vmstat"})
"""Headings of MMTests' reports that name no benchmark."""


def to_table(grid: Grid, mmtests: bool) -> tuple[Table, list[str]]:
    """The table, and what a user should know of what was left out or decided."""
    if _is_run_together(grid.title, grid.names):
        grid = replace(grid, title="")
    printed = grid.names
    grid, notes = understood(grid)
    grid = ungrouped(grid)
    beside = [name for name in printed if name not in grid.names]
    # MMTests prints its changes in the cells; in a column beside them they are somebody else's.
    mmtests = mmtests and not any(words.GAIN_COLUMN.match(name.strip()) for name in beside)
    named = benchmark(grid.title)
    # MMTests prints its name of the benchmark above a table; one that is not known here is no other's.
    alone = grid.title.lower() if mmtests and not named and _NAME.fullmatch(grid.title) else ""
    alone = "" if alone in _NO_BENCHMARKS else alone
    own = own_title(grid.title) if mmtests else None
    if own is not None and named is None:
        alone = own.workload
    known = named or (None if alone else benchmark(headings_of(grid.around)))
    maker = _Maker(grid, known, title_parameters(grid.title, known) if known else {}, own)
    layout: Layout = "mmtests" if mmtests else "columns"
    if (place := pivot_column(grid)) is not None:
        columns, rows = maker.pivoted(place)
    elif not mmtests and (grid.names == ("",) or runs_are_rows(grid)):
        layout = "runs in rows"
        columns, rows, told = maker.turned()
        notes += told
    else:
        columns, rows = grid.names, [maker.row(row) for row in grid.rows]
    bare = any(not figure.change_percent for k in range(len(grid.names)) for figure in grid.column(k))
    baseline = baseline_of(rows)
    rows, doubts = without_doubtful(rows, baseline, bare)
    settled, gains, decided = directions.settle(
        rows, baseline, mmtests, any(words.PLAIN_CHANGE.search(name) for name in beside)
    )
    table = Table(
        layout=layout,
        title=grid.title,
        workload=known.name if known else alone,
        columns=tuple(columns),
        rows=tuple(_without_foreign_unit(row, known) for row in settled),
        line=grid.line,
        baseline=baseline,
        gains=gains,
    )
    return table, notes + doubts + decided


def _is_run_together(title: str, names: Sequence[str]) -> bool:
    """Whether a title is the ends of two columns' names without the space between: ``vanillashrinker-v1r1``."""
    if len(names) < 2 or " " in title:
        return False
    return any(names[-2].endswith(title[:k]) and names[-1].endswith(title[k:]) for k in range(3, len(title) - 2))


def _without_foreign_unit(row: TableRow, known: Benchmark | None) -> TableRow:
    """The row without its benchmark's unit if it turned out to be of another metric."""
    if known is None or row.unit != known.unit or known.direction in (None, row.direction):
        return row
    return row if words.SPREAD_OPERATION.match(row.operation) else replace(row, unit="")


@dataclass(frozen=True)
class _Maker:
    """Makes rows of one grid; ``fixed`` are the parameters that its title tells, ``own`` is one of schedlab's."""

    grid: Grid
    known: Benchmark | None
    fixed: Parameters
    own: OwnTitle | None = None

    def row(self, row: GridRow) -> TableRow:
        """A row as it is printed."""
        named = name_row(row.labels, self.grid.corners, self.known)
        if self.own is not None and (parameters := self.own.parameters(named.label)) is not None:
            named = replace(named, parameters=parameters)
        return self._finished(named, row.figures, row.line, " ".join(row.labels))

    def turned(self) -> tuple[Sequence[str], list[TableRow], list[str]]:
        """Runs in rows: each printed column becomes a row, each printed row a column."""
        grid = self.grid
        columns = unique([" ".join(filter(None, row.labels)).rstrip(":") for row in grid.rows])
        crashed = {k for k, row in enumerate(grid.rows) if _has_no_result(row, grid)}
        notes = [
            f"line {grid.rows[k].line}: {columns[k]} has nothing but zeros: a run that failed, taken as missing"
            for k in sorted(crashed)
        ]
        rows = []
        for k, name in enumerate(grid.names):
            figures = [row.figures[k] for row in grid.rows]
            for at in crashed:
                figure = figures[at]
                figures[at] = replace(figure, value=None) if figure else None
            row = self._finished(Named(name.strip() or "value", "", {}), figures, grid.line, name)
            if _is_share_of_first(figures):
                row = replace(row, unit="% of first")
                notes.append(f"line {grid.line}: {name} is in per cent of the first run's, not in its own unit")
            rows.append(row)
        return columns, rows, notes

    def pivoted(self, place: int) -> tuple[Sequence[str], list[TableRow]]:
        """A long table: the label at ``place`` names the run, the others the row."""
        grid = self.grid
        runs = list(dict.fromkeys(row.labels[place] for row in grid.rows))
        groups: dict[tuple[str, ...], dict[str, GridRow]] = {}
        for row in grid.rows:
            others = tuple(label for k, label in enumerate(row.labels) if k != place)
            groups.setdefault(others, {}).setdefault(row.labels[place], row)
        corners = tuple(corner for k, corner in enumerate(grid.corners) if k != place)
        rows = []
        for others, by_run in groups.items():
            for k, name in enumerate(grid.names):
                figures = [by_run[run].figures[k] if run in by_run else None for run in runs]
                named = name_row(others, corners, self.known)
                if len(grid.names) > 1 or not named.operation:
                    named = replace(named, operation=f"{named.operation} {name}".strip())
                line = min(row.line for row in by_run.values())
                rows.append(self._finished(named, figures, line, f"{' '.join(others)} {name}"))
        return runs, rows

    def _finished(self, named: Named, figures: Sequence[Figure | None], line: int, head: str) -> TableRow:
        unit, cells = cells_of(figures, self.grid.starred)
        grid, known = self.grid, self.known
        unit = unit or _shared_unit(grid.names)
        direction = directions.guess(named.operation, named.label, unit, grid.title, grid.around, known)
        title_agrees = known is not None and words.worded_direction(grid.title) in (None, known.direction)
        unit = unit or unit_of(named, head, title_agrees, known)
        unit = unit or unit_with_direction(grid.title) or unit_said(grid.around)
        if not unit and words.PERCENTILE.fullmatch(named.operation):
            unit = unit_in(grid.title)
        return TableRow(named.operation, named.label, {**self.fixed, **named.parameters}, unit, direction, cells, line)


def _shared_unit(names: Sequence[str]) -> str:
    """The unit that the names of several columns have in common: ``before (ops/sec)``, ``after (ops/sec)``."""
    found = {unit_in(name) for name in names}
    return found.pop() if len(found) == 1 and len(names) > 1 else ""


def _has_no_result(row: GridRow, grid: Grid) -> bool:
    """A run of bare zeros among runs with decimals: the benchmark's script had nothing to average."""
    if len(row.figures) < 2 or any(figure is None or figure.text != "0" for figure in row.figures):
        return False
    return any("." in figure.text for k in range(len(grid.names)) for figure in grid.column(k))


def _is_share_of_first(figures: Sequence[Figure | None]) -> bool:
    """Whether the first run is 100 % and all others are per cent, too."""
    first = figures[0]
    if first is None or first.value != 100 or len(figures) < 2:
        return False
    return all(figure is None or figure.value is None or figure.unit == "%" for figure in figures)
