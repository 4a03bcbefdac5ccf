"""The summary of a simulation, as the fields of the JSON object of ``schedlab sim run``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from schedlab.extension import build, extension
from schedlab.simulation import schedstats
from schedlab.simulation.run import Outcome, Simulation


def summary(
    simulation: Simulation, outcome: Outcome, proc: Sequence[str] = (), *, identified: bool = True
) -> dict[str, Any]:
    """Return the outcome without samples and buckets, which the Python API returns.

    :class:`schedlab.report.fields.simulation.Fields` describes the fields.

    Args:
        simulation: the input.
        outcome: the outcome.
        proc: names of simulated files.
        identified: whether to name the simulator's build, which takes longer than most other fields together.
    """
    settings, program = simulation.settings, simulation.program
    horizon = [] if settings.horizon_ns is None else ["--horizon", f"{settings.horizon_ns}ns"]
    return {
        "kind": "simulated",
        "simulator": {"version": extension().__version__, "build": build() if identified else None},
        "command": [*command(simulation), *horizon] if _shipped(simulation) else None,
        "program": program.name,
        "parameters": dict(program.parameters),
        "notes": list(program.notes),
        "machine": simulation.machine.name,
        "cpus": simulation.machine.cpus,
        "kernel": simulation.kernel.name,
        "tunables": dict(settings.tunables),
        "changes": [{"at_ns": at, "tunable": name, "value": value} for at, name, value in settings.changes],
        "attributes": _attributes(simulation),
        "command_line": settings.command_line,
        "seed": settings.seed,
        **{key: outcome[key] for key in ("end", "end_ns", "elapsed_ns", "user_ns", "system_ns", "digest")},
        "metrics": [{k: v for k, v in metric.items() if k != "samples"} for metric in outcome["metrics"]],
        "counters": outcome["counters"],
        "program_counters": outcome["program_counters"],
        "ledger": _ledger(outcome),
        "latencies": {
            name: {key: value for key, value in each.items() if key != "buckets"}
            for name, each in outcome["latencies"].items()
        },
        "locks": outcome["locks"],
        "schedstats": {
            "state": outcome["schedstats"]["state"],
            "note": schedstats.note(outcome),
            "counters": schedstats.counters(outcome),
        },
        "proc": schedstats.files(outcome, proc),
    }


def accounts(outcome: Outcome) -> dict[str, int]:
    """Return the nanoseconds of each account of the ledger over all CPUs."""
    ledger = outcome["ledger"]
    return {name: sum(times) for name, times in zip(ledger["accounts"], zip(*ledger["cpus"], strict=True), strict=True)}


def _ledger(outcome: Outcome) -> dict[str, Any]:
    ledger, totals = outcome["ledger"], accounts(outcome)
    whole = ledger["closed_ns"] * len(ledger["cpus"])
    largest = sorted(totals.items(), key=lambda item: -item[1])
    return {
        "closed_ns": ledger["closed_ns"],
        "total_ns": whole,
        "accounts": totals,
        "shares": {name: ns / whole for name, ns in largest if ns},
        "cpus": [dict(zip(ledger["accounts"], times, strict=True)) for times in ledger["cpus"]],
    }


def command(simulation: Simulation) -> list[str]:
    """Return the command that repeats a simulation of a native workload on shipped models."""
    settings, program = simulation.settings, simulation.program
    parameters = [f"{key}={_word(value)}" for key, value in program.parameters.items()]
    words = ["schedlab", "sim", "run", program.name, *parameters]
    words += ["--machine", simulation.machine.name, "--kernel", simulation.kernel.name, "--seed", str(settings.seed)]
    for name, number in settings.tunables.items():
        words += ["--set", f"{name}={number}"]
    for at, name, number in settings.changes:
        words += ["--change", f"{at}ns:{name}={number}"]
    if settings.command_line:
        words += ["--cmdline", settings.command_line]
    return words + [f"--{name}={value}" for name, value in _attributes(simulation).items()]


def _attributes(simulation: Simulation) -> dict[str, Any]:
    """Return the scheduling attributes that differ from the default, as the command line takes them."""
    given = simulation.settings.attributes
    if given is None:
        return {}
    values = {
        "policy": None if given.policy == "other" else given.policy,
        "priority": given.priority,
        "nice": given.nice or None,
        "slice": None if given.slice_ns is None else f"{given.slice_ns}ns",
        "cpus": None if given.cpus is None else ",".join(map(str, given.cpus)),
    }
    if given.budget is not None:
        values |= {name: f"{ns}ns" for name, ns in zip(("runtime", "deadline", "period"), given.budget, strict=True)}
    return {name: value for name, value in values.items() if value is not None}


def _shipped(simulation: Simulation) -> bool:
    """Return whether names say which program and which models."""
    machines, kernels = extension().machines(), extension().kernels()
    return (
        simulation.program.workload is not None
        and machines.get(simulation.machine.name) == simulation.machine.text
        and kernels.get(simulation.kernel.name) == simulation.kernel.text
    )


def _word(value: object) -> str:
    """Format a value in the notation of ``schedlab sim run``."""
    return json.dumps(value) if isinstance(value, bool | int | float) else str(value)
