"""The text of a machine file with measured costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schedlab.notation import toml_text
from schedlab.simulation.host.solve import Figure

AGENT_FLIPS = 16
"""``wakee_flips`` of the programs that an experiment's agent starts, see ``inherited_flips`` of machine files. On Linux
6.18 nine of ten forks of such a program had 16 to 31."""

Figures = Mapping[str, Figure]
"""Figures by dotted key of the machine file."""


def written(text: str, data: Mapping[str, Any], figures: Figures) -> str:
    """The machine file with the measured costs, and a comment on the source of each cost."""
    head, _, copied = text.partition("[costs]")
    nearest = copied.partition("'s, without exception")[0].removeprefix(" # ")
    kept = [line for line in head.splitlines() if not line.startswith(_REPLACED)]
    lines = [
        "# Made from this host by 'schedlab sim machines calibrate'. Topology, caches, clock, memory are this host's,",
        "# except where a comment states another source. A measured cost is the value with which the simulated probe",
        "# takes as long as the probe on this host. In parentheses: the extremes of the tries.",
        *kept,
        f"llc_kib = {data['llc_kib']} # sysfs, or the largest buffer that random reads find in the cache",
        "mwait = false # interrupts wake idle CPUs; what mwait saves is in the measured costs",
        f"inherited_flips = {AGENT_FLIPS} # experiments start programs by schedload's agent, not by a shell",
    ]
    if "noise" in data:
        lines.append(
            "# Measured: gaps of a loop on one CPU that are at least three ticks long; means of sixteenths of all gaps."
        )
        lines.append(f"noise = {toml_text.value(data['noise'])}")
    if "speeds" in data:
        lines.append(
            "# Durations: measured, write() to /dev/null on two CPUs at once; means of sixteenths of all passes."
        )
        lines.append("# The mean interval is not measured: in about this time two virtual CPUs changed their ratio.")
        lines.append(f"speeds = {toml_text.value(data['speeds'])}")
    lines.append(f'costs_kernel = "{data["costs_kernel"]}" # the kernel model of the simulated probes')
    taken = f"copied from {nearest}"
    for state in range(len(data["idle"])):
        figure = figures.get(f"idle.{state}.exit_ns")
        lines.append(f"# idle state {state}: {figure.comment if figure else taken}")
    lines.append(f"idle = {toml_text.value(data['idle'])}")
    lines.append("")
    lines.append(f"[costs] # measured here, or {taken}")
    for key, cost in data["costs"].items():
        places = [f"costs.{key}"] if not isinstance(cost, Mapping) else [f"costs.{key}.{place}" for place in cost]
        known = {place: figures[place] for place in places if place in figures}
        for place, figure in known.items():
            name = place.removeprefix(f"costs.{key}").removeprefix(".")
            lines.append(f"# {name}: {figure.comment}" if name else f"# {figure.comment}")
        rest = "" if len(known) == len(places) else f" # {taken}" if not known else f" # the other distances: {taken}"
        lines.append(f"{key} = {toml_text.value(cost)}{rest}")
    return "\n".join(lines) + "\n"


_FROM_HOST = ("# Made from this host", "# except where a comment", "# the most similar shipped machine")
"""Beginnings of the lines about 'from-host' at the start of the file of 'from-host'."""

_REPLACED = (*_FROM_HOST, "idle = ", "mwait = ", "inherited_flips = ", "costs_kernel = ", "llc_kib = ")
"""Beginnings of the lines of that file which the calibration writes itself."""
