"""One simulation from texts, as a command line has them. This module loads no data frames."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedlab.simulation import models, schedstats
from schedlab.simulation.errors import ProgramError, SettingRefused, TimelineError
from schedlab.simulation.programs import Program, program, program_file
from schedlab.simulation.run import Outcome, Pool, Simulation
from schedlab.simulation.settings import Settings, attributes, memory_of, nanoseconds, pair, seed_of, tunable
from schedlab.workloads.declarations import names as native_names


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
    times: Sequence[str | None] = (None, None, None)
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
        attributes=attributes(
            request.policy, request.priority, request.nice, request.slice, request.cpus, kernel, request.times
        ),
        pids=schedstats.pids(request.proc),
        memory=None if request.memory is None else memory_of(request.memory, "--memory"),
    )
    simulation = Simulation(machine, kernel, chosen, settings)
    simulation.check()
    return Result(simulation, parameters, outcome_of(simulation, request.timeline), request.proc)


def outcome_of(simulation: Simulation, timeline: Path | None) -> Outcome:
    """Run a simulation; write a trace of all its events to ``timeline``."""
    with Pool(1) as pool:
        if timeline is None:
            return pool.submit(simulation).result()
        from schedlab.files.output_file import output, remedy

        with output(timeline, remedy("--timeline")) as file:
            try:
                return pool.submit(simulation, file).result()
            except TimelineError as error:
                raise TimelineError(error.what, where=str(timeline), todo=_SHORTER) from error


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
