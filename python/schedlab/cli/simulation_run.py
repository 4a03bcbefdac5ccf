"""``schedlab sim run``: run one simulation and show its outcome."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedlab.cli.echo import echo
from schedlab.cli.plain_page import Page
from schedlab.extension import build, extension
from schedlab.report.numbers import figure
from schedlab.simulation import models, schedstats
from schedlab.simulation.errors import ProgramError, SettingRefused, TimelineError
from schedlab.simulation.programs import Program, program, program_file
from schedlab.simulation.run import Outcome, Pool, Simulation
from schedlab.simulation.settings import Settings, attributes, memory_of, nanoseconds, seed_of, tunable
from schedlab.workloads.declarations import names as native_names

QUANTILES = ("p50_ns", "p90_ns", "p99_ns", "p99.9_ns")
"""Quantiles that fit the width of a terminal; JSON has more."""


@dataclass(frozen=True)
class Request:
    """The arguments of the command, as texts."""

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
    memory: str | None = None
    timeline: Path | None = None
    proc: Sequence[str] = ()


@dataclass(frozen=True)
class Result:
    """A simulation and its outcome."""

    simulation: Simulation
    parameters: Mapping[str, Any]
    outcome: Outcome
    proc: Sequence[str]


def simulate(request: Request) -> Result:
    """Run the simulation; raises the errors of :mod:`schedlab.simulation.errors`."""
    machine, kernel = models.machine(request.machine), models.kernel(request.kernel or models.DEFAULT_KERNEL)
    chosen, parameters = _program(request, machine.cpus)
    settings = Settings(
        seed=seed_of(request.seed),
        tunables=dict(tunable(*pair(text, "--set")) for text in request.tunables),
        changes=[_change(text) for text in request.changes],
        command_line=request.command_line,
        horizon_ns=None if request.horizon is None else nanoseconds(request.horizon, "--horizon"),
        attributes=attributes(request.policy, request.priority, request.nice, request.slice, request.cpus, kernel),
        pids=schedstats.pids(request.proc),
        memory=None if request.memory is None else memory_of(request.memory, "--memory"),
    )
    simulation = Simulation(machine, kernel, chosen, settings)
    simulation.check()
    with Pool(1) as pool:
        if request.timeline is None:
            return Result(simulation, parameters, pool.submit(simulation).result(), request.proc)
        from schedlab.cli.output_file import output, remedy

        with output(request.timeline, remedy("--timeline")) as file:
            try:
                return Result(simulation, parameters, pool.submit(simulation, file).result(), request.proc)
            except TimelineError as error:
                raise TimelineError(error.what, where=str(request.timeline), todo=_SHORTER) from error


_SHORTER = "a timeline takes tens of bytes for each switch and wake-up: --horizon ends a simulation earlier"


def _program(request: Request, cpus: int) -> tuple[Program, Mapping[str, Any]]:
    if request.file is not None:
        if request.words:
            raise ProgramError(
                "a program from a file has no parameters", where=request.words[0], todo="change the file"
            )
        return program_file(request.file), {}
    if not request.words:
        raise ProgramError("name a program or give --program FILE", todo=f"programs: {', '.join(native_names())}")
    name, *rest = request.words
    parameters = {key: _value(text) for key, text in (pair(word, name) for word in rest)}
    return program(name, parameters, cpus), parameters


def pair(text: str, where: str) -> tuple[str, str]:
    """Divide ``KEY=VALUE``; SettingRefused for another text."""
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise SettingRefused(f"{text!r} is not KEY=VALUE", where=where, todo="write the name, '=' and the value")
    return key, value


def _change(text: str) -> tuple[int, str, int]:
    """Parse ``TIME:TUNABLE=VALUE``."""
    at, colon, rest = text.partition(":")
    if not (at and colon):
        raise SettingRefused(
            f"{text!r} is not TIME:TUNABLE=VALUE", where="--change", todo="write 10ms:kernel.numa_balancing=0"
        )
    return nanoseconds(at, "--change"), *tunable(*pair(rest, "--change"))


def _value(text: str) -> Any:
    """A parameter as in an experiment file: a number, true or false, otherwise a text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, int | float) else text


def as_json(result: Result) -> str:
    """The outcome as JSON, without samples and buckets, which the Python API returns."""
    simulation, outcome = result.simulation, result.outcome
    settings, ledger = simulation.settings, outcome["ledger"]
    distributions = {
        name: {key: value for key, value in each.items() if key != "buckets"}
        for name, each in outcome["latencies"].items()
    }
    document = {
        "kind": "simulated",
        "simulator": {"version": extension().__version__, "build": build()},
        "program": simulation.program.name,
        "parameters": result.parameters,
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
        "proc": schedstats.files(outcome, result.proc),
    }
    return json.dumps(document, indent=2)


def totals(outcome: Outcome) -> dict[str, int]:
    """Nanoseconds of each account over all CPUs."""
    ledger = outcome["ledger"]
    columns = zip(*ledger["cpus"], strict=True)
    return {name: sum(column) for name, column in zip(ledger["accounts"], columns, strict=True)}


def show_files(result: Result) -> None:
    """Print the files on standard output in the kernel's format. Print the title on standard error."""
    page = Page(stderr=True)
    _title(page, result)
    if note := schedstats.note(result.outcome):
        page.say("note", note, "yellow")
    page.write()
    files = schedstats.files(result.outcome, result.proc)
    for name, text in files.items():
        if len(files) > 1:
            echo(f"==> {name} <==")
        if text is not None:
            echo(text, nl=False)


def _title(page: Page, result: Result) -> None:
    simulation = result.simulation
    parameters = " ".join(f"{key}={value}" for key, value in result.parameters.items())
    title = f"{simulation.program.name} {parameters}".strip()
    place = f"{simulation.machine.name} ({simulation.machine.cpus} CPUs) under {simulation.kernel.name}"
    page.say("SIMULATED", f"{title} on {place}, seed {simulation.settings.seed}", "bold")


def show(result: Result) -> None:
    """Print the outcome as tables."""
    page, simulation, outcome = Page(), result.simulation, result.outcome
    _title(page, result)
    set_to = ", ".join(f"{name} = {value}" for name, value in simulation.settings.tunables.items())
    changes = ", ".join(f"{name} = {value} from {_time(at)} on" for at, name, value in simulation.settings.changes)
    for label, text in (("tunables", set_to), ("changes", changes), ("command line", simulation.settings.command_line)):
        if text:
            page.say(label, text, "dim")
    for note in simulation.program.notes:
        page.say("note", note, "yellow")
    how = "finished" if outcome["end"] == "finished" else "stopped at the horizon"
    page.text(f"{how} after {_time(outcome['elapsed_ns'])} of virtual time; no kernel was measured\n")
    page.table(("metric", "value", "unit", "better"), list(_metrics(outcome)))
    page.table(("where all CPUs' time went", "time", "share"), list(_ledger(outcome)), dims_last=True)
    quantiles = [name.removesuffix("_ns") for name in QUANTILES]
    page.table(("distribution", "count", *quantiles, "max"), list(_latencies(outcome)))
    if any(lock["contended"] for lock in outcome["locks"]):
        page.table(("lock", "locks", "acquired", "waited for", "waiting", "longest"), list(_locks(outcome)))
    page.table(("counter (not 0)", "value"), list(_counters(outcome)))
    page.write()


def _metrics(outcome: Outcome) -> Iterator[Sequence[str]]:
    for metric in outcome["metrics"]:
        value = "-" if metric["value"] is None else figure(metric["value"])
        yield metric["name"], value, metric["unit"], metric["direction"]


def _ledger(outcome: Outcome) -> Iterator[Sequence[str]]:
    """Accounts that are not empty, largest first, and their sum."""
    accounts = totals(outcome)
    total = sum(accounts.values())
    for name, ns in sorted(accounts.items(), key=lambda item: -item[1]):
        if ns:
            yield name, _time(ns), f"{100 * ns / total:.2f} %"
    yield "sum", _time(total), "100.00 %"


def _latencies(outcome: Outcome) -> Iterator[Sequence[str]]:
    for name, each in outcome["latencies"].items():
        if each["count"] and not name.startswith("wakeup.cpu"):
            yield name, str(each["count"]), *(_time(each[key], 3) for key in (*QUANTILES, "max_ns"))


def _locks(outcome: Outcome) -> Iterator[Sequence[str]]:
    """Locks by name. Waiting tasks sleep, so no CPU's ledger contains their waiting time."""
    for lock in outcome["locks"]:
        counts = (str(lock[key]) for key in ("locks", "acquired", "contended"))
        yield lock["name"], *counts, _time(lock["waited_ns"]), _time(lock["longest_ns"])


def _counters(outcome: Outcome) -> Iterator[Sequence[str]]:
    for name, value in {**outcome["counters"], **outcome["program_counters"]}.items():
        if value:
            yield name, str(value)


def _time(ns: int, digits: int = 4) -> str:
    """Format nanoseconds in the largest unit in which the value is at least 1."""
    for size, unit in ((10**9, "s"), (10**6, "ms"), (1000, "µs")):
        if ns >= size:
            return f"{figure(ns / size, digits)} {unit}"
    return f"{ns} ns"
