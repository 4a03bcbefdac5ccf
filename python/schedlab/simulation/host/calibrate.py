"""A machine file of the host with measured costs, where a cost can be measured."""

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

from schedlab.extension import extension
from schedlab.simulation.errors import ModelError
from schedlab.simulation.host import probes
from schedlab.simulation.host.from_host import machine_file

MOST_WALK_KIB = 512 << 10
"""The largest buffer that is read: a virtual machine may report the cache of its entire host."""


@dataclass(frozen=True)
class Figure:
    """A measured cost: the median in ns, the extremes of the tries, and the method.

    A median below 1 ns means that noise hid the cost.
    """

    ns: int
    low: float
    high: float
    tries: int
    how: str

    @property
    def comment(self) -> str:
        """The comment in the file."""
        return f"measured: median of {self.tries} ({self.low:.0f} to {self.high:.0f}), {self.how}"


Figures = dict[str, Figure | dict[str, Figure]]
"""Figures by the key of the cost. Costs by distance have a figure for each measured distance."""


def calibrated(schedload: str, tries: int = 5, name: str | None = None) -> str:
    """Return the TOML text of a machine like this host. ModelError as of ``machine_file``, or when a probe fails."""
    text = machine_file(Path("/"), name)
    data = tomllib.loads(text)
    try:
        figures = measured(schedload, data, tries)
    except (OSError, subprocess.SubprocessError) as error:
        raise ModelError(f"a probe failed: {error}", todo="'schedlab doctor' names the missing requirements") from error
    calibrated_text = _with_figures(text, data["costs"], figures)
    extension().check_machine(calibrated_text)
    return calibrated_text


def measured(schedload: str, machine: Mapping[str, Any], tries: int) -> Figures:
    """Measure the costs that a program of one task, or of two tasks on one CPU, can measure."""
    cpu = min(os.sched_getaffinity(0))
    costs = machine["costs"]

    def figure(probe: Callable[[], float], how: str) -> Figure:
        return _figure([probe() for _ in range(tries)], how)

    figures: Figures = {
        "syscall": figure(lambda: probes.call(os.getppid), "getppid() from Python"),
        "clock_read": figure(lambda: probes.call(time.monotonic_ns), "monotonic_ns() from Python"),
        "page_fault": figure(probes.page_fault, "first touch of 4 KiB, no huge pages"),
    }
    syscall = _ns(figures["syscall"])
    for key, make in (("pipe", probes.pipe), ("unix", partial(probes.sockets, "unix"))):
        means = [sum(make()) / 2 - syscall for _ in range(tries)]
        figures[key] = _figure(means, "mean of writing and reading 4 bytes, less syscall")
    for kind in ("tcp", "udp"):
        both = [probes.sockets(kind) for _ in range(tries)]
        for side, key in enumerate((f"{kind}_send", f"{kind}_receive")):
            how = f"{key.replace('_', ' ')} of 4 bytes over loopback, less syscall"
            figures[key] = _figure([each[side] - syscall for each in both], how)
    figures |= _caches(machine, tries)

    trip = [1000 * probes.samples(schedload, cpu, "latency", "pipetest", "--loops", "5000") for _ in range(tries)]
    once = [each / 2 - 2 * (syscall + _ns(figures["pipe"])) for each in trip]
    how = "half of a round of 'schedload pipetest' on one CPU, less its reads and writes"
    switch = _split(
        once, {"wakeup": costs["wakeup"]["core"], "schedule": costs["schedule"], "switch": costs["switch"]}, how
    )
    figures |= {"schedule": switch["schedule"], "switch": switch["switch"], "wakeup": {"core": switch["wakeup"]}}

    storm = ("forkstorm", "--tasks", "1", "--warmup", "20ms", "--duration", "200ms")
    forks = [1000 * probes.samples(schedload, cpu, "latency", *storm) for _ in range(tries)]
    execs = [1000 * probes.samples(schedload, cpu, "latency", *storm, "--exec") for _ in range(tries)]
    switch_ns = sum(map(_ns, switch.values()))
    how = "a child of 'schedload forkstorm' on one CPU, less a wake-up and a switch"
    figures |= _split([each - switch_ns for each in forks], {key: costs[key] for key in ("fork", "exit", "wait")}, how)
    how = "'schedload forkstorm --exec' less the same without --exec"
    figures["exec"] = _figure([exec_ - fork for exec_, fork in zip(sorted(execs), sorted(forks), strict=True)], how)
    return figures


def _caches(machine: Mapping[str, Any], tries: int) -> Figures:
    """Measure reads from the private caches, the last-level cache and memory, except for buffers that are too large."""
    private, llc = machine["private_kib"], machine["llc_kib"]
    half = max(1, private // 2)
    near = _figure([probes.walk(half) for _ in range(tries)], f"a sum over {half} KiB")
    refill: dict[str, Figure] = {}
    for place, kib in (("llc", min(4 * private, llc // 2)), ("node", 4 * llc)):
        if 2 * private <= kib <= MOST_WALK_KIB:
            walks = [probes.walk(kib) - near.ns for _ in range(tries)]
            refill[place] = _figure(walks, f"a sum over {kib} KiB, less touch_kib")
    figures: Figures = {"touch_kib": near}
    return figures | {"refill_kib": refill} if refill else figures


def _figure(values: list[float], how: str) -> Figure:
    return Figure(round(statistics.median(values)), min(values), max(values), len(values), how)


def _split(values: list[float], parts: Mapping[str, int], how: str) -> dict[str, Figure]:
    """Split a measured sum in the proportions of the most similar machine's costs."""
    total = sum(parts.values())
    method = f"{how}; {' + '.join(parts)} together, split as for the most similar machine"
    return {key: _figure([value * part / total for value in values], method) for key, part in parts.items()}


def _ns(figure: Figure | Mapping[str, Figure]) -> int:
    assert isinstance(figure, Figure)
    return figure.ns


def _with_figures(text: str, costs: Mapping[str, Any], figures: Figures) -> str:
    """The machine file with the measured costs, and a comment on the source of each cost."""
    head, _, copied = text.partition("[costs]")
    nearest = copied.partition("'s, without exception")[0].removeprefix(" # ")
    lines = [line for line in head.splitlines() if not line.startswith(_FROM_HOST)]
    lines[0:0] = [
        "# Made from this host by 'schedlab machines calibrate'. Topology, caches, clock and memory are this host's,",
        f"# except where a comment states another source. Idle states are {nearest}'s, the most similar shipped "
        f"machine.",
        "# Costs that one task, or two tasks on one CPU, can measure are measured: a try is the least of many figures.",
    ]
    lines.append(f"[costs] # measured here, or copied from {nearest}")
    taken = f"copied from {nearest}"
    for key, cost in costs.items():
        figure = figures.get(key, {})
        places = {"": figure} if isinstance(figure, Figure) else figure
        usable = {place: each for place, each in places.items() if each.ns > 0}
        for place, each in places.items():
            comment = each.comment if each.ns > 0 else f"{taken}, because noise exceeded the difference"
            lines.append(f"# {place}: {comment}" if place else f"# {comment}")
        if "" in usable:
            lines.append(f"{key} = {usable[''].ns}")
        elif not usable:
            lines.append(f"{key} = {_toml(cost)} # {taken}")
        else:
            merged = cost | {place: each.ns for place, each in usable.items()}
            lines.append(f"{key} = {_toml(merged)} # the other distances: {taken}")
    return "\n".join(lines) + "\n"


_FROM_HOST = ("# Made from this host", "# except where a comment", "# the most similar shipped machine")
"""Beginnings of the lines about 'from-host' at the start of the file of 'from-host'."""


def _toml(cost: int | Mapping[str, int]) -> str:
    if isinstance(cost, int):
        return str(cost)
    return "{ " + ", ".join(f"{key} = {value}" for key, value in cost.items()) + " }"
