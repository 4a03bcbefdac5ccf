"""Write the table of docs/virtual-machines.md: the same programs on a real kernel in a guest and on a simulated one.

.venv/bin/python docs/make_guest_table.py        about five minutes: one boot per block, instructions counted
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from schedlab.execution.loop import execute, require_runnable
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Trial, plan
from schedlab.measurement import Measurement
from schedlab.report.numbers import figure
from schedlab.store import writing
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


def _sum(counters: Counters, fits: Callable[[str], bool]) -> float | None:
    """Sum of the matching counters; None without a match."""
    found = [value for name, value in counters.items() if fits(name)]
    return sum(found) if found else None


def _domains(what: str) -> Callable[[Counters], float | None]:
    return lambda counters: _sum(counters, lambda name: name.startswith("schedstat.domain") and name.endswith(what))


def _of(*names: str) -> Callable[[Counters], float | None]:
    return lambda counters: next((counters[name] for name in names if name in counters), None)


def _across(counters: Counters) -> float | None:
    """Migrations between nodes: counted by a guest; in the simulator, migrations beyond the node."""
    if "node-migrations" in counters:
        return counters["node-migrations"]
    return _sum(counters, lambda name: "_migrations." in name and name.endswith((".near", ".far")))


COUNTS: dict[str, Callable[[Counters], float | None]] = {
    "context switches": _of("context-switches"),
    "new-idle balances": _domains("newidle.lb_count"),
    "tasks that they moved": _domains("newidle.lb_gained"),
    "migrations": _of("cpu-migrations"),
    "of them across nodes": _across,
    "pages marked": _of("vmstat.numa_pte_updates"),
    "hinting faults": _of("vmstat.numa_hint_faults"),
    "moves to the preferred node": _of("numa-task-moves", "vmstat.numa_task_migrated"),
}


def main() -> None:
    """Measure and simulate everything, and put the table into the page."""
    made = table()
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{made}\n\n{END}{after}", encoding="utf-8")


def table() -> str:
    """Table as Markdown: medians of the blocks, with minimum and maximum."""
    sides = [measured(target) for target in TARGETS]
    lines = ["| program | count | guest, Linux 6.12 | simulated, linux-6.12 |", "|---|---|---|---|"]
    for use, blocks in sides[0].items():
        for name, count in COUNTS.items():
            cells = [_cell([count(counters) for counters in side]) for side in (blocks, sides[1][use])]
            lines.append(f"| {use} | {name} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines)


def _cell(values: list[float | None]) -> str:
    known = sorted(value for value in values if value is not None)
    if len(known) < len(values):
        return "not counted"
    return f"{figure(known[len(known) // 2])} ({figure(known[0])} to {figure(known[-1])})"


def measured(spec: str) -> dict[str, list[Counters]]:
    """Counters of every block by workload; a trial that fails ends it."""
    experiment = parse(EXPERIMENT, "the experiment")
    made, target = plan(experiment, 1), choose(spec, experiment)
    require_runnable(made, target)
    found: dict[str, list[Counters]] = {}

    def keep(trial: Trial, measurement: Measurement | None) -> None:
        if measurement is not None:
            if measurement.state != "ok":
                raise SystemExit(f"{spec}: {trial.row.use}: {measurement.reason}")
            found.setdefault(trial.row.use, []).append(measurement.counters)

    with tempfile.TemporaryDirectory() as folder:
        engine = open_store(Path(folder) / "store.sqlite", create=True)
        fingerprint = target.fingerprint()
        new = writing.NewRun(
            made, target.name, target.kind, False, EXPERIMENT, "", fingerprint, target.fingerprint_hash(fingerprint)
        )
        execute(made, target, engine, writing.begin(engine, new), keep)
        engine.dispose()
    return dict(sorted(found.items()))


if __name__ == "__main__":
    main()
