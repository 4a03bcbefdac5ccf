"""Interruptions of CPUs and their causes: the document of ``schedload noise``, which is also the JSON of ``schedlab
noise``. Times are in nanoseconds, where a name does not say otherwise."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, computed_field

from schedlab.results.kinds import REAL, SIMULATED

SCHEMA = 1
"""Version of schedload's document."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)


class Counter(_Table):
    """The cycle counter."""

    name: str = Field(description="its name")
    hz: float = Field(description="counts per second")
    invariant: bool = Field(description="whether the rate is constant")
    error_ns: float = Field(description="uncertainty of an instant on CLOCK_MONOTONIC_RAW")
    difference_ns: float | None = Field(description="difference between the counters of the CPUs; null with one CPU")
    jumps: int = Field(default=0, description="times that the counter jumped ahead of the clock")

    @property
    def differs(self) -> bool:
        """Whether the counters of the CPUs differ by more than 1 µs beyond the uncertainty."""
        return self.difference_ns is not None and self.difference_ns > self.error_ns + 1000


class Tracing(_Table):
    """The kernel's trace."""

    traced: bool = Field(description="whether the trace names the causes")
    reason: str | None = Field(description="why there is no trace")
    clock: str | None = Field(description="clock of the trace")
    error_ns: float = Field(description="uncertainty of an event's time on the counter")
    events: list[str] = Field(description="recorded kinds of events")
    recorded: int = Field(description="recorded events")
    lost: int = Field(description="lost events")
    tick_stops: dict[str, int] = Field(description="how often the tick stopped, or the dependency that kept it")
    removed: list[str] = Field(description="instances of killed measurements that were removed first")
    no_senders: str | None = Field(default=None, description="why requests of other CPUs were not recorded")
    requests: int | None = Field(default=None, description="recorded requests; null if they were not recorded")
    requests_lost: int = Field(default=0, description="lost requests")


class Cpu(_Table):
    """A CPU."""

    cpu: int = Field(description="its number")
    start_ns: int = Field(description="first reading on CLOCK_MONOTONIC_RAW")
    seconds: float = Field(description="seconds from the first to the last reading")
    turns: int = Field(description="turns of the loop; 0 in a simulation")
    minimum_cycles: int = Field(description="least time of a turn in counts")
    minimum_ns: float = Field(description="least time of a turn")
    threshold_ns: float = Field(description="length beyond a turn from which an interruption is a gap")
    gaps: int = Field(description="number of gaps")
    lost: int = Field(description="gaps that the buffer had no room for; number and total include them")
    worst_ns: float = Field(description="longest gap")
    p999_ns: float = Field(description="99.9th percentile of the lengths; 0 without gaps")
    stolen_ns: float = Field(description="lost time: the sum of all gaps, whatever the cause")
    steal_ns: int = Field(description="time that the hypervisor reports as stolen, in steps of a tick of /proc/stat")
    firmware_interrupts: int | None = Field(description="firmware interrupts; null where the processor hides them")
    usual_entry_ns: float = Field(description="path into and out of the kernel up to which it counts as explained")
    histogram: list[tuple[float, int, int]] = Field(
        description="of each class of lengths: least length, the same in counts, gaps"
    )

    @property
    def lost_share(self) -> float:
        """Share of the time in gaps, 0 to 1."""
        return self.stolen_ns / (self.seconds * 1e9) if self.seconds else 0.0

    @property
    def steal_share(self) -> float:
        """Share of the time that the hypervisor reports as stolen, 0 to 1."""
        return self.steal_ns / (self.seconds * 1e9) if self.seconds else 0.0

    @property
    def rate(self) -> float:
        """Gaps per second."""
        return self.gaps / self.seconds if self.seconds else 0.0


class Cause(_Table):
    """A cause of gaps on all CPUs."""

    name: str = Field(description="its name, see the page on interruptions")
    count: int = Field(description="occurrences in gaps")
    rate: float = Field(description="occurrences per second and CPU")
    worst_ns: float = Field(description="longest occurrence, without the causes inside it")
    total_ns: float = Field(description="time of all occurrences, without the causes inside them")
    inclusive_worst_ns: float | None = Field(default=None, description="longest, with the causes inside it")
    inclusive_total_ns: float | None = Field(default=None, description="time, with the causes inside")
    share: float = Field(description="share of the lost time; the shares of all causes sum to 1")

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
    """Who requested an interrupt."""

    task: str = Field(description="the task on the other CPU")
    cpu: int = Field(description="the other CPU")
    function: str = Field(description="function of the kernel that wanted the interrupt")
    callsite: str = Field(description="return address of the request as a symbol")
    stack: list[str] = Field(description="its functions, the innermost first")


class SenderRow(_Table):
    """Interrupts in gaps from one task and function."""

    interrupt: str = Field(description="kind of interrupt")
    task: str | None = Field(description="task on the other CPU; null where no request was recorded")
    function: str | None = Field(description="function of the kernel; null likewise")
    count: int = Field(description="interrupts")
    rate: float = Field(description="interrupts per second and CPU")


class Piece(_Table):
    """A part of a gap."""

    name: str = Field(description="the cause")
    ns: float = Field(description="its own time")
    within: list[str] = Field(description="parts around it, the outermost first")
    woken_in: str | None = Field(description="of a task: the part in which it was woken on this CPU")
    sender: Sender | None = Field(default=None, description="of an interrupt from another CPU: its sender")


class Worst(_Table):
    """One of the longest gaps."""

    cpu: int = Field(description="the CPU")
    at_ns: int = Field(description="start since the start of the measurement")
    length_ns: float = Field(description="length")
    parts: list[Piece] = Field(description="parts, which sum to the length")


class Increase(_Table):
    """A counter of the kernel that grew."""

    cpu: int | None = Field(description="the CPU; null for a counter of the machine")
    name: str = Field(description="name of the counter")
    count: int = Field(description="increase")


class Series(_Table):
    """Increases of a counter in each window."""

    cpu: int | None
    name: str
    increases: list[int]


class Windows(_Table):
    """Windows of a measurement without a trace: seconds, time in gaps by CPU, and counters that varied."""

    seconds: list[float]
    gaps: list[tuple[int, list[float]]]
    counters: list[Series]


class Correlation(_Table):
    """Rank correlation between the gaps of a CPU and a counter by window."""

    gaps_of: int = Field(description="the CPU of the gaps")
    cpu: int | None = Field(description="the CPU of the counter; null for a counter of the machine")
    name: str = Field(description="name of the counter")
    rho: float = Field(description="rank correlation")
    p: float = Field(description="p, adjusted for all counters")


class Correlations(_Table):
    """Correlations of gaps with counters."""

    windows: int = Field(description="windows of the measurement")
    seconds: float = Field(description="median length of a window")
    reason: str | None = Field(description="why there are no correlations")
    rows: list[Correlation] = Field(description="correlations, the smallest p first")


class ForeignTick(_Table):
    """Unexplained gaps of a CPU, of at least 5 µs, that come with the period of another machine's tick."""

    cpu: int = Field(description="the CPU")
    hz: int = Field(description="rate of the tick")
    coherence: float = Field(description="1 if all gaps have the same phase, 0 without a period")
    gaps: int = Field(description="unexplained gaps")

    @property
    def period_ms(self) -> float:
        """Milliseconds between two ticks."""
        return 1000 / self.hz


class GapParts(_Table):
    """A gap with its parts since the start of the CPU's loop. Causes are indices in ``causes``."""

    cpu: int = Field(description="the CPU")
    at_ns: float = Field(description="start")
    length_ns: float = Field(description="length")
    main: int = Field(description="the largest cause")
    parts: list[tuple[int, float, float]] = Field(description="cause, start and end of each interval")
    rest: list[tuple[int, float]] = Field(description="cause and length of the time outside all intervals")
    senders: list[tuple[int, str]] = Field(description="index in `parts`, sender")


class Remedy(_Table):
    """A setting of the machine that lets its kernel interrupt a task, and what ends the interruption."""

    subject: str = Field(description="part of the machine: `tick`, `vmstat`, …")
    text: str = Field(description="the observation")
    remedy: str = Field(description="command of a shell, with remarks in parentheses; may be empty")
    boot: str = Field(description="boot parameter that does the same; may be empty")
    per_second: float | None = Field(
        description="observed interruptions per second that the remedy can remove; null where no counter shows the rate"
    )
    causes: list[str] = Field(
        description="causes in `schedlab noise` that the remedy can remove; a name that ends with a space stands for "
        "all causes that begin with it"
    )
    gain: float | None = Field(
        description="share of the CPUs' time that these causes took in a measurement, 0 to 1; null without a trace, "
        "and for a remedy without causes"
    )
    of_lost: float | None = Field(default=None, description="the same as a share of the lost time")

    @property
    def command(self) -> str:
        """The command without its remark."""
        return self.remedy.partition("   (")[0]


class Noise(_Table):
    """The object printed by `schedlab noise --format json`."""

    number: int = Field(alias="schema", default=SCHEMA, description="1")
    target: str = Field(description="the machine")
    kind: str = Field(default=REAL, description="origin of the figures: `real`, `simulated`")
    seconds: float = Field(description="requested seconds")
    fifo: int | None = Field(description="SCHED_FIFO priority of the loop; null for SCHED_OTHER")
    memory_locked: bool = Field(description="whether the memory of the loop was locked")
    counter: Counter = Field(description="the cycle counter")
    tracing: Tracing = Field(description="the kernel's trace")
    cpus: list[Cpu] = Field(description="the CPUs under test")
    causes: list[Cause] = Field(description="causes on all CPUs, the largest total first")
    senders: list[SenderRow] = Field(default=[], description="senders of interrupts, the most frequent first")
    worst: list[Worst] = Field(description="the longest gaps")
    timeline: list[tuple[int, int, int, int]] = Field(
        description="of each gap: CPU, start, length, index of the main cause in `causes`"
    )
    timeline_is_complete: bool = Field(description="whether `timeline` contains every gap")
    counters: list[Increase] = Field(description="counters of the kernel that grew meanwhile")
    windows: Windows | None = Field(default=None, exclude=True)
    correlations: Correlations | None = Field(default=None, description="without a trace; null with a trace")
    gaps: list[GapParts] | None = Field(default=None, description="the gaps of `timeline` with their parts")
    foreign_ticks: list[ForeignTick] = Field(
        default=[], description="CPUs whose unexplained gaps have the period of a tick"
    )
    remedies: list[Remedy] | None = Field(
        default=None, description="remedies, the largest gain first; null for a machine that was not examined"
    )

    @computed_field(description="how causes were found")  # type: ignore[prop-decorator]
    @property
    def attribution(self) -> Literal["ledger", "trace", "correlation"]:
        """How causes were found: by the simulator's ledger, the kernel's trace, or at most by correlation."""
        return "ledger" if self.kind == SIMULATED else "trace" if self.tracing.traced else "correlation"


def noise_of(document: dict[str, Any], target: str) -> Noise:
    """Return the measurement in a document of schedload or of ``schedlab noise``; ValueError for another document."""
    if (version := document.get("schema")) != SCHEMA:
        raise ValueError(f"has the version {version!r}, not {SCHEMA}")
    return Noise.model_validate({"target": target, **document})
