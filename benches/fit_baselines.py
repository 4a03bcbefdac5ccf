"""Fit of constants to the first columns of the reports' tables: costs of a machine, and pgbench's on a machine.

    .venv/bin/python -m benches.fit_baselines costs xeon-e5-2670v3
    .venv/bin/python -m benches.fit_baselines pgbench kunpeng920

The script prints the figures that it was given, the factor between simulated and published figures at each point of a
grid, and the point with the least mean factor. It reads the first column only: no figure of a variant takes part.

``costs`` scales two groups of the machine's costs: the costs of wake-ups and switches, and the costs of TCP.
``pgbench`` varies ``query_time`` and ``client_time``: the work of a PostgreSQL backend and of a thread of pgbench for a
transaction.

The script writes no file: values were rounded and entered by hand. ``costs`` starts from the machine's file, whose
values are already fitted, so that factor 1 is the fitted value. A repeated fit shows whether factor 1 is still the best
point after a change of the model, and does not derive the values from unfitted ones; the machine files name the
estimates before the fit. The figures of one machine are fewer than its costs, so that the ratios between the costs of a
group, and every cost outside of the groups, are estimates. Trials are shorter than in ``schedlab sim reproduce``.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import schedlab
from schedlab.reproduction.published import report
from schedlab.simulation.models import machine as machine_model

SHORT = {"warmup": "20ms", "duration": "50ms"}

XEON = "xeon-e5-2670v3"
GIVEN: dict[str, tuple[str, str, list[tuple[str, str, object]]]] = {
    XEON: (
        "schedstats",
        "linux-4.5",
        [("pipetest", XEON, "mean"), ("tbench", "tbench-few", 1), ("TCP_STREAM", XEON, 1024)],
    ),
    "i7-3770": ("schedstats", "linux-4.5", [("tbench", "i7-3770", 1)]),
    "kunpeng920": ("migration-cost", "linux-5.14", [("tbench", "kunpeng920", 1)]),
}
"""Report and kernel of each machine, and rows of the report: workload, experiment of the table, and row."""

PROGRAMS: dict[str, tuple[str, str, Mapping[str, Any]]] = {
    "pipetest": ("pipetest", "", {"loops": 10_000}),
    "tbench": ("tbench-native", "clients", SHORT),
    "TCP_STREAM": ("stream", "size", {"protocol": "tcp", "buffer_beyond": 256, **SHORT}),
    "pgbench": ("pgbench-native", "clients", {"mode": "ro", "tcp": True, "warmup": "100ms", "duration": "200ms"}),
}
"""Native workload, parameter of the row, and other parameters of each workload of the reports."""

THREADS = {"kunpeng920": 4, "rpi4b": 1}
"""Threads of pgbench: one for each NUMA node, as MMTests' pgbench-bench starts them."""

GROUPS = ("schedule|switch|wakeup", "tcp_send|tcp_receive")


def published(name: str, workload: str, experiment: str, row: object, metric: str | None = None) -> tuple[float, str]:
    """Return the first column's figure of a row, the mean of its runs, and the metric. The default metric is the first
    table's."""
    tables = (each for each in report(name).table if (each.workload, each.experiment) == (workload, experiment))
    table = next(each for each in tables if metric in (None, each.metric))
    return next(float(np.mean(each.values[0])) for each in table.rows if each.at == row), table.metric


def factor(
    name: str, workload: str, experiment: str, row: object, on: str, kernel: str, extra: Mapping[str, Any]
) -> float:
    """Return the simulated figure divided by the published figure."""
    value, metric = published(name, workload, experiment, row)
    program, parameter, fixed = PROGRAMS[workload]
    parameters = {**fixed, **({parameter: row} if parameter else {}), **extra}
    tunables = {"kernel.sched_schedstats": True} if name == "schedstats" else {}
    outcome = schedlab.simulate(program, machine=on, kernel=kernel, parameters=parameters, tunables=tunables, seed=1)
    metrics = outcome.metrics.filter(outcome.metrics["metric"] == metric)
    return float(metrics["value"][0]) / value


def scaled(machine: str, factors: Sequence[float], folder: Path) -> str:
    """Write the machine with scaled groups of costs; return the path of the file."""
    lines = machine_model(machine).text.splitlines()
    for group, by in zip(GROUPS, factors, strict=True):
        for at, line in enumerate(lines):
            if re.match(rf"(?:{group}) = ", line):
                name, _, rest = line.partition("#")[0].partition("=")
                words = (str(round(int(word) * by)) if word.isdigit() else word for word in re.split(r"(\d+)", rest))
                lines[at] = f"{name}= " + "".join(words)
    path = folder / f"{machine}.toml"
    path.write_text("\n".join(lines))
    return str(path)


def numbers(text: str) -> list[float]:
    """Return the numbers of an option."""
    return [float(number) for number in text.split(",")]


def show(points: list[tuple[tuple[float, ...], list[float]]], names: Sequence[str]) -> None:
    """Print the factors at each point, and the best point."""
    for point, factors in points:
        listed = " ".join(f"x{each:.2f}" for each in factors)
        print(", ".join(f"{name} {value:g}" for name, value in zip(names, point, strict=True)) + f": {listed}")
    best = min(points, key=lambda each: float(np.mean(np.abs(np.log(each[1])))))
    print("least mean factor:", ", ".join(f"{name} {value:g}" for name, value in zip(names, best[0], strict=True)))


def main() -> None:
    """Print the grid of one fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fit", choices=("costs", "pgbench"))
    parser.add_argument("machine", choices=sorted({*GIVEN, *THREADS}))
    parser.add_argument("--query-us", default="100,200,300,400")
    parser.add_argument("--client-us", default="10,30,50")
    parser.add_argument("--clients", default="1,8,32,80,256")
    parser.add_argument("--factors", default="0.7,1,1.4")
    options = parser.parse_args()
    machine = options.machine
    if options.fit == "costs":
        name, kernel, rows = GIVEN[machine]
    else:
        name, kernel = "migration-cost", "linux-5.14"
        known = {row.at for t in report(name).table if t.experiment == machine for row in t.rows}
        rows = [("pgbench", machine, int(each)) for each in numbers(options.clients) if each in known]
    for workload, experiment, row in rows:
        print(f"given: report {name}, {workload} {row}: {published(name, workload, experiment, row)[0]}")
    points: list[tuple[tuple[float, ...], list[float]]] = []
    with tempfile.TemporaryDirectory() as folder:
        if options.fit == "costs":
            for point in product(numbers(options.factors), repeat=len(GROUPS)):
                on = scaled(machine, point, Path(folder))
                points.append((point, [factor(name, w, e, r, on, kernel, {}) for w, e, r in rows]))
            show(points, GROUPS)
            return
    for query, client in product(numbers(options.query_us), numbers(options.client_us)):
        extra = {"threads": THREADS[machine], "query_time": f"{query:g}us", "client_time": f"{client:g}us"}
        points.append(((query, client), [factor(name, w, e, r, machine, kernel, extra) for w, e, r in rows]))
    show(points, ("query_time us", "client_time us"))


if __name__ == "__main__":
    main()
