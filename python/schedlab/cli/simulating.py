"""What ``schedlab simulate`` does, and how it shows an outcome."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from schedlab.cli.console import Console, make
from schedlab.cli.output_file import output
from schedlab.report.numbers import figure
from schedlab.simulation import models, schedstats
from schedlab.simulation.errors import ProgramError, SettingRefused, TimelineError
from schedlab.simulation.native import build, extension
from schedlab.simulation.programs import Program, program, program_file
from schedlab.simulation.running import Outcome, Pool, Simulation
from schedlab.simulation.settings import Settings, attributes, nanoseconds, seed_of, tunable
from schedlab.workloads.native import names as native_names

QUANTILES = ("p50_ns", "p90_ns", "p99_ns", "p99.9_ns")
"""Those that fit a terminal's width; JSON has more."""


@dataclass(frozen=True)
class Asked:
    """What the user asked for, in words."""

    words: Sequence[str]
    file: Path | None
    machine: str
    kernel: str | None
    seed: int
    tunables: Sequence[str]
    command_line: str
    policy: str
    priority: int | None
    nice: int
    slice: str | None
    cpus: str | None
    horizon: str | None
    changes: Sequence[str] = ()
    timeline: Path | None = None
    proc: Sequence[str] = ()


@dataclass(frozen=True)
class Done:
    """A simulation and its outcome."""

    simulation: Simulation
    parameters: Mapping[str, Any]
    outcome: Outcome
    proc: Sequence[str]


def simulate(asked: Asked) -> Done:
    """Run it; errors as in :mod:`schedlab.simulation.errors`."""
    machine, kernel = models.machine(asked.machine), models.kernel(asked.kernel or models.DEFAULT_KERNEL)
    made, parameters = _program(asked, machine.cpus)
    settings = Settings(
        seed=seed_of(asked.seed),
        tunables=dict(tunable(*_pair(text, "--set")) for text in asked.tunables),
        changes=[_change(text) for text in asked.changes],
        command_line=asked.command_line,
        horizon_ns=None if asked.horizon is None else nanoseconds(asked.horizon, "--horizon"),
        attributes=attributes(asked.policy, asked.priority, asked.nice, asked.slice, asked.cpus, kernel),
        pids=schedstats.pids(asked.proc),
    )
    simulation = Simulation(machine, kernel, made, settings)
    simulation.check()
    with Pool(1) as pool:
        if asked.timeline is None:
            return Done(simulation, parameters, pool.submit(simulation).result(), asked.proc)
        with output(asked.timeline, "--timeline") as file:
            try:
                return Done(simulation, parameters, pool.submit(simulation, file).result(), asked.proc)
            except TimelineError as error:
                raise TimelineError(error.what, where=str(asked.timeline), todo=_ROOM) from error


_ROOM = "a timeline takes tens of bytes for each switch and wake-up: --horizon ends a simulation earlier"


def _program(asked: Asked, cpus: int) -> tuple[Program, Mapping[str, Any]]:
    if asked.file is not None:
        if asked.words:
            raise ProgramError("a program from a file has no parameters", where=asked.words[0], todo="change the file")
        return program_file(asked.file), {}
    if not asked.words:
        raise ProgramError("name a program or give --program FILE", todo=f"programs: {', '.join(native_names())}")
    name, *rest = asked.words
    parameters = {key: _value(text) for key, text in (_pair(word, name) for word in rest)}
    return program(name, parameters, cpus), parameters


def _pair(text: str, where: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise SettingRefused(f"{text!r} is not KEY=VALUE", where=where)
    return key, value


def _change(text: str) -> tuple[int, str, int]:
    """``TIME:TUNABLE=VALUE``."""
    at, colon, rest = text.partition(":")
    if not (at and colon):
        raise SettingRefused(
            f"{text!r} is not TIME:TUNABLE=VALUE, such as 10ms:kernel.numa_balancing=0", where="--change"
        )
    return nanoseconds(at, "--change"), *tunable(*_pair(rest, "--change"))


def _value(text: str) -> Any:
    """A parameter as an experiment file would hold it: a number, true or false, else a text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, int | float) else text


def as_json(done: Done) -> str:
    """Everything but samples and buckets, which the Python API has."""
    simulation, outcome = done.simulation, done.outcome
    settings, ledger = simulation.settings, outcome["ledger"]
    distributions = {
        name: {key: value for key, value in each.items() if key != "buckets"}
        for name, each in outcome["latencies"].items()
    }
    told = {
        "kind": "simulated",
        "simulator": {"version": extension().__version__, "build": build()},
        "program": simulation.program.name,
        "parameters": done.parameters,
        "notes": list(simulation.program.notes),
        "machine": simulation.machine.name,
        "kernel": simulation.kernel.name,
        "tunables": settings.tunables,
        "changes": [{"at_ns": at, "tunable": name, "value": value} for at, name, value in settings.changes],
        "command_line": settings.command_line,
        "seed": settings.seed,
        **{key: outcome[key] for key in ("end", "end_ns", "elapsed_ns", "user_ns", "system_ns", "digest")},
        "metrics": [{k: v for k, v in metric.items() if k != "samples"} for metric in outcome["metrics"]],
        "counters": outcome["counters"],
        "program_counters": outcome["program_counters"],
        "ledger": {
            "closed_ns": ledger["closed_ns"],
            "total_ns": ledger["closed_ns"] * len(ledger["cpus"]),
            "accounts": totals(outcome),
            "cpus": [dict(zip(ledger["accounts"], times, strict=True)) for times in ledger["cpus"]],
        },
        "latencies": distributions,
        "locks": outcome["locks"],
        "schedstats": {
            "state": outcome["schedstats"]["state"],
            "note": schedstats.note(outcome),
            "counters": schedstats.counters(outcome),
        },
        "proc": schedstats.files(outcome, done.proc),
    }
    return json.dumps(told, indent=2)


def totals(outcome: Outcome) -> dict[str, int]:
    """Nanoseconds of each account over all CPUs."""
    ledger = outcome["ledger"]
    columns = zip(*ledger["cpus"], strict=True)
    return {name: sum(column) for name, column in zip(ledger["accounts"], columns, strict=True)}


def show_files(done: Done) -> None:
    """The files on standard output, as the kernel prints them; on standard error what they are of."""
    aside = make(stderr=True)
    _title(aside, done)
    if remark := schedstats.note(done.outcome):
        aside.say("note", remark)
    files = schedstats.files(done.outcome, done.proc)
    for name, text in files.items():
        if len(files) > 1:
            print(f"==> {name} <==")
        if text is not None:
            print(text, end="")


def _title(console: Console, done: Done) -> None:
    simulation = done.simulation
    given = " ".join(f"{key}={value}" for key, value in done.parameters.items())
    title = f"{simulation.program.name} {given}".strip()
    place = f"{simulation.machine.name} ({simulation.machine.cpus} CPUs) under {simulation.kernel.name}"
    console.say("SIMULATED", f"{title} on {place}, seed {simulation.settings.seed}", "bold")


def show(done: Done) -> None:
    """Tables for people."""
    console, simulation, outcome = make(), done.simulation, done.outcome
    _title(console, done)
    set_to = ", ".join(f"{name} = {value}" for name, value in simulation.settings.tunables.items())
    changes = ", ".join(f"{name} = {value} from {_time(at)} on" for at, name, value in simulation.settings.changes)
    for label, text in (("tunables", set_to), ("changes", changes), ("command line", simulation.settings.command_line)):
        if text:
            console.say(label, text, "dim")
    for note in simulation.program.notes:
        console.say("note", note, "yellow")
    how = "finished" if outcome["end"] == "finished" else "stopped at the horizon"
    console.print(f"{how} after {_time(outcome['elapsed_ns'])} of virtual time; no kernel was measured\n")
    parts = [_metrics(outcome), _ledger(outcome), _latencies(outcome)]
    if any(lock["contended"] for lock in outcome["locks"]):
        parts.append(_locks(outcome))
    for part in (*parts, _counters(outcome)):
        console.print(part)
        console.print()


def _metrics(outcome: Outcome) -> Table:
    table = _table("metric", "value", "unit", "better")
    for metric in outcome["metrics"]:
        value = "-" if metric["value"] is None else figure(metric["value"])
        table.add_row(metric["name"], value, metric["unit"], metric["direction"])
    return table


def _ledger(outcome: Outcome) -> Table:
    """Accounts with anything in them, largest first, and their sum."""
    accounts = totals(outcome)
    whole = sum(accounts.values())
    table = _table("where all CPUs' time went", "time", "share")
    for name, ns in sorted(accounts.items(), key=lambda item: -item[1]):
        if ns:
            table.add_row(name, _time(ns), f"{100 * ns / whole:.2f} %")
    table.add_row("sum", _time(whole), "100.00 %", style="dim")
    return table


def _latencies(outcome: Outcome) -> Table:
    table = _table("distribution", "count", *(name.removesuffix("_ns") for name in QUANTILES), "max")
    for name, each in outcome["latencies"].items():
        if each["count"] and not name.startswith("wakeup.cpu"):
            table.add_row(name, str(each["count"]), *(_time(each[key], 3) for key in (*QUANTILES, "max_ns")))
    return table


def _locks(outcome: Outcome) -> Table:
    """Locks by name; tasks that wait sleep, so their waiting is in no CPU's ledger."""
    table = _table("lock", "locks", "acquired", "waited for", "waiting", "longest")
    for lock in outcome["locks"]:
        counts = (str(lock[key]) for key in ("locks", "acquired", "contended"))
        table.add_row(lock["name"], *counts, _time(lock["waited_ns"]), _time(lock["longest_ns"]))
    return table


def _counters(outcome: Outcome) -> Table:
    table = _table("counter (those that counted)", "value")
    for name, value in {**outcome["counters"], **outcome["program_counters"]}.items():
        if value:
            table.add_row(name, str(value))
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place == 0 else "right", no_wrap=True)
    return table


def _time(ns: int, digits: int = 4) -> str:
    """Nanoseconds in the unit that fits."""
    for size, unit in ((10**9, "s"), (10**6, "ms"), (1000, "µs")):
        if ns >= size:
            return f"{figure(ns / size, digits)} {unit}"
    return f"{ns} ns"
