"""Write the table of docs/o1.md: the effect of each D7 patch in the report of 2003 and in the simulation.

    schedlab run examples/d7-patches.toml --store d7.sqlite
    schedlab report --store d7.sqlite --format json > simulated.json
    schedlab import THE_MAIL.txt --store mail.sqlite
    schedlab report --store mail.sqlite --format json > printed.json
    .venv/bin/python docs/make_d7_table.py printed.json simulated.json

The mail is M. Bligh, "breaking down the performance of D7 scheduler patch", linux-kernel, 13 February 2003.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "o1.md"
BEGIN, END = "<!-- Made by docs/make_d7_table.py -->", "<!-- end of the table -->"

RUNS = {
    "2.5.59": ("2.5.59",),
    "sched3": ("2.5.59-sched3", "2.5.59-sched3-2"),
    "sched4": ("2.5.59-sched4", "2.5.59-sched4-2"),
    "ricksched": ("2.5.59-ricksched", "2.5.59-ricksched2"),
}
"""Names of the runs in the mail, for each part of the stack."""
STEPS = {"3": ("2.5.59", "sched3"), "4": ("sched3", "sched4"), "5": ("sched4", "ricksched")}

Row = tuple[str, str, int]
"""Workload of the mail, its metric, and the value of the parameter that distinguishes the rows."""
ROWS: dict[str, tuple[str, str]] = {
    "kernbench": ("kernbench-native", "jobs_per_cpu"),
    "SDET": ("scripts", "streams"),
    "schedbench": ("schedbench", "processes"),
}
METRICS = {"Elapsed": ("Elapsed", "elapsed"), "Throughput": ("throughput",)}
"""Metrics of the mail, with their names in the simulated programs."""


def main() -> None:
    """Read both reports, and write the table into the page."""
    printed, simulated = (json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:3])
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table(printed, simulated)}\n\n{END}{after}", encoding="utf-8")


def table(printed: Mapping[str, Any], simulated: Mapping[str, Any]) -> str:
    """Return the table as Markdown."""
    heads = [f"patch {patch}: report | simulated" for patch in STEPS]
    lines = [f"| row | {' | '.join(heads)} |", f"|---|{'---:|---:|' * len(STEPS)}"]
    for row, runs in mail(printed):
        steps = stack(simulated, row)
        cells = [f"{measured_change(runs, *ends)} | {simulated_change(steps.get(ends[1]))}" for ends in STEPS.values()]
        lines.append(f"| {row[0]} {row[2]}, {row[1]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def mail(printed: Mapping[str, Any]) -> Iterator[tuple[Row, dict[str, list[float]]]]:
    """Yield each row of the mail with the figures of each part of the stack. A run that crashed has no figure."""
    for table in printed["printed"]:
        name = next((name for name in ROWS if name.lower() == table["workload"].lower()), None)
        if name is None:
            continue
        for row in table["rows"]:
            if row["operation"] not in METRICS:
                continue
            figures = {cell["column"]: cell["value"] for cell in row["cells"] if cell["value"]}
            number = int(next(value for value in row["parameters"].values()))
            parts = {part: [figures[run] for run in runs if run in figures] for part, runs in RUNS.items()}
            yield (name, row["operation"], number), parts


def stack(simulated: Mapping[str, Any], row: Row) -> dict[str, Mapping[str, Any]]:
    """Return the simulated steps of a row, by the last variant of each step."""
    program, parameter = ROWS[row[0]]
    for simulated_row in simulated["stacks"]:
        matches = simulated_row["workload"] == program and simulated_row["parameters"].get(parameter) == row[2]
        if matches and simulated_row["metric"] in METRICS[row[1]]:
            return {step["until"]: step for step in simulated_row["steps"]}
    return {}


def measured_change(runs: Mapping[str, list[float]], since: str, until: str) -> str:
    """Format the change between the means of the mail's runs, and the largest difference of runs of one kernel."""
    before, after = runs[since], runs[until]
    if not before or not after:
        return "–"
    change = sum(after) / len(after) / (sum(before) / len(before)) - 1
    apart = [max(part) / min(part) - 1 for part in (before, after) if len(part) > 1]
    return f"{change:+.1%}" + (f" (runs {max(apart):.1%} apart)" if apart else "")


def simulated_change(step: Mapping[str, Any] | None) -> str:
    """Format the change of a simulated step with its interval and verdict."""
    if step is None:
        return "–"
    if step["ratio"] == step["low"] == step["high"] == 1:
        return "identical"
    change, low, high = (step[name] - 1 for name in ("ratio", "low", "high"))
    return f"{change:+.1%} [{low:+.1%}, {high:+.1%}] {step['verdict']}"


if __name__ == "__main__":
    main()
