"""The measurement of a simulated trial; counters have the names of a real kernel's counters where these exist."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from schedlab.experiment.plan import Row, Trial
from schedlab.results.measurement import Measurement
from schedlab.results.metrics import Metric, NotUnderstood
from schedlab.simulation import interruptions, schedstats, summary
from schedlab.simulation.errors import SimulationFailed
from schedlab.simulation.models import Model
from schedlab.simulation.run import Running, Simulation
from schedlab.targets.sim.cases import RowProgram
from schedlab.workloads.base import Output


def measurement(trial: Trial, row: RowProgram, simulation: Simulation, running: Running) -> Measurement:
    """Wait for the outcome. ``elapsed`` is the simulation's real time; virtual times are among the counters."""
    command = tuple(summary.command(simulation))
    try:
        outcome = running.result()
    except SimulationFailed as error:
        return Measurement("failed", time.time(), running.seconds, reason=str(error), command=command)
    started = time.time() - running.seconds
    output = f"simulated: {outcome['end']}, digest {outcome['digest']}\n"
    if outcome["end"] == "horizon":
        reason = f"still running after {trial.row.timeout:g} s of virtual time"
        return Measurement("timeout", started, running.seconds, reason=reason, command=command, stdout=output)
    try:
        metrics = [*_metrics(row, outcome, simulation), *_group_metrics(trial.row, outcome)]
    except NotUnderstood as error:
        return Measurement("failed", started, running.seconds, reason=str(error), command=command, stdout=output)
    return Measurement(
        "ok",
        started,
        running.seconds,
        metrics,
        counters=counters(outcome, simulation.kernel),
        command=command,
        stdout=output,
    )


def _metrics(row: RowProgram, outcome: Mapping[str, Any], simulation: Simulation) -> list[Metric]:
    """Return the program's metrics, under the names of the tool that it replaces."""
    if row.watches and row.parameters is not None:
        least = row.parameters.model_dump()["threshold"]
        document = interruptions.document(outcome, simulation.machine, simulation.watched, least or 1)
        text = json.dumps(document)
        return row.adapter.parse(row.parameters, Output(text, "", 0.0, 0.0, 0.0, 0))
    measured = row.program.metrics(outcome)
    if row.metrics is None:
        return measured
    by_name = {metric.spec.name: metric for metric in measured}
    return [
        Metric(row.adapter.spec(name), by_name[native].value, by_name[native].samples)
        for name, native in row.metrics.items()
        if native in by_name
    ]


def _group_metrics(row: Row, outcome: Mapping[str, Any]) -> list[Metric]:
    """Return the metrics of the groups in which the workload and its loads run; the simulator has no pressure."""
    counted = {f"{group}.{name}": value for group, each in outcome["groups"].items() for name, value in each.items()}
    return [Metric(spec, counted[spec.name]) for spec in row.metrics if spec.name in counted]


NUMA = (
    "numa_pte_updates", "numa_hint_faults", "numa_hint_faults_local", "numa_pages_migrated", "numa_task_migrated",
    "numa_task_swapped",
)  # fmt: skip
"""Names of /proc/vmstat (``numa_task_*`` since 6.16)."""


def counters(outcome: Mapping[str, Any], kernel: Model) -> dict[str, float]:
    """Return counters under a real kernel's names, the simulator's (``sim.*``), and the ledger (``ledger.*_ns``).

    ``sim.balance_pass_ns`` is the mean time of a balancing pass, if there was one. With schedstats on, also return
    ``schedstat.*``. As in /proc/stat, a switch to or from idle is a context switch. A migration is a task that
    continues on another CPU.
    """
    simulated: Mapping[str, int] = outcome["counters"]
    as_kernel = {
        "context-switches": simulated["switches"],
        "cpu-migrations": sum(value for name, value in simulated.items() if "_migrations." in name),
        "forks": simulated["forks"],
        "interrupts.RES": simulated["ipis"],
        "interrupts.LOC": simulated["ticks"] + simulated["timer_interrupts"],
        "tree.voluntary-switches": simulated["voluntary"],
        "tree.involuntary-switches": simulated["preemptions"],
        "tree.minor-faults": simulated["page_faults"] + simulated["numa_hint_faults"],
        "vmstat.pgfault": simulated["vmstat.pgfault"],
    }
    if "kernel.numa_balancing" in kernel.tunables:
        as_kernel |= {f"vmstat.{name}": simulated[name] for name in NUMA}
    accounts = {f"ledger.{name}_ns": ns for name, ns in summary.accounts(outcome).items()}
    virtual = {f"sim.{name}": outcome[name] for name in ("elapsed_ns", "user_ns", "system_ns")}
    program = {f"program.{name}": value for name, value in outcome["program_counters"].items()}
    named = {f"sim.{name}": value for name, value in simulated.items()}
    passes = [outcome["latencies"][f"balance_cost.{kind}"] for kind in ("busy", "idle", "newidle")]
    number = sum(each["count"] for each in passes)
    means = {"sim.balance_pass_ns": sum(each["sum_ns"] for each in passes) / number} if number else {}
    everything = as_kernel | accounts | virtual | named | means | program | schedstats.counters(outcome)
    return {name: float(value) for name, value in everything.items()}
