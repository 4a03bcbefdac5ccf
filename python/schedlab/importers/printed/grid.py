"""A table as its source lays it out, before anybody knows what its columns mean; and what they mean.

A column may name the row, hold results, or say something of the results beside it (``%diff``, ``Std. Dev``). A row may
be a metric with the compared runs as columns, or a run with its metrics as columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal

from schedlab.importers.printed import vocabulary as words
from schedlab.importers.printed.header import LEVELS, unique
from schedlab.importers.printed.tokens import MISSING_WORDS, Figure
from schedlab.results import Spread

_RELATIVE = re.compile(r"\((?:cv|rsd|cov|%\s*std\w*|std\w*\s*%)\)", re.IGNORECASE)
_NAMED_SPREAD = re.compile(r"\s*\((?:cv|rsd|cov|sd|σ|%?\s*std\.?\s?(?:dev\.?)?\s*%?)\)\Z", re.IGNORECASE)
_REPEATS = frozenset({"n", "runs", "samples"})
Layout = Literal["mmtests", "columns", "runs in rows"]


@dataclass(frozen=True)
class GridRow:
    """One row: what names it, and one figure a column, None where nothing is printed."""

    line: int
    labels: tuple[str, ...]
    figures: tuple[Figure | None, ...]


@dataclass(frozen=True)
class Grid:
    """Rows of ``len(names)`` figures; ``corners`` name the columns of labels, as far as the header does.

    ``title`` is what stands above, ``around`` more of the text there (where units and directions may be told), ``line``
    where the table begins.
    """

    corners: tuple[str, ...]
    names: tuple[str, ...]
    rows: tuple[GridRow, ...]
    title: str
    around: str
    line: int

    @cached_property
    def starred(self) -> bool:
        """Whether any change is marked significant; without one nobody knows whether marks were meant."""
        return any(figure is not None and figure.star for row in self.rows for figure in row.figures)

    def column(self, k: int) -> list[Figure]:
        """The figures of a column, without those that are not printed."""
        return [figure for row in self.rows if (figure := row.figures[k]) is not None]


def understood(grid: Grid) -> tuple[Grid, list[str]]:
    """The grid with only results as columns: parameters moved to the labels, changes and spreads into the figures."""
    return _folded(_with_repeats(_with_relative_spreads(_with_named_spreads(_parameters_to_labels(grid)))))


def ungrouped(grid: Grid) -> Grid:
    """Columns in groups are compared group with group: a row for each of the names that all groups have."""
    parts = [name.split(LEVELS) for name in grid.names]
    groups = tuple(dict.fromkeys(part[0] for part in parts))
    inner = tuple(dict.fromkeys(part[-1] for part in parts))
    if any(len(part) != 2 for part in parts) or parts != [[group, name] for group in groups for name in inner]:
        return replace(grid, names=tuple(name.replace(LEVELS, " ") for name in grid.names))
    rows = tuple(
        replace(row, labels=(*row.labels, name), figures=row.figures[k :: len(inner)])
        for k, name in enumerate(inner)
        for row in grid.rows
    )
    return replace(grid, names=groups, rows=rows)


def _with_named_spreads(grid: Grid) -> Grid:
    """Per cent in parentheses are spreads, not changes, under a name that says so (``patched (std)``)."""
    named = [_NAMED_SPREAD.search(name) is not None for name in grid.names]
    if not all(_may_be_spreads(grid.column(k)) for k, of_name in enumerate(named) if of_name):
        return grid
    if not any(named):
        return grid
    rows = [
        replace(
            row,
            figures=tuple(
                _change_as_spread(figure) if figure is not None and of_name else figure
                for figure, of_name in zip(row.figures, named, strict=True)
            ),
        )
        for row in grid.rows
    ]
    names = [_NAMED_SPREAD.sub("", name) if of_name else name for name, of_name in zip(grid.names, named, strict=True)]
    return replace(grid, names=unique(names), rows=tuple(rows))


def _may_be_spreads(figures: Sequence[Figure]) -> bool:
    """Whether what stands in parentheses is never signed, as a spread is not."""
    return any(figure.change is not None for figure in figures) and all(
        figure.spread is None and not figure.star and not figure.change_text.startswith(("-", "+"))
        for figure in figures
    )


def _change_as_spread(figure: Figure) -> Figure:
    spread = figure.change
    return replace(
        figure,
        change=None,
        change_text="",
        star=None,
        spread=spread,
        spread_percent=spread is not None,
        spread_kind="standard deviation" if spread is not None else "",
    )


def _with_relative_spreads(grid: Grid) -> Grid:
    """Spreads in parentheses are per cent where the column's name says so (``tip (CV)``)."""
    relative = [_RELATIVE.search(name) is not None for name in grid.names]
    if not any(relative):
        return grid
    rows = [
        replace(
            row,
            figures=tuple(
                replace(figure, spread_percent=True, spread_kind="standard deviation")
                if figure is not None and figure.spread is not None and of_name
                else figure
                for figure, of_name in zip(row.figures, relative, strict=True)
            ),
        )
        for row in grid.rows
    ]
    return replace(grid, rows=tuple(rows))


def _with_repeats(grid: Grid) -> Grid:
    """A column of numbers of repeats beside one of spreads goes into the figures (``N  Min  Max  Avg  Stddev``)."""
    counts = [k for k, name in enumerate(grid.names) if name.strip().lower() in _REPEATS]
    spreads = any(words.SPREAD_COLUMN.match(name.strip()) for name in grid.names)
    if len(counts) != 1 or not spreads or not all(_is_whole(figure) for figure in grid.column(counts[0])):
        return grid
    (k,) = counts
    rows = []
    for row in grid.rows:
        figures, count = list(row.figures), row.figures[k]
        repeats = int(count.value) if count is not None and count.value is not None else None
        figures = [None if figure is None else replace(figure, repeats=repeats) for figure in figures]
        rows.append(replace(row, figures=tuple(figures[:k] + figures[k + 1 :])))
    return replace(grid, names=grid.names[:k] + grid.names[k + 1 :], rows=tuple(rows))


def _parameters_to_labels(grid: Grid) -> Grid:
    """A leading column that tells rows apart (``threads``, or the only thing that can) becomes a label."""
    while len(grid.names) > 1:
        nameless = len(grid.rows) > 1 and not any(any(row.labels) for row in grid.rows)
        if not nameless and not words.PARAMETER.match(grid.names[0]) and not _counts_rows(grid):
            return grid
        if not nameless and not all(_is_whole(figure) for figure in grid.column(0)):
            return grid
        corners = () if nameless else grid.corners
        rows = []
        for row in grid.rows:
            first = row.figures[0]
            text = "" if first is None else first.text + ("" if first.unit == "" else first.unit)
            rows.append(GridRow(row.line, (*(() if nameless else row.labels), text), row.figures[1:]))
        width = max(len(row.labels) for row in rows) - 1
        padded = (*corners, *[""] * (width - len(corners)))
        grid = replace(grid, corners=(*padded[:width], grid.names[0]), names=grid.names[1:], rows=tuple(rows))
    return grid


def _counts_rows(grid: Grid) -> bool:
    """Whether the first column is a ``count`` that rises from row to row beside what was measured for each."""
    numbers = [figure.value for figure in grid.column(0) if figure.value is not None]
    rising = len(numbers) == len(grid.rows) > 1 and all(a < b for a, b in pairwise(numbers))
    return rising and grid.names[0].strip().lower() == "count" and not any(map(_is_metric, grid.names[1:]))


def _is_whole(figure: Figure) -> bool:
    """Whether a figure may count something (clients, bytes): a whole number without a change."""
    return figure.value is not None and not figure.marked and "." not in figure.text


def _folded(grid: Grid) -> tuple[Grid, list[str]]:
    """Columns that only say something of others go into those; what follows from them is left out, and said."""
    owners: dict[int, int] = {}
    kept: list[int] = []
    dropped, notes = set[int](), list[str]()
    for k, name in enumerate(grid.names):
        figures = grid.column(k)
        if not kept:
            kept.append(k)
        elif _holds_changes(name, figures) or _follow(grid, k, kept):
            ahead = len(kept) == 1 and not owners and not _is_metric(grid.names[k - 1]) and _is_followed(grid, k)
            owners[k] = k + 1 if ahead else _owner(name, grid, kept)
        elif words.SPREAD_COLUMN.match(name.strip()) and not any(f.marked or f.spread is not None for f in figures):
            owners[k] = next((o for o in kept if grid.names[o].lower() in ("mean", "avg", "average")), kept[-1])
        elif words.GAIN_COLUMN.match(name.strip()) and _are_differences(grid, k, kept):
            dropped.add(k)
            notes.append(f'line {grid.line}: column "{name}" left out, it is the difference of the columns before it')
        else:
            kept.append(k)
    if len(kept) == 1 and len(owners) > 1 and not any(figure.value is not None for figure in grid.column(kept[0])):
        return grid, []
    rows = []
    for row in grid.rows:
        figures_of = list(row.figures)
        for k, owner in owners.items():
            figures_of[owner] = _with(figures_of[owner], row.figures[k], grid.names[k])
        rows.append(replace(row, figures=tuple(figures_of[k] for k in kept)))
    return replace(grid, names=unique([grid.names[k] for k in kept]), rows=tuple(rows)), notes


def _holds_changes(name: str, figures: Sequence[Figure]) -> bool:
    printed = [figure for figure in figures if figure.value is not None]
    if not printed or any(figure.marked for figure in printed):
        return False
    percent = sum(figure.percent for figure in printed) >= len(printed) * 0.9
    if not name.strip():
        return percent
    named = words.GAIN_COLUMN.match(name.strip()) is not None
    return named and (percent or "%" in name or "perc" in name.lower() or "pct" in name.lower())


def _is_followed(grid: Grid, k: int) -> bool:
    """Whether the column behind is one of results: ``base  change  patched``, as the 0-day service has it."""
    if k + 1 >= len(grid.names):
        return False
    return not _holds_changes(grid.names[k + 1], grid.column(k + 1)) and not words.SPREAD_COLUMN.match(
        grid.names[k + 1]
    )


def _owner(name: str, grid: Grid, kept: Sequence[int]) -> int:
    """Which column a column of changes is about: the one whose first word it has, else the one before it."""
    first = name.split()[:1]
    same = [k for k in kept if first and grid.names[k].split()[:1] == first]
    return same[-1] if same and not words.GAIN_COLUMN.match(first[0]) else kept[-1]


def _follow(grid: Grid, k: int, kept: Sequence[int]) -> bool:
    """Whether percentages are the changes of the column before over the first one, whatever they are called."""
    figures = grid.column(k)
    if len(kept) < 2 or not figures or not all(figure.percent or figure.value is None for figure in figures):
        return False
    right = total = 0
    for row in grid.rows:
        base, last, own = row.figures[kept[0]], row.figures[kept[-1]], row.figures[k]
        if base is None or last is None or own is None or not base.value or last.value is None or own.value is None:
            continue
        change = 100 * last.value / base.value - 100
        total += 1
        right += abs(abs(change) - abs(own.value)) <= 0.1 + abs(change) / 100
    return total > 0 and right >= total * 0.75


def _are_differences(grid: Grid, k: int, kept: Sequence[int]) -> bool:
    """Whether the column is the last one kept minus the first one, within what is printed."""
    for row in grid.rows:
        last, first, own = row.figures[kept[-1]], row.figures[kept[0]], row.figures[k]
        if last is None or first is None or own is None or None in (last.value, first.value, own.value):
            continue
        assert last.value is not None
        assert first.value is not None
        assert own.value is not None
        if (
            abs(abs(last.value - first.value) - abs(own.value))
            > 1e-6 * max(abs(last.value), abs(first.value), 1) + 0.01
        ):
            return False
    return len(kept) > 1


def _with(figure: Figure | None, extra: Figure | None, name: str) -> Figure | None:
    """The figure with what a column beside it says of it."""
    if figure is None or extra is None or extra.value is None:
        return figure
    if words.SPREAD_COLUMN.match(name.strip()):
        lowered = name.lower()
        kind: Spread = "standard error" if "err" in lowered or "sem" in lowered else "unknown"
        if (
            ("st" in lowered and "err" not in lowered)
            or "σ" in lowered
            or "sd" in lowered
            or lowered.strip(" %") in ("cov", "cv", "rsd")
        ):
            kind = "standard deviation"
        relative = extra.percent or "%" in name or lowered.strip() in ("cov", "cv", "rsd")
        return replace(figure, spread=extra.value, spread_percent=relative, spread_kind=kind)
    return replace(figure, change=extra.value, change_text=extra.text)


def runs_are_rows(grid: Grid) -> bool:
    """Whether the rows are what is compared and the columns are metrics."""
    corner = grid.corners[-1].strip() if grid.corners else ""
    heads = [" ".join(row.labels).strip() for row in grid.rows]
    metrics = sum(_is_metric(name) for name in grid.names)
    runs = sum(words.RUN.search(name) is not None and not _is_metric(name) for name in grid.names)
    row_runs = sum(words.RUN.search(head) is not None for head in heads)
    nameless = any(head == "" or MISSING_WORDS.match(head) for head in heads)
    if row_runs == 0 and (nameless or runs == len(grid.names)):
        return False
    if (direction := _changes_run_down(grid)) is not None:
        return direction
    if words.RUN_COLUMN.match(corner):
        return runs <= metrics or runs * 2 < len(grid.names)
    if words.PARAMETER.match(corner) or all(_is_number(head) for head in heads):
        return False
    row_metrics = sum(words.METRIC.search(head) is not None or words.begins_with_operation(head) for head in heads)
    if runs == 0 and row_metrics == 0 and row_runs > 1:
        return True
    return metrics * 2 > len(grid.names) and metrics > runs and row_runs >= row_metrics and row_runs > 0


def _is_metric(name: str) -> bool:
    if words.PERCENTILE.fullmatch(name.strip()):
        return True
    return words.METRIC.search(name) is not None and not words.RUN.search(name)


def _changes_run_down(grid: Grid) -> bool | None:
    """Whether the printed changes are over the first row rather than the first column; None when they do not tell."""
    first_row = any(figure is not None and figure.change for figure in grid.rows[0].figures)
    first_column = any(figure.change for figure in grid.column(0))
    return None if first_row == first_column else first_column


def _is_number(text: str) -> bool:
    return text.rstrip(":%kKMG").replace(".", "", 1).isdigit()


def pivot_column(grid: Grid) -> int | None:
    """Which of several label columns names the compared runs (``| metric | kernel | value |``)."""
    if len(grid.corners) < 2 or any(len(row.labels) != len(grid.corners) for row in grid.rows):
        return None
    for k, corner in enumerate(grid.corners):
        if words.RUN_COLUMN.match(corner.strip()):
            return k
    return None
