""":func:`schedlab.simulate`: simulations from Python, as data frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal

from schedlab.simulation.errors import SettingRefused
from schedlab.simulation.frames import Case, Simulated
from schedlab.simulation.models import DEFAULT_KERNEL, Model
from schedlab.simulation.models import kernel as kernel_model
from schedlab.simulation.models import machine as machine_model
from schedlab.simulation.programs import Program, program_file
from schedlab.simulation.programs import program as native_program
from schedlab.simulation.running import Pool, Simulation
from schedlab.simulation.settings import SAMPLES, Settings, attributes, nanoseconds, seed_of, tunable

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
    policy: Literal["other", "batch", "idle", "fifo", "rr"] = "other",
    priority: int | None = None,
    nice: int = 0,
    slice: str | None = None,
    cpus: str | None = None,
    horizon: str | None = None,
    samples: int = SAMPLES,
    workers: int | None = None,
) -> Simulated:
    """Simulate a program, once for every combination of machine, kernel, tunables and seed.

    Args:
        program: a native workload (``schedlab workloads``), or the path of a JSON file, as ``schedload
            show`` prints it or in rt-app's form.
        machine: a shipped machine (``schedlab machines list``) or the path of a TOML file; or several.
        kernel: a shipped kernel model (``schedlab kernels list``) or the path of a TOML file; or several.
        parameters: parameters of the workload, as in an experiment file.
        seed: random seed; 0 by default. ``seeds``: several seeds.
        tunables: values by name as in an experiment file; or several such sets, each a configuration.
        changes: (virtual time such as "10ms", tunable, value): changes while the program runs.
        command_line: command line of the simulated kernel, such as ``isolcpus=1-3``.
        policy, priority, nice, slice, cpus: attributes of all tasks, as in a variant of an experiment file.
        horizon: virtual time at which a simulation ends at the latest, such as "2s".
        samples: the most samples of a series that are kept; of a longer series, a random selection.
        workers: simulations at a time; by default one for each CPU that this process may use.

    Returns data frames; the same arguments give the same frames, for any number of ``workers``. Raises subclasses of
    :class:`schedlab.simulation.errors.SimulationError`, if possible before the first simulation.
    """
    if seed is not None and seeds is not None:
        raise SettingRefused("give seed or seeds, not both", where="seeds")
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
                attributes=attributes(policy, priority, nice, slice, cpus, under),
            )
            cases.append(Case(loaded.name, on.name, under.name, values, each))
            simulations.append(Simulation(on, under, loaded, settings))
    for simulation in simulations:
        simulation.check()
    with Pool(workers) as pool:
        waiting = [pool.submit(simulation) for simulation in simulations]
        return Simulated(
            cases, [future.result() for future in waiting], simulations[0].program.notes if simulations else ()
        )


def _several(given: Name | Sequence[Name], find: Any) -> list[Model]:
    return [find(name) for name in ([given] if isinstance(given, str | Path) else given)]


def _sets(given: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [given] if isinstance(given, Mapping) else list(given) or [{}]


def _program(given: Name, parameters: Mapping[str, Any] | None, cpus: int) -> Program:
    if isinstance(given, Path) or given.endswith(".json"):
        if parameters:
            raise SettingRefused("a program from a file has no parameters", where=str(given), todo="change the file")
        return program_file(Path(given))
    return native_program(given, parameters or {}, cpus)
