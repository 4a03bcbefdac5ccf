"""Interruptions of CPUs and their causes: the document of ``schedload noise``, as JSON and in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict

from schedlab.notation.cpulist import format_cpu_list
from schedlab.notation.units import counted
from schedlab.report.numbers import figure
from schedlab.results.kinds import REAL, SIMULATED

PARTS = 5
"""Most parts of a gap that the text lists; the largest come first."""

CORRELATION = (
    "Without a trace no gap has a cause. The kernel's counters of these CPUs are below: they show causes by "
    "correlation at most."
)

INCLUSIVE = "Mean and longest contain the causes inside an occurrence; total and share do not."

LEVEL = 0.05
"""Adjusted p below which an association is reported as a correlation."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Counter(_Table):
    """The cycle counter: ``hz``; ``error_ns``, the uncertainty of an instant on CLOCK_MONOTONIC_RAW; ``difference_ns``
    between the counters of the CPUs, None with one CPU; ``jumps`` ahead of that clock."""

    name: str
    hz: float
    invariant: bool
    error_ns: float
    difference_ns: float | None
    jumps: int = 0


class Tracing(_Table):
    """The trace: whether it names the causes, or the ``reason`` why not; recorded and lost events.

    ``requests`` of other CPUs for an interrupt were recorded, None if the kernel does not record them (``no_senders``).
    """

    traced: bool
    reason: str | None
    clock: str | None
    error_ns: float
    events: list[str]
    recorded: int
    lost: int
    tick_stops: dict[str, int]
    removed: list[str]
    no_senders: str | None = None
    requests: int | None = None
    requests_lost: int = 0


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
    """One cause: occurrences, occurrences per second and CPU, times in ns, share of the time of all gaps (0 to 1).

    ``worst_ns`` and ``total_ns`` are its own time; ``inclusive_worst_ns`` and ``inclusive_total_ns`` contain the causes
    inside it, None in a document that lacks them.
    """

    name: str
    count: int
    rate: float
    worst_ns: float
    total_ns: float
    inclusive_worst_ns: float | None = None
    inclusive_total_ns: float | None = None
    share: float

    @property
    def mean_ns(self) -> float:
        """Mean length of an occurrence, with the causes inside it."""
        total = self.total_ns if self.inclusive_total_ns is None else self.inclusive_total_ns
        return total / self.count if self.count else 0.0

    @property
    def longest_ns(self) -> float:
        """Length of the longest occurrence, with the causes inside it."""
        return self.worst_ns if self.inclusive_worst_ns is None else self.inclusive_worst_ns


class Sender(_Table):
    """Who requested an interrupt: the task on the other CPU, and the function of the kernel that wanted it.

    ``callsite`` is the return address of the request as a symbol, ``stack`` its functions, the innermost first.
    """

    task: str
    cpu: int
    function: str
    callsite: str
    stack: list[str]


class SenderRow(_Table):
    """Interrupts in gaps from one task and function; ``task`` is None where no request was recorded."""

    interrupt: str
    task: str | None
    function: str | None
    count: int
    rate: float


class Piece(_Table):
    """A part of a gap: its own time in ns, and the parts around it, the outermost first."""

    name: str
    ns: float
    within: list[str]
    woken_in: str | None
    sender: Sender | None = None


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


class Series(_Table):
    """Increases of a counter in each window."""

    cpu: int | None
    name: str
    increases: list[int]


class Windows(_Table):
    """Windows of a measurement without a trace: seconds, time in gaps in ns by CPU, and counters that varied."""

    seconds: list[float]
    gaps: list[tuple[int, list[float]]]
    counters: list[Series]


class Correlation(_Table):
    """Rank correlation ``rho`` between the gaps of ``gaps_of`` and a counter (of a CPU, or of the machine) by window.

    ``p`` is adjusted for all counters (:mod:`schedlab.analysis.alignment`).
    """

    gaps_of: int
    cpu: int | None
    name: str
    rho: float
    p: float


class Correlations(_Table):
    """Correlations of gaps with counters, the smallest p first; ``reason``: why there are none."""

    windows: int
    seconds: float
    reason: str | None
    rows: list[Correlation]


class ForeignTick(_Table):
    """Unexplained gaps of a CPU, of at least 5 µs, that come with the period of a tick which is not the kernel's own.

    ``gaps`` is their number; the ``coherence`` of their phases is 1 if all have the same phase, 0 without a period.
    """

    cpu: int
    hz: int
    coherence: float
    gaps: int


class GapParts(_Table):
    """A gap with its parts; times in ns since the start of the CPU's loop, causes as indices in ``causes``.

    ``parts`` has (cause, start, end) of each interval, ``rest`` (cause, length) of the time outside all intervals, and
    ``senders`` (index in ``parts``, sender).
    """

    cpu: int
    at_ns: float
    length_ns: float
    main: int
    parts: list[tuple[int, float, float]]
    rest: list[tuple[int, float]]
    senders: list[tuple[int, str]]


class Noise(_Table):
    """A measurement; ``kind`` is the kind of its figures.

    ``timeline`` has (CPU, start in ns, length in ns, index of the main cause in ``causes``).
    """

    schema_version: int
    target: str
    kind: str = REAL
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
    senders: list[SenderRow] = []
    windows: Windows | None = None
    correlations: Correlations | None = None
    gaps: list[GapParts] | None = None
    foreign_ticks: list[ForeignTick] = []


SCHEMA = 1
"""Version of schedload's document that this version of schedlab reads."""


def noise_of(document: dict[str, Any], target: str) -> Noise:
    """Return the measurement in a document of schedload or of :func:`to_json`; ValueError for another document."""
    if (version := document.get("schema")) != SCHEMA:
        raise ValueError(f"has the version {version!r}, not {SCHEMA}")
    return Noise.model_validate({"target": target, **document, "schema_version": SCHEMA})


def to_json(noise: Noise) -> dict[str, Any]:
    """Return the fields of the JSON object; correlations replace the windows from which they were computed."""
    fields = noise.model_dump(mode="json", exclude={"schema_version", "windows"})
    way = "ledger" if noise.kind == SIMULATED else "trace" if noise.tracing.traced else "correlation"
    return {"schema": SCHEMA, "attribution": way, **fields}


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
    """Yield the limits of the figures."""
    if not noise.counter.invariant:
        yield "The cycle counter may change its rate with the frequency of the processor: times are not reliable."
    if noise.counter.difference_ns is not None and noise.counter.difference_ns > noise.counter.error_ns + 1000:
        difference = duration(noise.counter.difference_ns)
        yield f"The counters of the CPUs differ by {difference}: their time lines are shifted."
    if noise.counter.jumps:
        times = counted(noise.counter.jumps, "time")
        yield f"The cycle counter jumped ahead of the clock {times}: a hypervisor stopped this machine."
    if not noise.memory_locked:
        yield "The memory of the loop could not be locked: page faults may be among the gaps."
    if noise.tracing.lost:
        yield f"{counted(noise.tracing.lost, 'event')} of the trace were lost: their gaps are unexplained."
    if noise.tracing.requests_lost:
        many = counted(noise.tracing.requests_lost, "request")
        yield f"{many} of other CPUs were lost: senders of interrupts are missing or may be wrong."
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
    origin = "" if noise.kind == REAL else f" [{noise.kind}]"
    return f"{names} of {noise.target}, {figure(noise.seconds, 4)} s under {policy}{origin}"


def clock(noise: Noise) -> str:
    """Return the counter, its uncertainty, and how the causes were found."""
    if noise.kind == SIMULATED:
        cycles = f"{noise.counter.name}, cycles of {figure(noise.counter.hz / 1e6, 5)} MHz"
        return f"{cycles}; {noise.tracing.recorded:,} parts of gaps, from the simulator's ledger"
    counter = f"{noise.counter.name} at {figure(noise.counter.hz / 1e6, 5)} MHz (± {duration(noise.counter.error_ns)})"
    tracing = noise.tracing
    if not tracing.traced:
        return f"{counter}; no trace: {tracing.reason}"
    joined = "the same counter" if tracing.error_ns == 0 else f"{tracing.clock}, ± {duration(tracing.error_ns)}"
    return f"{counter}; {tracing.recorded:,} events of the trace, on {joined}"


def breakdown(gap: Worst) -> str:
    """Return the parts of a gap, the largest first: ``tick 3.8 µs in 2 parts + f 2.1 µs (in task kworker)``.

    Parts with the same name and the same facts are added.
    """
    lengths: dict[tuple[str, str], list[float]] = {}
    for part in gap.parts:
        around = f" (in {' > '.join(part.within)})" if part.within else ""
        woken = f" (woken in {part.woken_in})" if part.woken_in else ""
        lengths.setdefault((part.name, f"{around}{woken}{_sent(part.sender)}"), []).append(part.ns)
    order = sorted(lengths.items(), key=lambda item: -sum(item[1]))
    texts = []
    for (name, facts), each in order[:PARTS]:
        number = f" in {len(each)} parts" if len(each) > 1 else ""
        texts.append(f"{name} {duration(sum(each))}{number}{facts}")
    if rest := [ns for _, each in order[PARTS:] for ns in each]:
        texts.append(f"{counted(len(rest), 'other part')} {duration(sum(rest))}")
    return " + ".join(texts)


def _sent(sender: Sender | None) -> str:
    return "" if sender is None else f" (sent by {sender.task} on CPU {sender.cpu} in {sender.function})"


def foreign(tick: ForeignTick) -> str:
    """Return what a period of unexplained gaps shows, as a sentence."""
    return (
        f"CPU {tick.cpu}: {tick.gaps:,} unexplained gaps of at least 5 µs come every {figure(1000 / tick.hz, 2)} ms "
        f"(coherence {tick.coherence:.2f}): a tick at {tick.hz} Hz that is not this CPU's, of a hypervisor or of a CPU "
        "that takes turns with this CPU."
    )


def correlated(correlations: Correlations) -> list[Correlation]:
    """Return the correlations that are not explained by chance."""
    return [row for row in correlations.rows if row.p < LEVEL]


def by_correlation(correlations: Correlations) -> str:
    """Return what the correlations show, as a sentence."""
    if correlations.reason is not None:
        return f"No correlation is computed: {correlations.reason}."
    windows = f"{correlations.windows} windows of {figure(correlations.seconds, 2)} s"
    if not (found := correlated(correlations)):
        return f"By correlation: no counter grows with the time in gaps (p ≥ {LEVEL} for all, {windows})."
    names = "counters grow" if len(found) > 1 else "counter grows"
    return f"By correlation: {len(found)} {names} with the time in gaps (rank correlation, {windows})."
