"""Fields of the JSON object of ``schedlab sim run``.

:func:`schedlab.simulation.summary.summary` makes them without this model, which takes longer to load than a short
simulation runs. A test compares both.
"""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from schedlab.report.document import Known, Part
from schedlab.results.metrics import Direction


class Simulator(Part):
    """The simulator."""

    version: str = Field(description="version of the compiled simulator")
    build: str | None = Field(description="hash of the compiled simulator: another build may give other figures")


class Change(Part):
    """A tunable that changed while the program ran."""

    at_ns: int = Field(description="virtual time of the change in nanoseconds")
    tunable: str = Field(description="name of the tunable")
    value: int = Field(description="its value from then on")


class Metric(Part):
    """A metric of the program."""

    name: str = Field(description="name of the metric")
    unit: str = Field(description="unit of the value")
    direction: Direction = Field(description="which values are better")
    value: Known = Field(description="the value; null where nothing was recorded")


class Ledger(Part):
    """Where all CPUs' time went: every nanosecond of every CPU belongs to one account."""

    closed_ns: int = Field(description="virtual time at which the ledger closed")
    total_ns: int = Field(description="the number of CPUs × `closed_ns`, the sum of all accounts")
    accounts: dict[str, int] = Field(description="nanoseconds of each account over all CPUs")
    shares: dict[str, float] = Field(description="shares of the accounts that are not empty, the largest first")
    cpus: list[dict[str, int]] = Field(description="nanoseconds of each account, for each CPU")


class Distribution(Part):
    """A distribution of times in nanoseconds. Quantiles are lower bounds of buckets; null without an observation."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    count: int = Field(description="number of observations")
    sum_ns: int = Field(description="sum of the observations")
    min_ns: int | None = Field(description="the smallest observation")
    mean_ns: int | None = Field(description="the mean")
    max_ns: int | None = Field(description="the largest observation")
    p50_ns: int | None = Field(description="median")
    p75_ns: int | None = Field(description="75th percentile")
    p90_ns: int | None = Field(description="90th percentile")
    p95_ns: int | None = Field(description="95th percentile")
    p99_ns: int | None = Field(description="99th percentile")
    p999_ns: int | None = Field(alias="p99.9_ns", description="99.9th percentile")


class Lock(Part):
    """The program's locks of one name."""

    name: str = Field(description="name of the locks")
    locks: int = Field(description="number of locks")
    acquired: int = Field(description="acquisitions")
    contended: int = Field(description="acquisitions that waited")
    waited_ns: int = Field(description="time that tasks waited until hand-over, summed")
    longest_ns: int = Field(description="longest time that a task waited")
    worst_waited_ns: int = Field(description="the longest total waiting time of a single lock")
    acquired_from_core: int = Field(description="acquisitions after a holder on the same core")
    acquired_from_cluster: int = Field(description="… in the same cluster")
    acquired_from_llc: int = Field(description="… under the same last-level cache")
    acquired_from_node: int = Field(description="… on the same node")
    acquired_from_near: int = Field(description="… on another node of the same socket")
    acquired_from_far: int = Field(description="… on another socket")


class Schedstats(Part):
    """Scheduler statistics of the simulated kernel."""

    state: str = Field(description="`on`, `off`, `partly`")
    note: str = Field(description="remark for readers; empty if schedstats were on throughout")
    counters: dict[str, int] = Field(description="counters under the names of runs on a host; empty unless `on`")


class Fields(Part):
    """The outcome of a simulation, without samples, buckets and tasks, which the Python API returns."""

    kind: str = Field(description="`simulated`")
    simulator: Simulator = Field(description="the simulator")
    command: list[str] | None = Field(
        description="words of the command that repeats the simulation; null for programs and models from files"
    )
    program: str = Field(description="name of the program")
    parameters: dict[str, Any] = Field(description="given parameters of a native workload")
    notes: list[str] = Field(description="parts of an rt-app document that have no effect")
    machine: str = Field(description="the machine's model")
    cpus: int = Field(description="CPUs of the machine")
    kernel: str = Field(description="the kernel's model")
    tunables: dict[str, int] = Field(description="tunables that the user set")
    changes: list[Change] = Field(description="tunables that changed while the program ran")
    attributes: dict[str, int | str] = Field(
        description="scheduling attributes of all tasks, as on the command line, where they are not the default"
    )
    command_line: str = Field(description="the kernel's command line")
    seed: int = Field(description="random seed of the simulation")
    end: str = Field(description="`finished` or `horizon`")
    end_ns: int = Field(description="virtual time since the machine's start")
    elapsed_ns: int = Field(description="virtual time of the program")
    user_ns: int = Field(description="user time of the program")
    system_ns: int = Field(description="system time of the program")
    digest: str = Field(description="sixteen hex digits that change with everything observable")
    metrics: list[Metric] = Field(description="the program's metrics")
    counters: dict[str, int] = Field(description="the simulator's counters")
    program_counters: dict[str, int] = Field(description="counters of the program")
    ledger: Ledger = Field(description="where all CPUs' time went")
    latencies: dict[str, Distribution] = Field(description="distributions of times by name")
    locks: list[Lock] = Field(description="the program's locks by name")
    schedstats: Schedstats = Field(description="scheduler statistics")
    proc: dict[str, str | None] = Field(description="texts of the simulated files that `--proc` names")
