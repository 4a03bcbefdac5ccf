"""A machine file of the host with costs that were measured on it, where they can be."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from schedlab.simulation.errors import ModelError
from schedlab.simulation.host import probes
from schedlab.simulation.host.file import machine_file
from schedlab.simulation.native import extension

MOST_WALK_KIB = 512 << 10
"""Larger buffers are not walked: a virtual machine may see the whole host's cache."""


@dataclass(frozen=True)
class Figure:
    """A cost in ns, the tries' extremes, and how it was got. One below 1 was lost in the noise of a difference."""

    ns: int
    low: float
    high: float
    tries: int
    how: str

    @property
    def comment(self) -> str:
        """What stands beside it in the file."""
        return f"measured: median of {self.tries} ({self.low:.0f} to {self.high:.0f}), {self.how}"


Figures = dict[str, Figure | dict[str, Figure]]
"""By the cost's key; costs by distance have a figure for each distance that was measured."""


def calibrated(schedload: str, tries: int = 5, name: str | None = None) -> str:
    """The TOML text of a machine like this host. ModelError as of ``machine_file``, or when a probe fails."""
    text = machine_file(Path("/"), name)
    data = tomllib.loads(text)
    try:
        figures = measured(schedload, data, tries)
    except (OSError, subprocess.SubprocessError) as error:
        raise ModelError(f"a probe failed: {error}", todo="'schedlab doctor' says what is missing") from error
    written = _written(text, data["costs"], figures)
    extension().check_machine(written)
    return written


def measured(schedload: str, machine: Mapping[str, Any], tries: int) -> Figures:
    """What can be measured by one task, or by two on one CPU."""
    cpu = min(os.sched_getaffinity(0))
    costs = machine["costs"]

    def figure(probe: Callable[[], float], how: str) -> Figure:
        return _figure([probe() for _ in range(tries)], how)

    found: Figures = {
        "syscall": figure(lambda: probes.call(os.getppid), "getppid() from Python"),
        "clock_read": figure(lambda: probes.call(time.monotonic_ns), "monotonic_ns() from Python"),
        "page_fault": figure(probes.page_fault, "first touch of 4 KiB, no huge pages"),
    }
    syscall = _ns(found["syscall"])
    for key, make in (("pipe", probes.pipe), ("unix", partial(probes.sockets, "unix"))):
        means = [sum(make()) / 2 - syscall for _ in range(tries)]
        found[key] = _figure(means, "mean of writing and reading 4 bytes, less syscall")
    for kind in ("tcp", "udp"):
        both = [probes.sockets(kind) for _ in range(tries)]
        for side, key in enumerate((f"{kind}_send", f"{kind}_receive")):
            how = f"{key.replace('_', ' ')} of 4 bytes over loopback, less syscall"
            found[key] = _figure([each[side] - syscall for each in both], how)
    found |= _caches(machine, tries)

    trip = [1000 * probes.samples(schedload, cpu, "latency", "pipetest", "--loops", "5000") for _ in range(tries)]
    once = [each / 2 - 2 * (syscall + _ns(found["pipe"])) for each in trip]
    how = "half of a round of 'schedload pipetest' on one CPU, less its reads and writes"
    switch = _split(
        once, {"wakeup": costs["wakeup"]["core"], "schedule": costs["schedule"], "switch": costs["switch"]}, how
    )
    found |= {"schedule": switch["schedule"], "switch": switch["switch"], "wakeup": {"core": switch["wakeup"]}}

    storm = ("forkstorm", "--tasks", "1", "--warmup", "20ms", "--duration", "200ms")
    forks = [1000 * probes.samples(schedload, cpu, "latency", *storm) for _ in range(tries)]
    execs = [1000 * probes.samples(schedload, cpu, "latency", *storm, "--exec") for _ in range(tries)]
    rest = sum(map(_ns, switch.values()))
    how = "a child of 'schedload forkstorm' on one CPU, less a wake-up and a switch"
    found |= _split([each - rest for each in forks], {key: costs[key] for key in ("fork", "exit", "wait")}, how)
    how = "'schedload forkstorm --exec' less without"
    found["exec"] = _figure([exec_ - fork for exec_, fork in zip(sorted(execs), sorted(forks), strict=True)], how)
    return found


def _caches(machine: Mapping[str, Any], tries: int) -> Figures:
    """Reading what lies in the private caches, the last-level cache and memory; what is too large is left out."""
    private, llc = machine["private_kib"], machine["llc_kib"]
    half = max(1, private // 2)
    near = _figure([probes.walk(half) for _ in range(tries)], f"a sum over {half} KiB")
    refill: dict[str, Figure] = {}
    for place, kib in (("llc", min(4 * private, llc // 2)), ("node", 4 * llc)):
        if 2 * private <= kib <= MOST_WALK_KIB:
            walks = [probes.walk(kib) - near.ns for _ in range(tries)]
            refill[place] = _figure(walks, f"a sum over {kib} KiB, less touch_kib")
    found: Figures = {"touch_kib": near}
    return found | {"refill_kib": refill} if refill else found


def _figure(values: list[float], how: str) -> Figure:
    return Figure(round(statistics.median(values)), min(values), max(values), len(values), how)


def _split(values: list[float], parts: Mapping[str, int], how: str) -> dict[str, Figure]:
    """A sum that cannot be taken apart, in the proportions that the nearest machine's parts have."""
    whole = sum(parts.values())
    names = " + ".join(parts)
    told = f"{how}; {names} together, split as the nearest machine's"
    return {key: _figure([value * part / whole for value in values], told) for key, part in parts.items()}


def _ns(found: Figure | Mapping[str, Figure]) -> int:
    assert isinstance(found, Figure)
    return found.ns


def _written(text: str, costs: Mapping[str, Any], figures: Figures) -> str:
    """The machine file with the measured costs in place of the others, each with where it comes from."""
    head, _, borrowed = text.partition("[costs]")
    nearest = borrowed.partition("'s, all of them")[0].removeprefix(" # ")
    lines = [line for line in head.splitlines() if not line.startswith(_FROM_HOST)]
    lines[0:0] = [
        "# Made from this host by 'schedlab machines calibrate'. Topology, caches, clock and memory are the host's own",
        f"# where nothing else is said; idle states are {nearest}'s, the shipped machine most like it.",
        "# What one task, or two on one CPU, can measure was measured; each try is the least of many.",
    ]
    lines.append(f"[costs] # measured here, or taken over from {nearest}")
    taken = f"taken over from {nearest}"
    for key, cost in costs.items():
        figure = figures.get(key, {})
        places = {"": figure} if isinstance(figure, Figure) else figure
        usable = {place: each for place, each in places.items() if each.ns > 0}
        for place, each in places.items():
            told = each.comment if each.ns > 0 else f"{taken}, for the difference was lost in noise"
            lines.append(f"# {place}: {told}" if place else f"# {told}")
        if "" in usable:
            lines.append(f"{key} = {usable[''].ns}")
        elif not usable:
            lines.append(f"{key} = {_toml(cost)} # {taken}")
        else:
            merged = cost | {place: each.ns for place, each in usable.items()}
            lines.append(f"{key} = {_toml(merged)} # the other distances: {taken}")
    return "\n".join(lines) + "\n"


_FROM_HOST = ("# Made from this host", "# where nothing else is said", "# the shipped machine most like it")
"""What 'from-host' says of itself at the beginning of its file."""


def _toml(cost: int | Mapping[str, int]) -> str:
    if isinstance(cost, int):
        return str(cost)
    return "{ " + ", ".join(f"{key} = {value}" for key, value in cost.items()) + " }"
