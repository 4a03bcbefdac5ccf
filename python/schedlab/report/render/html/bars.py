"""Places of bars and intervals between the edges of their column, in per cent of its width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

from schedlab.report.answer import CONTROL, Line, Span, Table
from schedlab.report.render.html.forest import Axis, Tick, axis

EDGE = 3.0
"""Per cent of a linear axis that remain free at its ends."""


@dataclass(frozen=True)
class Bar:
    """Places of the ends and the middle of a bar; ``band``: ends of the A/A control's interval in the same group."""

    low: float | None
    high: float | None
    middle: float | None
    band: tuple[float, float] | None = None


@dataclass(frozen=True)
class Bars:
    """The bars of a column, with its marks: labelled ticks, margins of equivalence, and no change."""

    lines: Sequence[Bar | None]
    ticks: Sequence[Tick] = ()
    margins: Sequence[float] = ()
    zero: float | None = None


def bars(table: Table) -> list[Bars]:
    """Return the bars of each column, empty for columns that draw nothing."""
    return [
        _column(table, place, column.axis) if column.kind == "bar" else Bars(())
        for place, column in enumerate(table.columns)
    ]


def _column(table: Table, place: int, kind: str) -> Bars:
    spans = [line.cells[place].span for line in table.lines]
    if kind == "ratio":
        return _ratios(table, spans)
    if kind == "share":
        return Bars([Bar(0.0, round(100 * (span.high or 0.0), 2), None) if span else None for span in spans])
    groups: dict[str, list[Span]] = {}
    for line, span in zip(table.lines, spans, strict=True):
        groups.setdefault(line.group, []).extend([span] if span else [])
    limits = {group: _limits(of_group) for group, of_group in groups.items()}
    return Bars(
        [_linear(span, *limits[line.group]) if span else None for line, span in zip(table.lines, spans, strict=True)]
    )


def _limits(spans: Iterable[Span]) -> tuple[float, float]:
    ends = [end for span in spans for end in (span.low, span.middle, span.high) if end is not None and isfinite(end)]
    return (min(ends), max(ends)) if ends else (0.0, 0.0)


def _linear(span: Span, least: float, greatest: float) -> Bar:
    width = (greatest - least) or 1.0

    def place(value: float | None) -> float | None:
        if value is None or not isfinite(value):
            return None
        return round(EDGE + (100 - 2 * EDGE) * (value - least) / width, 2)

    low, high = place(span.low), place(span.high)
    middle = place(span.middle)
    return Bar(middle if low is None else low, middle if high is None else high, middle)


def _ratios(table: Table, spans: Sequence[Span | None]) -> Bars:
    ends = (end for span in spans if span for end in (span.low, span.middle, span.high))
    scale = axis(ends, table.delta)
    bands = {
        line.group: scale.span(span.low, span.high)
        for line, span in zip(table.lines, spans, strict=True)
        if span and line.tone == CONTROL
    }
    return Bars(
        [_ratio(line, span, scale, bands) if span else None for line, span in zip(table.lines, spans, strict=True)],
        scale.ticks,
        [scale.place(1 / (1 + table.delta)), scale.place(1 + table.delta)],
        50.0,
    )


def _ratio(line: Line, span: Span, scale: Axis, bands: dict[str, tuple[float, float] | None]) -> Bar | None:
    if span.middle is None:
        return None
    low, high = scale.span(span.low, span.high) or (None, None)
    return Bar(low, high, scale.place(span.middle), None if line.tone == CONTROL else bands.get(line.group))
