"""Interruptions of CPUs and their causes, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from schedlab.notation.units import counted
from schedlab.report.noise import (
    CORRELATION,
    INCLUSIVE,
    Cause,
    Correlation,
    Cpu,
    Increase,
    Noise,
    SenderRow,
    Worst,
    breakdown,
    by_correlation,
    clock,
    correlated,
    duration,
    foreign,
    percent,
    source,
    warnings,
)
from schedlab.report.numbers import figure
from schedlab.report.render.columns import Column, Columns, fold_words

LISTED = 25
"""Most causes, and most counters, that the text lists. The JSON has all."""

SENDERS = 10
"""Most senders of interrupts that the text lists."""

_LIMITS = [(1e3, "1 µs"), (1e4, "10 µs"), (1e5, "100 µs"), (1e6, "1 ms"), (1e7, "10 ms")]


def render(noise: Noise) -> RenderableType:
    """Return the report for a terminal."""
    return Group(*_parts(noise))


def _parts(noise: Noise) -> Iterator[RenderableType]:
    yield Text(source(noise), style="bold")
    yield Text(clock(noise), style="dim")
    for warning in warnings(noise):
        yield Text(warning, style="yellow")
    yield Text()
    yield _cpus(noise.cpus)
    yield Text()
    yield _lengths(noise.cpus)
    if noise.tracing.traced:
        yield Text()
        yield _causes(noise.causes) if noise.causes else Text("No gap.")
        yield from _rest(noise.causes)
        yield from (_Folded(foreign(tick)) for tick in noise.foreign_ticks)
        if noise.causes and any(cause.inclusive_total_ns is not None for cause in noise.causes):
            yield _Folded(INCLUSIVE)
        if noise.senders:
            yield Text("\ninterrupts from other CPUs", style="bold")
            yield _senders(noise.senders)
    if noise.worst and noise.tracing.traced:
        yield Text("\nlongest gaps", style="bold")
        yield from _worst(noise.worst)
    if noise.tracing.tick_stops:
        stops = ", ".join(f"{reason} {number:,}" for reason, number in noise.tracing.tick_stops.items())
        yield Text(f"\nthe tick stopped, or a dependency kept it: {stops}", style="dim")
    if not noise.tracing.traced:
        yield Text(f"\n{CORRELATION}", style="yellow")
        if noise.correlations is not None:
            yield _Folded(by_correlation(noise.correlations))
            if found := correlated(noise.correlations):
                yield _correlations(found)
                yield Text()
        yield _counters(noise.counters)


def _column(heading: str, texts: Iterable[str], kind: Any = "number") -> Column:
    return Column(heading, [Text(text) for text in texts], kind)


def _cpus(cpus: Sequence[Cpu]) -> Columns:
    return Columns([
        _column("CPU", (str(cpu.cpu) for cpu in cpus)),
        _column("gaps", (f"{cpu.gaps:,}" for cpu in cpus)),
        _column("per s", (figure(cpu.gaps / cpu.seconds, 3) for cpu in cpus)),
        _column("longest", (duration(cpu.worst_ns) for cpu in cpus)),
        _column("99.9 %", (duration(cpu.p999_ns) for cpu in cpus)),
        _column("stolen", (percent(cpu.stolen) for cpu in cpus)),
        _column("turn", (duration(cpu.minimum_ns) for cpu in cpus)),
        _column("gap from", (duration(cpu.threshold_ns) for cpu in cpus)),
    ])  # fmt: skip


def _lengths(cpus: Sequence[Cpu]) -> Columns:
    """The histogram in decades."""
    ends = [end for end, _ in _LIMITS]
    headings = [f"<{_LIMITS[0][1]}", *(f"{low}…" for _, low in _LIMITS)]

    def decade(ns: float) -> int:
        return sum(ns >= end for end in ends)

    rows = [[0] * len(headings) for _ in cpus]
    for row, cpu in zip(rows, cpus, strict=True):
        for ns, _, number in cpu.histogram:
            row[decade(ns)] += number
    columns = [_column(heading, (f"{row[at]:,}" for row in rows)) for at, heading in enumerate(headings)]
    return Columns([_column("CPU", (str(cpu.cpu) for cpu in cpus)), *columns])


def _causes(causes: Sequence[Cause]) -> Columns:
    shown = causes[:LISTED]
    return Columns([
        _column("cause", (cause.name for cause in shown), "remark"),
        _column("count", (f"{cause.count:,}" for cause in shown)),
        _column("per s", (figure(cause.rate, 3) for cause in shown)),
        _column("mean", (duration(cause.mean_ns) for cause in shown)),
        _column("longest", (duration(cause.longest_ns) for cause in shown)),
        _column("total", (duration(cause.total_ns) for cause in shown)),
        _column("share", (percent(cause.share) for cause in shown)),
    ])  # fmt: skip


def _rest(causes: Sequence[Cause]) -> Iterator[Text]:
    if rest := causes[LISTED:]:
        yield Text(
            f"and {counted(len(rest), 'other cause')} with {percent(sum(each.share for each in rest))}", style="dim"
        )


def _worst(worst: Sequence[Worst]) -> Iterator[RenderableType]:
    for gap in worst:
        head = f"{duration(gap.length_ns)} on CPU {gap.cpu} after {gap.at_ns / 1e9:.6f} s"
        yield Text(head)
        yield Padding(_Folded(breakdown(gap)), (0, 0, 0, 2))


def _senders(rows: Sequence[SenderRow]) -> Columns:
    shown = rows[:SENDERS]
    return Columns([
        _column("interrupt", (row.interrupt.removesuffix(" interrupt") for row in shown), "remark"),
        _column("sent by", (row.task or "not recorded" for row in shown), "remark"),
        _column("in", (row.function or "" for row in shown), "remark"),
        _column("count", (f"{row.count:,}" for row in shown)),
        _column("per s", (figure(row.rate, 3) for row in shown)),
    ])  # fmt: skip


def _correlations(rows: Sequence[Correlation]) -> Columns:
    shown = rows[:LISTED]
    return Columns([
        _column("grows with the gaps", (row.name for row in shown), "remark"),
        _column("CPU", (str(row.gaps_of) for row in shown)),
        _column("rho", (f"{row.rho:.2f}" for row in shown)),
        _column("p", (f"{row.p:.3f}" for row in shown)),
    ])  # fmt: skip


class _Folded:
    """Renderable of a text that is folded between words."""

    def __init__(self, text: str) -> None:
        self._text = Text(text, style="dim")

    def __rich_console__(self, console: Any, options: Any) -> Iterator[RenderableType]:
        yield fold_words(self._text, options.max_width)


def _counters(counters: Sequence[Increase]) -> Columns:
    shown = sorted(counters, key=lambda each: -each.count)[:LISTED]
    return Columns([
        _column("counter", (each.name for each in shown), "remark"),
        _column("CPU", ("all" if each.cpu is None else str(each.cpu) for each in shown)),
        _column("increase", (f"{each.count:,}" for each in shown)),
    ])  # fmt: skip
