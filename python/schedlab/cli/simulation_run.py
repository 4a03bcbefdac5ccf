"""``schedlab sim run``: run one simulation and show its outcome."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedlab.cli.answering import AnswerFormat
from schedlab.cli.echo import echo
from schedlab.report.answer import Answer
from schedlab.report.answers.simulation import compose
from schedlab.simulation import models, schedstats
from schedlab.simulation.errors import ProgramError, SettingRefused, TimelineError
from schedlab.simulation.programs import Program, program, program_file
from schedlab.simulation.run import Outcome, Pool, Simulation
from schedlab.simulation.settings import Settings, attributes, memory_of, nanoseconds, seed_of, tunable
from schedlab.simulation.summary import summary
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


def answer(result: Result, form: AnswerFormat) -> Answer:
    """Compose the answer; only JSON names the simulator's build."""
    identified = form is AnswerFormat.JSON
    return compose(summary(result.simulation, result.outcome, result.proc, identified=identified))


def show_files(result: Result) -> None:
    """Print the files on standard output in the kernel's format, and what they are of on standard error."""
    composed = answer(result, AnswerFormat.TEXT)
    echo(f"SIMULATED {composed.title}, seed {result.simulation.settings.seed}", err=True)
    if note := schedstats.note(result.outcome):
        echo(f"note {note}", err=True)
    files = schedstats.files(result.outcome, result.proc)
    for name, text in files.items():
        if len(files) > 1:
            echo(f"==> {name} <==")
        if text is not None:
            echo(text, nl=False)
