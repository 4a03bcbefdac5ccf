""":func:`schedlab.simulate`: simulations from Python, and their outcomes as data frames."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Literal

import polars as pl

from schedlab.simulation import schedstats
from schedlab.simulation.errors import SettingRefused
from schedlab.simulation.models import DEFAULT_KERNEL, Model
from schedlab.simulation.models import kernel as kernel_model
from schedlab.simulation.models import machine as machine_model
from schedlab.simulation.programs import Program, program_file
from schedlab.simulation.programs import program as native_program
from schedlab.simulation.run import Outcome, Pool, Simulation
from schedlab.simulation.settings import SAMPLES, Settings, attributes, memory_of, nanoseconds, seed_of, tunable
from schedlab.simulation.texts import outcome_of

_CASE = {
    "program": pl.String,
    "machine": pl.String,
    "kernel": pl.String,
    "tunables": pl.String,
    "seed": pl.UInt64,
}
_QUANTILES = ("p50_ns", "p75_ns", "p90_ns", "p95_ns", "p99_ns", "p99.9_ns")


@dataclass(frozen=True)
class Case:
    """The arguments of one simulation."""

    program: str
    machine: str
    kernel: str
    tunables: Mapping[str, int]
    seed: int

    def values(self) -> tuple[Any, ...]:
        """The first columns of each frame; tunables as canonical JSON."""
        tunables = json.dumps(dict(self.tunables), sort_keys=True, separators=(",", ":"))
        return (self.program, self.machine, self.kernel, tunables, self.seed)


class Simulated:
    """The outcome of each case as data frames: simulated, not measured.

    Every frame begins with the columns program, machine, kernel, tunables (JSON) and seed. Times are virtual.
    ``notes`` name the parts of an rt-app document that have no effect.
    """

    label = "simulated"

    def __init__(self, cases: Sequence[Case], outcomes: Sequence[Outcome], notes: Sequence[str] = ()) -> None:
        self.cases = cases
        self.outcomes = outcomes
        self.notes = notes

    @cached_property
    def metrics(self) -> pl.DataFrame:
        """metric, unit, direction (of improvement), value (null where nothing was recorded)."""
        columns = {"metric": pl.String, "unit": pl.String, "direction": pl.String, "value": pl.Float64}
        return self._frame(
            columns,
            lambda outcome: ((m["name"], m["unit"], m["direction"], m["value"]) for m in outcome["metrics"]),
        )

    @cached_property
    def samples(self) -> pl.DataFrame:
        """metric, unit, value: the observations behind each metric that is a mean, in order."""
        columns = {"metric": pl.String, "unit": pl.String, "value": pl.Float64}
        return self._frame(
            columns,
            lambda outcome: ((m["name"], m["unit"], v) for m in outcome["metrics"] for v in m["samples"] or ()),
        )

    @cached_property
    def counters(self) -> pl.DataFrame:
        """Columns counter and value: counters of the simulated kernel, then counters of the program."""
        columns = {"counter": pl.String, "value": pl.Int64}
        return self._frame(
            columns, lambda outcome: [*outcome["counters"].items(), *outcome["program_counters"].items()]
        )

    @cached_property
    def ledger(self) -> pl.DataFrame:
        """cpu, account, ns: the use of each CPU's time. A CPU's accounts sum to the time when the ledger was closed."""
        columns = {"cpu": pl.Int64, "account": pl.String, "ns": pl.Int64}

        def rows(outcome: Outcome) -> Iterator[tuple[Any, ...]]:
            accounts = outcome["ledger"]["accounts"]
            for cpu, times in enumerate(outcome["ledger"]["cpus"]):
                for account, ns in zip(accounts, times, strict=True):
                    yield cpu, account, ns

        return self._frame(columns, rows)

    @cached_property
    def latencies(self) -> pl.DataFrame:
        """distribution, count, min_ns, mean_ns, quantiles, max_ns; null where nothing was counted.

        ``wakeup``: from a wake-up to the first instruction, on all CPUs and on each (``wakeup.cpu0``). ``idle``: idle
        times. ``balance_cost.*``: costs of balancing passes. A quantile is the lower end of its bucket, and the upper
        end is at most a quarter above the lower end.
        """
        names = ("count", "min_ns", "mean_ns", *_QUANTILES, "max_ns")
        columns = {"distribution": pl.String, **dict.fromkeys(names, pl.Int64)}
        return self._frame(
            columns,
            lambda outcome: ((name, *(each[key] for key in names)) for name, each in outcome["latencies"].items()),
        )

    @cached_property
    def histograms(self) -> pl.DataFrame:
        """distribution, from_ns, count: the buckets that are not empty."""
        columns = {"distribution": pl.String, "from_ns": pl.Int64, "count": pl.Int64}
        return self._frame(
            columns,
            lambda outcome: ((name, *b) for name, each in outcome["latencies"].items() for b in each["buckets"]),
        )

    @cached_property
    def tasks(self) -> pl.DataFrame:
        """task, ran_ns, user_ns, switches, migrations, wake-ups and their latencies, for each task of the program."""
        numbers = (
            "ran_ns", "user_ns", "voluntary_switches", "involuntary_switches", "migrations", "wakeups",
            "wakeup_latency_ns", "wakeup_latency_max_ns",
        )  # fmt: skip
        columns = {"task": pl.String, **dict.fromkeys(numbers, pl.Int64)}
        return self._frame(
            columns, lambda outcome: ((task["name"], *(task[key] for key in numbers)) for task in outcome["tasks"])
        )

    @cached_property
    def locks(self) -> pl.DataFrame:
        """lock, the number of locks of that name, acquisitions, contended acquisitions, and waiting times in ns.

        Waiting ends when the lock is handed over. ``worst_waited_ns`` is the total of the lock with the largest total.
        """
        numbers = ("locks", "acquired", "contended", "waited_ns", "longest_ns", "worst_waited_ns")
        columns = {"lock": pl.String, **dict.fromkeys(numbers, pl.Int64)}
        return self._frame(
            columns, lambda outcome: ((lock["name"], *(lock[key] for key in numbers)) for lock in outcome["locks"])
        )

    @cached_property
    def schedstat(self) -> pl.DataFrame:
        """cpu, counter, value: /proc/schedstat with the names of the real file; no rows if schedstats were never on."""
        columns = {"cpu": pl.Int64, "counter": pl.String, "value": pl.Int64}

        def rows(outcome: Outcome) -> Iterator[tuple[Any, ...]]:
            for counter, by_cpu in schedstats.reading(outcome).items():
                for cpu, value in by_cpu.items():
                    yield int(cpu), counter, value

        return self._frame(columns, rows)

    @cached_property
    def task_statistics(self) -> pl.DataFrame:
        """task, statistic, value: /proc/PID/sched, times in ns; no rows for tasks that ran with schedstats off."""
        columns = {"task": pl.String, "statistic": pl.String, "value": pl.Int64}
        return self._frame(
            columns,
            lambda outcome: (
                (task["name"], name, value)
                for task in outcome["tasks"]
                for name, value in (task["statistics"] or {}).items()
            ),
        )

    @cached_property
    def ends(self) -> pl.DataFrame:
        """end (``finished`` or ``horizon``), elapsed_ns, user_ns and system_ns of the program, digest of the run."""
        columns = {
            "end": pl.String, "elapsed_ns": pl.Int64, "user_ns": pl.Int64, "system_ns": pl.Int64, "digest": pl.String,
        }  # fmt: skip
        return self._frame(columns, lambda outcome: [tuple(outcome[key] for key in columns)])

    def _frame(self, columns: Mapping[str, Any], rows: Any) -> pl.DataFrame:
        lines: Iterable[tuple[Any, ...]] = (
            (*case.values(), *row)
            for case, outcome in zip(self.cases, self.outcomes, strict=True)
            for row in rows(outcome)
        )
        return pl.DataFrame(list(lines), schema={**_CASE, **columns}, orient="row")

    def __repr__(self) -> str:
        return f"<Simulated: {len(self.cases)} simulations; metrics, counters, ledger, latencies, tasks, ends, …>"


Name = str | Path
"""The name of a shipped model, or the path of a TOML file."""


def simulate(
    program: Name,
    *,
    machine: Name | Sequence[Name],
    kernel: Name | Sequence[Name] = DEFAULT_KERNEL,
    parameters: Mapping[str, Any] | None = None,
    seed: int | None = None,
    seeds: Iterable[int] | None = None,
    tunables: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
    changes: Sequence[tuple[str, str, Any]] = (),
    command_line: str = "",
    policy: Literal["other", "batch", "idle", "fifo", "rr", "deadline"] = "other",
    priority: int | None = None,
    nice: int = 0,
    slice: str | None = None,
    runtime: str | None = None,
    deadline: str | None = None,
    period: str | None = None,
    cpus: str | None = None,
    horizon: str | None = None,
    samples: int = SAMPLES,
    memory: str | None = None,
    timeline: Name | None = None,
    workers: int | None = None,
) -> Simulated:
    """Simulate a program, once for every combination of machine, kernel, tunables and seed.

    Args:
        program: a native workload (``schedlab workloads``), or the path of a JSON file, in the form of ``schedload
            show`` or of rt-app.
        machine: a shipped machine (``schedlab sim machines list``) or the path of a TOML file; or a list of machines.
        kernel: a shipped kernel model (``schedlab sim kernels list``) or the path of a TOML file; or a list of kernels.
        parameters: parameters of the workload, as in an experiment file, with one value each. A list, which stands for
            several rows in an experiment file, is refused: ``{"beside": "hackbench groups=2"}``.
        seed: random seed; 0 by default. ``seeds``: several seeds.
        tunables: values by name as in an experiment file; or several sets of values, each set a configuration.
        changes: (virtual time such as "10ms", tunable, value): changes while the program runs.
        command_line: command line of the simulated kernel, such as ``isolcpus=1-3``.
        policy, priority, nice, slice, runtime, deadline, period, cpus: attributes of all tasks, as in a variant of an
            experiment file.
        horizon: virtual time at which a simulation ends at the latest, such as "2s".
        samples: maximum number of stored samples of a series; a longer series is reduced to a random selection.
        memory: limit, such as "8GiB", above which a simulation is refused; by default the available memory.
        timeline: file that gets a trace of all events of a single simulation, for the viewer at ui.perfetto.dev.
        workers: number of simultaneous simulations; by default the number of CPUs that this process may use.

    Returns data frames; the same arguments give the same frames, for any number of ``workers``. Raises subclasses of
    :class:`schedlab.simulation.errors.SimulationError`, if possible before the first simulation.
    """
    if seed is not None and seeds is not None:
        raise SettingRefused("seed and seeds cannot be combined", where="seeds", todo="give one of the two")
    cases, simulations = [], []
    chosen = list(seeds) if seeds is not None else [seed or 0]
    programs: dict[int, Program] = {}
    for on, under, tuned in product(_several(machine, machine_model), _several(kernel, kernel_model), _sets(tunables)):
        loaded = programs.setdefault(on.cpus, _program(program, parameters, on.cpus))
        values = dict(tunable(name, value) for name, value in tuned.items())
        for each in chosen:
            settings = Settings(
                seed=seed_of(each),
                tunables=values,
                changes=[(nanoseconds(at, "changes"), *tunable(name, value)) for at, name, value in changes],
                command_line=command_line,
                horizon_ns=None if horizon is None else nanoseconds(horizon, "horizon"),
                samples=samples,
                attributes=attributes(policy, priority, nice, slice, cpus, under, (runtime, deadline, period)),
                memory=None if memory is None else memory_of(memory, "memory"),
            )
            cases.append(Case(loaded.name, on.name, under.name, values, each))
            simulations.append(Simulation(on, under, loaded, settings))
    for simulation in simulations:
        simulation.check()
    if timeline is not None:
        if len(simulations) != 1:
            todo = "name one machine, kernel, set of tunables and seed"
            raise SettingRefused(f"{len(simulations)} simulations have no common timeline", where="timeline", todo=todo)
        return Simulated(cases, [outcome_of(simulations[0], Path(timeline))], simulations[0].program.notes)
    with Pool(workers) as pool:
        waiting = [pool.submit(simulation) for simulation in simulations]
        return Simulated(
            cases, [future.result() for future in waiting], simulations[0].program.notes if simulations else ()
        )


def _several(names: Name | Sequence[Name], find: Any) -> list[Model]:
    return [find(name) for name in ([names] if isinstance(names, str | Path) else names)]


def _sets(sets: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [sets] if isinstance(sets, Mapping) else list(sets) or [{}]


def _program(name: Name, parameters: Mapping[str, Any] | None, cpus: int) -> Program:
    if isinstance(name, Path) or name.endswith(".json"):
        if parameters:
            raise SettingRefused("a program from a file has no parameters", where=str(name), todo="change the file")
        return program_file(Path(name))
    return native_program(name, parameters or {}, cpus)
