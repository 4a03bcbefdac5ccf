"""Write the table of docs/simulator.md: each native program on two simulated machines, with its use of CPU time.

.venv/bin/python docs/make_simulator_table.py
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from schedlab.report.numbers import figure
from schedlab.simulation import models
from schedlab.simulation.programs import Program, program
from schedlab.simulation.run import Outcome, Pool, Simulation
from schedlab.simulation.settings import Settings
from schedlab.simulation.summary import accounts
from schedlab.workloads.declarations import names as native_names

PAGE = Path(__file__).parent / "simulator.md"
BEGIN, END = "<!-- Made by docs/make_simulator_table.py -->", "<!-- end of the table -->"
MACHINES = ("laptop-4", "kunpeng920")
KERNEL = "linux-6.12"
SHORT = {"duration": 1, "warmup": 0}

PARAMETERS: dict[str, dict[str, Any]] = {
    "hackbench": {"groups": 4, "loops": 50},
    "pipetest": {"loops": 20_000},
    "stream": {"size": 16_384, "pairs": 4, **SHORT},
    "rr": {"pairs": 8, **SHORT},
    "tbench-native": {"clients": 16, **SHORT},
    "pgbench-native": {"clients": 16, "mode": "rw", **SHORT},
    "kernbench-native": {"directories": 8, "files": 8},
    "scripts": {"streams": 16, "scripts": 10},
    "schedbench": {"processes": 16, "memory": 32, "walks": 10},
    "wakeup": {"messages": 2, "workers": 8, **SHORT},
    "cyclic": {"threads": 4, **SHORT},
    "yield": {"tasks": 8, **SHORT},
    "futex": {"pairs": 8, **SHORT},
    "forkstorm": {"tasks": 8, **SHORT},
    "busyloop": {"tasks": 1, **SHORT},
    "kernel-path": {"path": "pipe-round", "loops": 20_000},
}
LARGEST, LEAST = 3, 0.01
"""Largest number of printed accounts, and their least share of the busy time."""


def main() -> None:
    """Simulate all programs, and write the table into the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}", encoding="utf-8")


def table() -> str:
    """Return the table as Markdown."""
    lines = [f"| program | judged | {' | '.join(f'{name} | its CPU time' for name in MACHINES)} |"]
    lines.append(f"|---|---|{'---|---|' * len(MACHINES)}")
    with Pool() as pool:
        simulations = {
            name: [(made := _program(name, machine), pool.submit(_simulation(made, machine))) for machine in MACHINES]
            for name in native_names()
        }
        for name, pairs in simulations.items():
            parameters = " ".join(f"{key}={value}" for key, value in PARAMETERS[name].items() if key not in SHORT)
            cells = [_cells(made, running.result()) for made, running in pairs]
            judged, shown = cells[0][0], " | ".join(f"{value} | {spent}" for _, value, spent in cells)
            lines.append(f"| `{name}` {parameters} | {judged} | {shown} |")
            sys.stderr.write(f"{name}\n")
    return "\n".join(lines)


def _program(name: str, machine: str) -> Program:
    return program(name, PARAMETERS[name], models.machine(machine).cpus)


def _simulation(made: Program, machine: str) -> Simulation:
    return Simulation(models.machine(machine), models.kernel(KERNEL), made, Settings())


def _cells(made: Program, outcome: Outcome) -> tuple[str, str, str]:
    """Return the first judged metric with its unit, its value, and the use of CPU time."""
    metric = next(metric for metric in made.metrics(outcome) if metric.spec.judged)
    return f"{metric.spec.name}, {metric.spec.unit}", figure(metric.value), _spent(accounts(outcome))


def _spent(accounts: Mapping[str, int]) -> str:
    """Format the busy share of all CPUs, and the largest accounts of the busy time."""
    busy = {name: ns for name, ns in accounts.items() if name != "idle"}
    total = sum(busy.values())
    largest = sorted(busy.items(), key=lambda item: -item[1])[:LARGEST]
    parts = ", ".join(f"{name} {100 * ns / total:.0f} %" for name, ns in largest if ns >= LEAST * total)
    return f"busy {100 * total / sum(accounts.values()):.0f} %: {parts}"


if __name__ == "__main__":
    main()
