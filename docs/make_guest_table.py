"""Write the table of docs/virtual-machines.md: the same programs on a kernel in a guest and on a simulated machine.

    .venv/bin/python docs/make_guest_table.py

Takes about a minute: the guest counts instructions, and boots once for each block.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from schedlab.execution.loop import execute, require_runnable
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Trial, plan
from schedlab.report.numbers import figure
from schedlab.results.measurement import Measurement
from schedlab.store import writer
from schedlab.store.file import open_store
from schedlab.targets.selection import choose

FOLDER = Path(__file__).parent
PAGE = FOLDER / "virtual-machines.md"
BEGIN, END = "<!-- Made by docs/make_guest_table.py -->", "<!-- end of the table -->"
TARGETS = ("vm:debian-6.12@4x2/4", f"sim:{FOLDER / 'guest-8.toml'}/linux-6.12")

EXPERIMENT = """
[experiment]
name = "guest and simulator"
[target]
kind = "vm"
kernel = "debian-6.12"
deterministic = true
[design]
blocks = 3
warmup = 0
control = false
seed = 1
[[variant]]
name = "6.12"
tunables = { "kernel.sched_schedstats" = true, "kernel.numa_balancing" = 1 }
[[workload]]
use = "hackbench"
groups = 2
fds = 4
loops = 300
[[workload]]
use = "busyloop"
tasks = [9, 11, 13, 24]
warmup = 0
duration = 4
[[workload]]
use = "pipetest"
loops = 3000
[[workload]]
use = "wakeup"
messages = 2
workers = 8
warmup = 0
duration = 5
[[workload]]
use = "pgbench-native"
clients = 16
warmup = 0
duration = 5
"""

Counters = Mapping[str, float]

Program = tuple[str, int]
"""A workload, and its number of tasks if the experiment names it, else 0."""


def _sum(counters: Counters, matches: Callable[[str], bool]) -> float | None:
    """Return the sum of the counters whose names match, or None if no name matches."""
    values = [value for name, value in counters.items() if matches(name)]
    return sum(values) if values else None


def _domains(counter: str) -> Callable[[Counters], float | None]:
    return lambda counters: _sum(counters, lambda name: name.startswith("schedstat.domain") and name.endswith(counter))


def _of(*names: str) -> Callable[[Counters], float | None]:
    return lambda counters: next((counters[name] for name in names if name in counters), None)


def _across(counters: Counters) -> float | None:
    """Return the migrations between nodes. A guest counts them; the simulator counts migrations by distance."""
    if "node-migrations" in counters:
        return counters["node-migrations"]
    return _sum(counters, lambda name: "_migrations." in name and name.endswith((".near", ".far")))


COUNTS: dict[str, Callable[[Counters], float | None]] = {
    "context switches": _of("context-switches"),
    "new-idle balances": _domains("newidle.lb_count"),
    "tasks moved by these balances": _domains("newidle.lb_gained"),
    "balances by busy CPUs": _domains("busy.lb_count"),
    "failed balances by busy CPUs": _domains("busy.lb_failed"),
    "tasks moved by busy CPUs": _domains("busy.lb_gained"),
    "migrations": _of("cpu-migrations"),
    "migrations across nodes": _across,
    "pages marked": _of("vmstat.numa_pte_updates"),
    "hinting faults": _of("vmstat.numa_hint_faults"),
    "moves to the preferred node": _of("numa-task-moves", "vmstat.numa_task_migrated"),
}


def main() -> None:
    """Run the programs on both targets, and write the table into the page."""
    text = table()
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def table() -> str:
    """Return the table as Markdown: medians of the blocks, with minimum and maximum. Rows of zeros are left out."""
    guest, simulated = (counters_of(target) for target in TARGETS)
    lines = ["| program | count | guest, Linux 6.12 | simulated, linux-6.12 |", "|---|---|---|---|"]
    for program in sorted(guest):
        use, tasks = program
        label = f"{use}, {tasks} tasks" if tasks else use
        for name, count in COUNTS.items():
            values = [[count(counters) for counters in blocks[program]] for blocks in (guest, simulated)]
            if any(value != 0 for column in values for value in column):
                lines.append(f"| {label} | {name} | {_cell(values[0])} | {_cell(values[1])} |")
    return "\n".join(lines)


def _cell(values: list[float | None]) -> str:
    counted = sorted(value for value in values if value is not None)
    if len(counted) < len(values):
        return "not counted"
    return f"{figure(counted[len(counted) // 2])} ({figure(counted[0])} to {figure(counted[-1])})"


def counters_of(spec: str) -> dict[Program, list[Counters]]:
    """Run the experiment on a target; return each block's counters by program. A failed trial ends the program."""
    experiment = parse(EXPERIMENT, "the experiment")
    run_plan, target = plan(experiment, 1), choose(spec, experiment)
    require_runnable(run_plan, target)
    blocks: dict[Program, list[Counters]] = {}

    def keep(trial: Trial, measurement: Measurement | None) -> None:
        if measurement is not None:
            if measurement.state != "ok":
                raise SystemExit(f"{spec}: {trial.row.use}: {measurement.reason}")
            program = (trial.row.use, trial.row.parameters.get("tasks", 0))
            blocks.setdefault(program, []).append(measurement.counters)

    with tempfile.TemporaryDirectory() as folder:
        engine = open_store(Path(folder) / "store.sqlite", create=True)
        fingerprint = target.fingerprint()
        new = writer.NewRun(
            run_plan, target.name, target.kind, False, EXPERIMENT, "", fingerprint, target.fingerprint_hash(fingerprint)
        )
        execute(run_plan, target, engine, writer.begin(engine, new), keep)
        engine.dispose()
    return dict(sorted(blocks.items()))


if __name__ == "__main__":
    main()
