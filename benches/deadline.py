"""Compare deadline tasks on a real kernel and in the simulator: the same rt-app documents on both.

    .venv/bin/python -m benches.deadline [--kernel 6.12] [--seeds 10] [--scenes overrun global] [--no-fair-server]

The real kernel boots in deterministic guests of one and of four CPUs, whose clock counts instructions. The CPUs of
such a guest take turns: where several CPUs are busy, threads compute until the clock has moved on (`runtime`), and
periods are long compared with the turns. The simulated machine is the guest of benches/guest_preemption.py with as many
CPUs. Figures of the simulator are means over random seeds. All guests together take five minutes of CPU time.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import mean
from typing import Any

from benches.guest_preemption import guest_machine

import schedlab
from schedlab.simulation.errors import TaskFailed

Task = dict[str, Any]
Figures = dict[str, float]


def budget(runtime: int, deadline: int, period: int | None = None) -> Task:
    """Return the attributes of a deadline thread; all times in ms."""
    times = {"dl-runtime": runtime, "dl-deadline": deadline, "dl-period": period or deadline}
    return {"policy": "SCHED_DEADLINE", "loop": -1} | {name: ms * 1000 for name, ms in times.items()}


def timer(period: int) -> Task:
    """Return the event that waits for the end of the period of ``period`` ms."""
    return {"timer": {"ref": "unique", "period": period * 1000, "mode": "absolute"}}


HOGS = {
    "fifo": {"policy": "SCHED_FIFO", "priority": 10, "loop": -1, "run": 1000},
    "fair": {"instance": 4, "loop": -1, "run": 1000},
}

SCENES: dict[str, tuple[int, dict[str, Task]]] = {
    "fits": (2, {"t": budget(5, 10) | {"run": 4000} | timer(10)}),
    "overrun": (2, {"t": budget(5, 10) | {"run": 6000} | timer(10)}),
    "greedy": (2, {"t": budget(2, 10) | {"run": 1000}}),
    "sleeps": (2, {"t": budget(5, 10) | {"run": 3000, "sleep": 2000}}),
    "yields": (2, {"t": budget(5, 10) | {"run": 1000, "yield": ""}}),
    "constrained": (2, {"t": budget(2, 5, 10) | {"run": 1500, "sleep": 4000}}),
    "global": (16, {"t": budget(1300, 2000) | {"instance": 5} | timer(2000) | {"runtime": 1_200_000}}),
    "periods": (
        16,
        {
            "short": budget(700, 1000) | {"instance": 3} | timer(1000) | {"runtime": 600_000},
            "long": budget(1300, 2200) | {"instance": 2} | timer(2200) | {"runtime": 1_200_000},
        },
    ),
    "beside": (16, {"t": budget(450, 1000) | {"instance": 2} | timer(1000) | {"runtime": 400_000}} | HOGS),
}
"""Seconds and threads. ``global``: five jobs of 1.2 s every 2 s that begin together on four CPUs."""

ONE_CPU = ("fits", "overrun", "greedy", "sleeps", "yields", "constrained")
"""Scenes that also run on one CPU."""

CLASSES = {"t": 6, "short": 6, "long": 6, "fifo": 1, "fair": 0}
"""Policies of the thread objects (sched(7))."""

SUMS = (
    r"{w = FILENAME ~ /last/ ? 1 / (t2 - t1) : -1 / (t2 - t1)} "
    r"/nr_migrations/ {m = w * \$3} /nr_involuntary/ {i = w * \$3} /sum_exec/ {r = w * \$3 / 1000} "
    r"/^policy/ {M[\$3] += m; I[\$3] += i; R[\$3] += r} "
    r"END {print \"migrations\", M[6]; print \"involuntary\", I[6]; for (p in R) print \"ran\" p, R[p]}"
)
"""awk's program for two readings of /proc/PID/task/TID/sched: rates between them, for all threads of a policy."""

WORDS = {
    "migrations": "migrations/s",
    "involuntary": "throttled or preempted/s",
    **{f"ran{policy}": f"CPUs of {name} tasks" for policy, name in ((0, "fair"), (1, "FIFO"), (6, "deadline"))},
}

ADMISSION = "admission"
"""Scene of the most threads of a tenth of a CPU that admission control allows."""

MOST = {1: (8, 10), 4: (35, 38)}
"""Numbers of threads of a tenth of a CPU that are tried for the limit of admission control, by number of CPUs."""


def document(seconds: int, tasks: Mapping[str, Task]) -> str:
    """Return the rt-app document."""
    return json.dumps({"global": {"duration": seconds}, "tasks": tasks})


def crowd(number: int) -> str:
    """Return the document of ``number`` threads of a tenth of a CPU."""
    return document(1, {"t": budget(1, 10) | {"instance": number, "loop": 1, "run": 100, "sleep": 300_000}})


def scenes(cpus: int, chosen: list[str]) -> list[str]:
    """Return the chosen scenes for a machine."""
    return [name for name in chosen if cpus > 1 or name in ONE_CPU]


def script(name: str, cpus: int) -> str:
    """Return the shell script of a scene in a guest."""
    quoted = json.dumps
    if name == ADMISSION:
        tries = range(MOST[cpus][0], MOST[cpus][1] + 1)
        attempt = "echo {} | schedload rt-app - >/dev/null 2>&1 && echo admitted {}"
        return "; ".join(attempt.format(quoted(crowd(number)), number) for number in tries) + "; true"
    seconds, tasks = SCENES[name]
    run = f"echo {quoted(document(seconds, tasks))} | schedload --json rt-app -"
    if name == "fits":
        return run
    read = "sleep {}; cat /proc/$!/task/*/sched >/tmp/{}; read {} rest </proc/uptime; "
    # Another run for the rates: reading takes turns of the CPUs. Ended tasks keep their bandwidth until the 0-lag time.
    return (
        f"{run}; sleep 3; {run} >/dev/null & "
        + read.format(0.3 * seconds, "first", "t1")
        + read.format(0.65 * seconds, "last", "t2")
        + f'wait; awk -v t1=$t1 -v t2=$t2 "{SUMS}" /tmp/first /tmp/last'
    )


def figures_of(name: str) -> dict[str, str]:
    """Return the figures of a scene with the regular expressions that find them in the script's output."""
    if name == ADMISSION:
        return {"most tasks": r"^admitted (\d+)$(?![\s\S]*^admitted)"}
    tasks = SCENES[name][1]
    objects = {task: CLASSES[task] for task in tasks}
    counters = [f"{task}.loops" for task in objects if objects[task] == 6]
    counters += [f"{task}.missed" for task in objects if "timer" in tasks[task]]
    found = {counter: f'"{counter}":(\\d+)'.replace(".", "\\.") for counter in counters}
    if name == "fits":
        return found
    policies = sorted(set(objects.values()))
    rates = ["migrations", "involuntary", *(f"ran{policy}" for policy in policies if len(policies) > 1)]
    return found | {rate: rf"^{rate} (\S+)$" for rate in rates}


def real(kernel: str, cpus: int, chosen: list[str], tunables: str, folder: Path) -> dict[str, Figures]:
    """Return the figures of Debian's kernel in a guest with ``tunables`` of an experiment file."""
    rows = []
    for name in [*scenes(cpus, chosen), ADMISSION]:
        metrics = ", ".join(
            f'{{ name = "{figure.replace(" ", "-")}", unit = "count", better = "lower", regex = \'{regex}\' }}'
            for figure, regex in figures_of(name).items()
        )
        rows.append(
            f'[[workload]]\nlabel = "{name}"\nuse = "command"\ntimeout = "5min"\n'
            f"run = '''sh -c '{script(name, cpus)}''''\nmetrics = [{metrics}]\n"
        )
    text = (
        '[experiment]\nname = "deadline"\nquestion = "Does the simulator schedule deadline tasks as the kernel does?"\n'
        f'[target]\nkind = "vm"\nkernel = "debian-{kernel}"\ntopology = "1x{cpus}/1"\ndeterministic = true\n'
        "[design]\nblocks = 1\nseed = 1\nwarmup = 0\ncontrol = false\n"
        f'[[variant]]\nname = "booted"\ntunables = {{ {tunables} }}\n' + "".join(rows)
    )
    figures: dict[str, Figures] = {}
    for row in schedlab.run(text, store=folder / f"{kernel}-{cpus}.sqlite").measurements.iter_rows(named=True):
        figures.setdefault(row["workload"], {})[row["metric"].replace("-", " ")] = row["value"]
    return figures


def simulated(kernel: str, cpus: int, chosen: list[str], seeds: int, folder: Path) -> dict[str, Figures]:
    """Return the figures of the simulator."""
    machine = folder / f"guest-{cpus}.toml"
    text = guest_machine(folder).read_text()
    machine.write_text(re.sub(r"^cores_per_cache = 1$", f"cores_per_cache = {cpus}", text, flags=re.MULTILINE))
    file = folder / "scene.json"
    figures: dict[str, Figures] = {}
    for name in scenes(cpus, chosen):
        file.write_text(document(*SCENES[name]))
        runs = schedlab.simulate(file, machine=machine, kernel=f"linux-{kernel}", seeds=range(seeds)).outcomes
        each = [_of_outcome(name, outcome) for outcome in runs]
        figures[name] = {figure: mean(run[figure] for run in each) for figure in figures_of(name)}
    for number in range(MOST[cpus][0], MOST[cpus][1] + 1):
        file.write_text(crowd(number))
        try:
            schedlab.simulate(file, machine=machine, kernel=f"linux-{kernel}")
        except TaskFailed:
            break
        figures[ADMISSION] = {"most tasks": number}
    return figures


def _of_outcome(name: str, outcome: dict[str, Any]) -> Figures:
    tasks = [(CLASSES.get(task["name"].split()[0], 0), task) for task in outcome["tasks"]]
    seconds = outcome["elapsed_ns"] / 1e9
    figures: Figures = dict(outcome["program_counters"])
    for figure, key in (("migrations", "migrations"), ("involuntary", "involuntary_switches")):
        figures[figure] = sum(task[key] for policy, task in tasks if policy == 6) / seconds
    for policy in set(CLASSES.values()):
        figures[f"ran{policy}"] = sum(task["ran_ns"] for each, task in tasks if each == policy) / 1e9 / seconds
    return figures


def rows(real_figures: dict[str, Figures], model: dict[str, Figures], cpus: int) -> Iterator[str]:
    """Yield the rows of the table."""
    for name, figures in model.items():
        for figure, value in figures.items():
            there = real_figures[name].get(figure, float("nan"))
            difference = f"{value / there - 1:+.1%}" if there else "" if value else "0"
            yield f"| {cpus} | `{name}` | {WORDS.get(figure, figure)} | {there:.4g} | {value:.4g} | {difference} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default="6.12")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument(
        "--no-fair-server", action="store_true", help="guests without fair servers, which the model lacks"
    )
    parser.add_argument("--scenes", nargs="+", choices=SCENES, default=list(SCENES))
    options = parser.parse_args()
    tunables = '"sched.fair_server.runtime_ns" = 0' if options.no_fair_server else ""
    print("| CPUs | scene | figure | real kernel | simulated | difference |")
    print("|---|---|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for cpus in MOST:
            there = real(options.kernel, cpus, options.scenes, tunables, folder)
            model = simulated(options.kernel, cpus, options.scenes, options.seeds, folder)
            print(*rows(there, model, cpus), sep="\n")


if __name__ == "__main__":
    main()
