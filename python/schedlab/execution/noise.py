"""The measurement of what interrupts CPUs: the options, the measurement by the machine's agent, and its document."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schedlab.errors import CannotRunHere, SchedlabError
from schedlab.execution import noise_guest
from schedlab.execution.watch import Watch
from schedlab.notation.cpulist import format_cpu_list, parse_cpu_list
from schedlab.notation.units import parse_time_ns
from schedlab.observe.quiet import FILES, Machine
from schedlab.results.interruptions import Noise, noise_of
from schedlab.targets.selection import SIM, SSH, VM
from schedlab.tunables.journal.client import Client
from schedlab.workloads.base import Command
from schedlab.workloads.launcher import run_by

AROUND = 60.0
"""Seconds beyond the measurement's time for warming up and for reading the trace of a busy machine."""

AROUND_GUEST = 600.0
"""The same in a guest, which may be emulated."""

LONGEST = 3600.0
"""Longest measurement in seconds: the trace is kept in memory."""


@dataclass(frozen=True)
class Wanted:
    """The options of a measurement, as written.

    ``parts``: whether the parts of all gaps are wanted. ``tunables`` and ``seed`` belong to simulated machines.
    """

    cpus: str
    time: str
    threshold: str
    priority: str | None
    target: str
    cmdline: str | None
    trace: bool
    parts: bool = False
    tunables: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None


def measured(wanted: Wanted, watch: Watch) -> tuple[Noise, Machine | None]:
    """Measure on a machine; return the measurement, and the files of a real machine before and after it.

    SchedlabError for wrong options, CannotRunHere when the machine refuses.
    """
    target = wanted.target
    if wanted.cmdline is not None and not target.startswith((VM, SIM)):
        todo = "name a guest or a simulated machine: --target vm:debian-6.12@1x2, --target sim:laptop-4"
        raise SchedlabError("only a guest is booted with these parameters", where="--cmdline", todo=todo)
    seconds = _nanoseconds(wanted.time, "--for") / 1e9
    if not 0.01 <= seconds <= LONGEST:
        raise SchedlabError(f"{wanted.time!r} is not between 10ms and 1h", where="--for", todo="for example --for 60s")
    if target.startswith(SIM):
        return _simulated(wanted, seconds), None
    if wanted.tunables or wanted.seed is not None:
        raise SchedlabError(
            "only simulated machines take tunables and a seed",
            where="--set, --seed",
            todo="name a simulated machine, such as --target sim:laptop-4; a real machine is measured as it is",
        )
    words = ["--cpus", _cpus(wanted.cpus), "--for", f"{seconds:.9f}s"]
    if wanted.threshold != "auto":
        words += ["--threshold", str(_threshold(wanted.threshold))]
    if wanted.priority is not None:
        words += ["--fifo", _fifo(wanted.priority)]
    if not wanted.trace:
        words.append("--untraced")
    if wanted.parts:
        words.append("--parts")
    if target.startswith(VM):
        text = noise_guest.measured(target, wanted.cmdline, words, seconds + AROUND_GUEST, watch)
        return noise_of(json.loads(text), target), None
    text, machine = _on_machine(target, words, seconds + AROUND)
    return noise_of(json.loads(text), target), machine


def _on_machine(target: str, words: list[str], limit: float) -> tuple[str, Machine]:
    """Return the document, and the files of the machine before and after the measurement."""
    with _agent(target) as agent:
        before, began = agent.read(FILES)[0], time.monotonic()
        launched = run_by(agent, Command((agent.program, "noise", *words)), limit)
        seconds, after = time.monotonic() - began, agent.read(FILES)[0]
    if launched.status != 0:
        lines = [line.removeprefix("schedload: ") for line in launched.stderr.strip().splitlines()]
        raise CannotRunHere(lines[-1] if lines else f"schedload ended with {launched.status}", where=target)
    return launched.stdout, Machine(before, after, seconds, parse_cpu_list(words[1]))


def _simulated(wanted: Wanted, seconds: float) -> Noise:
    """Simulate a loop on each CPU; the errors of :mod:`schedlab.simulation.errors`."""
    from schedlab.simulation import interruptions, models
    from schedlab.simulation.run import Pool, Simulation
    from schedlab.simulation.settings import Attributes, Settings, attributes, seed_of, tunable
    from schedlab.targets.selection import split_simulated

    if not wanted.trace:
        raise SchedlabError("a simulation has no trace to leave out", where="--no-trace", todo="omit --no-trace")
    cpus = parse_cpu_list(_cpus(wanted.cpus))
    least_ns = 1 if wanted.threshold == "auto" else _threshold(wanted.threshold)
    machine_name, kernel_name = split_simulated(wanted.target)
    machine, kernel = models.machine(machine_name), models.kernel(kernel_name or models.DEFAULT_KERNEL)
    if (last := max(cpus)) >= machine.cpus:
        todo = f"name CPUs from 0 to {machine.cpus - 1}"
        raise SchedlabError(f"{machine.name} has no CPU {last}", where="--cpus", todo=todo)
    fifo = None if wanted.priority is None else int(_fifo(wanted.priority))
    policy, listed = ("other" if fifo is None else "fifo"), format_cpu_list(cpus)
    settings = Settings(
        seed=seed_of(wanted.seed or 0),
        tunables=dict(tunable(name, value) for name, value in wanted.tunables.items()),
        command_line=wanted.cmdline or "",
        attributes=attributes(policy, fifo, 0, None, listed, kernel),
        # ``schedload noise`` starts its loops from another CPU.
        main=Attributes(),
    )
    loops = interruptions.loop(f"{round(seconds * 1e9)}ns", len(cpus), machine.cpus)
    simulation = Simulation(machine, kernel, loops, settings, tuple(cpus))
    simulation.check()
    with Pool(1) as pool:
        outcome = pool.submit(simulation).result()
    document = interruptions.document(outcome, machine, cpus, least_ns, parts=wanted.parts)
    return noise_of({**document, "fifo": fifo}, f"{SIM}{machine.name}/{kernel.name}")


def stored(path: Path) -> Noise:
    """Return a stored measurement; SchedlabError when the file is not a measurement."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return noise_of(document, document.get("target", "host"))
    except (ValueError, AttributeError) as error:
        text = str(error).splitlines()[0]
        todo = "name a file that 'schedlab noise --format json' has written"
        raise SchedlabError(f"is not a measurement: {text}", where=str(path), todo=todo) from error


@contextmanager
def _agent(target: str) -> Iterator[Client]:
    if target == "host":
        from schedlab.tunables.journal.local import LocalAgent

        with closing(LocalAgent()) as agent:
            yield agent
        return
    if not target.startswith(SSH):
        todo = "name host, ssh:[USER@]HOST[:PORT], vm:KERNEL[@TOPOLOGY] or sim:MACHINE[/KERNEL]"
        raise SchedlabError(f"{target!r} is not a machine whose CPUs can be measured", where="--target", todo=todo)
    from schedlab.targets.ssh.target import Remote

    with closing(Remote(target.removeprefix(SSH))) as remote:
        yield remote.reached()


def _nanoseconds(text: str, option: str) -> int:
    try:
        return parse_time_ns(text)
    except ValueError as error:
        raise SchedlabError(str(error), where=option) from error


def _threshold(text: str) -> int:
    """Return a threshold in ns; a number without a unit is in ns."""
    return int(text) if text.isdecimal() and len(text) < 10 else _nanoseconds(text, "--threshold")


def _cpus(text: str) -> str:
    try:
        return format_cpu_list(parse_cpu_list(text))
    except ValueError as error:
        raise SchedlabError(str(error), where="--cpus") from error


def _fifo(text: str) -> str:
    policy, _, number = text.partition(":")
    if policy != "fifo" or not number.isdecimal() or not 1 <= int(number) <= 99:
        raise SchedlabError(f"{text!r} is not a real-time priority", where="--priority", todo="write fifo:1 to fifo:99")
    return number
