"""Histories of rows as text and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from schedlab.analysis.history import ALPHA, LEAST_RUNS, ChangePoint
from schedlab.analysis.verdicts import Word
from schedlab.findings.history import Point, Series
from schedlab.notation.units import counted
from schedlab.report.numbers import UNKNOWN, change, figure, p_value
from schedlab.report.render.columns import Column, Columns, Kind
from schedlab.report.words import measure
from schedlab.results.metrics import finite

STYLES = {Word.BETTER: "green", Word.WORSE: "red"}

METHOD = (
    "mean: geometric over the blocks of a run, with Student's 95 % interval. A change of level is a shift that the "
    "noise of the runs and the likeness of neighbouring runs do not explain. A row without change shows one at any run "
    f"with a probability of at most {100 * ALPHA:g} %; of simulated histories, 0 to 5 % do. A change may be of the "
    f"machine: it is a place to look at, not a verdict. Rows with fewer than {LEAST_RUNS} runs cannot show any."
)


def date(seconds: float) -> str:
    """Format seconds since 1970 as date and time, UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def size(found: ChangePoint) -> str:
    """Format the size of a change: per cent where both means are above 0, otherwise the difference."""
    ratio = change(found.ratio)
    return ratio if ratio != UNKNOWN else f"{found.before:.4g} → {found.after:.4g}"


def listing(all_series: Sequence[Series]) -> Iterator[RenderableType]:
    """Yield a table for each experiment on each machine, with number of runs, newest mean and newest change by row."""
    kinds: dict[str, Kind] = {
        "row": "name", "variant": "name", "metric": "remark", "runs": "number", "newest": "number",
        "last change": "number", "since": "number",
    }  # fmt: skip
    for (machine, experiment), of_machine in groupby(all_series, lambda series: series.key[:2]):
        rows, styles = [], []
        for series in of_machine:
            key, last, since = series.key, series.changes[-1] if series.changes else None, ("", "")
            if last:
                since = f"{series.word(last)} {size(last)}", date(series.points[last.index].started)[:10]
            styles.append(STYLES[series.word(last)] if last else "")
            newest = figure(series.points[-1].value)
            row = (key.row, key.variant, measure(key.metric, key.unit), str(len(series.points)), newest, *since)
            rows.append(row)
        yield Text(f"{experiment} on {machine}", "bold")
        yield _table(kinds, rows, {5: styles})
        yield Text()


def course(series: Series) -> Iterator[RenderableType]:
    """Yield the head of a series and a line for each run, the oldest first."""
    key = series.key
    yield Text(f"{key.row} under {key.variant}", "bold") + Text(
        f"  {measure(key.metric, key.unit)}, {key.direction} is better", "default"
    )
    yield Text(f"{key.experiment} on {key.machine}: {counted(len(series.points), 'run')}")
    if key.settings not in ("", "{}"):
        yield Text(f"settings of {key.variant}: {key.settings}")
    yield Text()
    changed = {found.index: found for found in series.changes}
    rows, styles = [], []
    for index, point in enumerate(series.points):
        found = changed.get(index)
        styles.append(STYLES[series.word(found)] if found else "")
        remark = f"{series.word(found)} {size(found)} (p {p_value(found.p)})" if found else ""
        rows.append((
            str(point.run), date(point.started), point.kernel or UNKNOWN, figure(point.value), bounds(point),
            str(point.blocks), remark,
        ))  # fmt: skip
    kinds: dict[str, Kind] = {
        "run": "number", "date (UTC)": "remark", "kernel": "name", "mean": "number", "95 % interval": "number",
        "blocks": "number", "change": "remark",
    }  # fmt: skip
    yield _table(kinds, rows, {6: styles})


def bounds(point: Point) -> str:
    """Format the interval of a level; empty when it is unknown."""
    low, high = figure(point.low), figure(point.high)
    return "" if UNKNOWN in (low, high) else f"{low} … {high}"


def to_json(all_series: Sequence[Series]) -> dict[str, Any]:
    """Return the fields of the JSON object; unknown numbers are null."""
    return {"series": [_series_json(series) for series in all_series]}


def _series_json(series: Series) -> dict[str, Any]:
    return {
        "id": series.key.identity,
        **series.key._asdict(),
        "parameters": json.loads(series.key.parameters),
        "points": [
            {
                "run": point.run,
                "started": point.started,
                "kernel": point.kernel,
                "value": point.value,
                "low": finite(point.low),
                "high": finite(point.high),
                "blocks": point.blocks,
            }
            for point in series.points
        ],
        "changes": [
            {
                "run": series.points[found.index].run,
                "word": series.word(found),
                "before": found.before,
                "after": found.after,
                "ratio": finite(found.ratio),
                "p": found.p,
            }
            for found in series.changes
        ],
    }


def _table(kinds: dict[str, Kind], rows: Sequence[Sequence[str]], styles: dict[int, Sequence[str]]) -> Columns:
    """Make a table; ``styles`` has the style of each line for some columns."""
    plain = [""] * len(rows)
    columns = []
    for index, (heading, kind) in enumerate(kinds.items()):
        cells = [Text(row[index], style) for row, style in zip(rows, styles.get(index, plain), strict=True)]
        columns.append(Column(heading, cells, kind))
    return Columns(columns)
