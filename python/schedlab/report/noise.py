"""Interruptions of CPUs and their causes: the document of ``schedload noise``, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from schedlab.notation.cpulist import format_cpu_list
from schedlab.notation.units import counted
from schedlab.report.columns import Column, Columns, fold_words
from schedlab.report.numbers import figure

LISTED = 25
"""Most causes, and most counters, that the text lists. The JSON has all."""

PARTS = 5
"""Most parts of a gap that the text lists; the largest come first."""

CORRELATION = (
    "Without a trace no gap has a cause. What the kernel counted on these CPUs meanwhile is below: a cause by "
    "correlation at most."
)

_LIMITS = [(1e3, "1 µs"), (1e4, "10 µs"), (1e5, "100 µs"), (1e6, "1 ms"), (1e7, "10 ms")]


class _Table(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Counter(_Table):
    """The cycle counter: ``hz``; ``error_ns``, the uncertainty of an instant on CLOCK_MONOTONIC_RAW; ``difference_ns``
    between the counters of the CPUs, None with one CPU."""

    name: str
    hz: float
    invariant: bool
    error_ns: float
    difference_ns: float | None


class Tracing(_Table):
    """The trace: whether it names the causes, or the ``reason`` why not; recorded and lost events."""

    traced: bool
    reason: str | None
    clock: str | None
    error_ns: float
    events: list[str]
    recorded: int
    lost: int
    tick_stops: dict[str, int]
    removed: list[str]


class Cpu(_Table):
    """One CPU; times in ns, ``start_ns`` on CLOCK_MONOTONIC_RAW, ``seconds`` of measurement.

    ``histogram`` has (least ns, least cycles, number) of each class of lengths.
    """

    cpu: int
    start_ns: int
    seconds: float
    turns: int
    minimum_cycles: int
    minimum_ns: float
    threshold_ns: float
    gaps: int
    lost: int
    worst_ns: float
    p999_ns: float
    stolen_ns: float
    steal_ns: int
    firmware_interrupts: int | None
    usual_entry_ns: float
    histogram: list[tuple[float, int, int]]

    @property
    def stolen(self) -> float:
        """Share of the time in gaps, 0 to 1."""
        return self.stolen_ns / (self.seconds * 1e9) if self.seconds else 0.0


class Cause(_Table):
    """One cause: occurrences, occurrences per second and CPU, times in ns, share of the time of all gaps (0 to 1)."""

    name: str
    count: int
    rate: float
    worst_ns: float
    total_ns: float
    share: float


class Piece(_Table):
    """A part of a gap: its own time in ns, and the parts around it, the outermost first."""

    name: str
    ns: float
    within: list[str]
    woken_in: str | None


class Worst(_Table):
    """One of the longest gaps: start since the start of the measurement, length, and parts, which sum to the length, in
    ns."""

    cpu: int
    at_ns: int
    length_ns: float
    parts: list[Piece]


class Increase(_Table):
    """Increase of a counter of the kernel; ``cpu`` is None for a counter of the machine."""

    cpu: int | None
    name: str
    count: int


class Noise(_Table):
    """A measurement. ``timeline`` has (CPU, start in ns, length in ns, index of the main cause in ``causes``)."""

    schema_version: int
    target: str
    seconds: float
    fifo: int | None
    memory_locked: bool
    counter: Counter
    tracing: Tracing
    cpus: list[Cpu]
    causes: list[Cause]
    worst: list[Worst]
    timeline: list[tuple[int, int, int, int]]
    timeline_is_complete: bool
    counters: list[Increase]


SCHEMA = 1
"""Version of schedload's document that this version of schedlab reads."""


def noise_of(document: dict[str, Any], target: str) -> Noise:
    """Return the measurement in a document of schedload or of :func:`to_json`; ValueError for another document."""
    if (version := document.get("schema")) != SCHEMA:
        raise ValueError(f"has the version {version!r}, not {SCHEMA}")
    return Noise.model_validate({"target": target, **document, "schema_version": SCHEMA})


def to_json(noise: Noise) -> dict[str, Any]:
    """Return the fields of the JSON object."""
    fields = noise.model_dump(mode="json", exclude={"schema_version"})
    return {"schema": SCHEMA, "attribution": "trace" if noise.tracing.traced else "correlation", **fields}


def duration(ns: float) -> str:
    """Return a duration with three significant digits: ``8.7 ns``, ``4.01 µs``, ``58.7 ms``."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size * 0.9995:
            return f"{figure(ns / size, 3)} {unit}"
    return f"{figure(ns, 3)} ns"


def percent(share: float) -> str:
    """Return a share as per cent with two decimals; a share below 0.005 % is marked as such."""
    return "<0.01 %" if 0 < share < 0.00005 else f"{100 * share:.2f} %"


def warnings(noise: Noise) -> Iterator[str]:
    """Yield what limits the figures."""
    if not noise.counter.invariant:
        yield "The cycle counter may change its rate with the frequency of the processor: times are not reliable."
    if noise.counter.difference_ns is not None and noise.counter.difference_ns > noise.counter.error_ns + 1000:
        difference = duration(noise.counter.difference_ns)
        yield f"The counters of the CPUs differ by {difference}: their time lines are shifted."
    if not noise.memory_locked:
        yield "The memory of the loop could not be locked: page faults may be among the gaps."
    if noise.tracing.lost:
        yield f"{counted(noise.tracing.lost, 'event')} of the trace were lost: their gaps are unexplained."
    if lost := sum(cpu.lost for cpu in noise.cpus):
        yield f"{counted(lost, 'gap')} did not fit into the buffer: they are in number and total, but have no cause."
    if noise.tracing.removed:
        many = counted(len(noise.tracing.removed), "trace instance")
        yield f"{many} of killed measurements were removed first."


def source(noise: Noise) -> str:
    """Return the target, the CPUs, the time and the way of the measurement."""
    cpus = format_cpu_list(cpu.cpu for cpu in noise.cpus)
    policy = "SCHED_OTHER" if noise.fifo is None else f"SCHED_FIFO {noise.fifo}"
    names = f"CPU {cpus}" if len(noise.cpus) == 1 else f"CPUs {cpus}"
    return f"{names} of {noise.target}, {figure(noise.seconds, 4)} s under {policy}"


def clock(noise: Noise) -> str:
    """Return the counter, its uncertainty, and how the causes were found."""
    counter = f"{noise.counter.name} at {figure(noise.counter.hz / 1e6, 5)} MHz (± {duration(noise.counter.error_ns)})"
    tracing = noise.tracing
    if not tracing.traced:
        return f"{counter}; no trace: {tracing.reason}"
    joined = "the same counter" if tracing.error_ns == 0 else f"{tracing.clock}, ± {duration(tracing.error_ns)}"
    return f"{counter}; {tracing.recorded:,} events of the trace, on {joined}"


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
        yield _causes(noise.causes)
        yield from _rest(noise.causes)
    if noise.worst and noise.tracing.traced:
        yield Text("\nlongest gaps", style="bold")
        yield from _worst(noise.worst)
    if noise.tracing.tick_stops:
        stops = ", ".join(f"{reason} {number:,}" for reason, number in noise.tracing.tick_stops.items())
        yield Text(f"\nthe tick stopped, or a dependency kept it: {stops}", style="dim")
    if not noise.tracing.traced:
        yield Text(f"\n{CORRELATION}", style="yellow")
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
        _column("longest", (duration(cause.worst_ns) for cause in shown)),
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


def breakdown(gap: Worst) -> str:
    """Return the parts of a gap, the largest first: ``tick 1.9 µs + vmstat_update 2.1 µs (in task kworker) + …``."""
    order = sorted(gap.parts, key=lambda part: -part.ns)
    texts = []
    for part in order[:PARTS]:
        around = f" (in {' > '.join(part.within)})" if part.within else ""
        woken = f" (woken in {part.woken_in})" if part.woken_in else ""
        texts.append(f"{part.name} {duration(part.ns)}{around}{woken}")
    if rest := order[PARTS:]:
        texts.append(f"{counted(len(rest), 'other part')} {duration(sum(part.ns for part in rest))}")
    return " + ".join(texts)


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
