"""Fit sizes of programs in the experiments of `schedlab sim reproduce` to baseline columns of the published reports.

    .venv/bin/python -m benches.fit_sizes [--write]

Each fit is given one figure of a report's first column, and changes one size of a program. No figure of another column
is read, and no constant of a machine or a kernel is changed. `--write` puts the sizes into the experiment files.
"""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass, field
from math import log
from pathlib import Path
from typing import Any

import polars as pl
from benches.fit_baselines import published

import schedlab

REPORTS = Path(__file__).parents[1] / "python" / "schedlab" / "reproduction" / "reports"
SEEDS = range(2)
STEPS = 3
CLOSE = 0.01
"""Fits end at this distance from the published figure, or after ``STEPS`` steps."""


@dataclass(frozen=True)
class Fit:
    """A size of a program, and the published figure that decides the size.

    Attributes:
        report, file: folder of the report, and name of the experiment file.
        label: label of the workload in the file; ``fixed`` are the parameters that select the published row.
        size: parameter to fit, and ``unit`` its unit in the file.
        metric, row: metric of the workload, and row of its table, whose figure in the first column is given.
    """

    report: str
    file: str
    label: str
    size: str
    unit: str
    metric: str
    row: object
    fixed: dict[str, Any] = field(default_factory=dict)

    @property
    def figure(self) -> float:
        """The published figure of the first column, in seconds: the mean of its runs."""
        return published(self.report, self.label, self.file, self.row, self.metric)[0]


FITS = (
    Fit("d7-patches", "numa-q-16", "kernbench", "compile_time", "ms", "user", 2, {"jobs_per_cpu": 2}),
    Fit("d7-patches", "numa-q-16", "kernbench", "headers", "", "system", 2, {"jobs_per_cpu": 2}),
    Fit("d7-patches", "numa-q-16", "schedbench", "walks", "", "TotalUser", 16, {"processes": 16}),
    Fit("numa-slow-start", "xeon-x5650", "kbuild", "compile_time", "ms", "elapsed", "elapsed"),
)


def main() -> None:
    """Fit all sizes, print what was given and what was found, and write the sizes if asked to."""
    for fit in FITS:
        path = REPORTS / fit.report / f"{fit.file}.toml"
        text = path.read_text(encoding="utf-8")
        size, simulated = solve(fit, tomllib.loads(text))
        print(
            f"report {fit.report}: {fit.label} {fit.size} = {size:.0f}{fit.unit} gives {fit.metric} {simulated:.4g} s; "
            f"given {fit.figure:.5g} s (row {fit.row})",
            flush=True,
        )
        if "--write" in sys.argv[1:]:
            path.write_text(replaced(text, fit, round(size)), encoding="utf-8")


def solve(fit: Fit, experiment: dict[str, Any]) -> tuple[float, float]:
    """Return the size, and the simulated figure of the last step, by secants of the logarithms."""
    workload = next(each for each in experiment["workload"] if fit.label in (each.get("label"), each["use"]))
    kept = {name: value for name, value in workload.items() if name not in ("use", "label", "quick")}
    size = float(re.sub(r"[a-z]+$", "", str(kept[fit.size])))
    points: list[tuple[float, float]] = []
    for _ in range(STEPS):
        value = f"{size:.0f}{fit.unit}" if fit.unit else round(size)
        figures = schedlab.simulate(
            str(workload["use"]),
            machine=experiment["target"]["machine"],
            kernel=experiment["target"]["kernel"],
            parameters={**kept, **fit.fixed, fit.size: value},
            seeds=SEEDS,
            tunables=experiment["variant"][0].get("tunables", {}),
        ).metrics.filter(pl.col("metric") == fit.metric)
        simulated = float(figures["value"].mean())  # type: ignore[arg-type]
        points.append((size, simulated))
        if abs(simulated / fit.figure - 1) < CLOSE:
            break
        if len(points) == 1:
            size *= fit.figure / simulated
        else:
            (x0, y0), (x1, y1) = points[-2:]
            slope = log(y1 / y0) / log(x1 / x0) if x1 != x0 and y1 != y0 else 1.0
            size = x1 * (fit.figure / y1) ** (1 / max(slope, 0.2))
    return min(points, key=lambda point: abs(log(point[1] / fit.figure)))


def replaced(text: str, fit: Fit, size: int) -> str:
    """Return the experiment file with the size of a workload replaced."""
    tables = text.split("[[workload]]\n")
    for number, table in enumerate(tables):
        if number and re.search(rf'^(label|use) = "{fit.label}', table, re.MULTILINE):
            new = f'"{size}{fit.unit}"' if fit.unit else str(size)
            tables[number] = re.sub(rf"^{fit.size} = [^ \n]+", f"{fit.size} = {new}", table, flags=re.MULTILINE)
    return "[[workload]]\n".join(tables)


if __name__ == "__main__":
    main()
