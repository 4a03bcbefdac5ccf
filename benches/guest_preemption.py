"""Compare how often hackbench's readers preempt its writers on real kernels and in the simulator, on one CPU.

    .venv/bin/python -m benches.guest_preemption [--kernels 5.10 6.1 6.12] [--workload hackbench]

The real kernels boot in deterministic guests, where time is the number of instructions. The simulated machine has one
CPU without caches, and its costs are the counted instructions of linux-5.10 (``[instructions]`` of the kernel model):
nothing is fitted. Figures are differences between a long and a short run: context switches and CPU time for each
message. They are the same on every machine, and differ between random seeds. A kernel's guests need about half a minute
of CPU time.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import schedlab
from schedlab.results.instructions import NS_PER_INSTRUCTION
from schedlab.simulation.models import kernel as kernel_model
from schedlab.simulation.models import machine as machine_model

ROWS = [(1, 1, 5000, 25_000), (1, 4, 300, 1500), (1, 20, 12, 60), (4, 20, 12, 60)]
"""Groups, descriptors, and the loops of the short and of the long run."""

CHANNELS = ("pipe", "socket")

COUNTED = "linux-5.10"

Figures = dict[tuple[str, int, int], tuple[float, float]]
"""Switches and microseconds for each message, by channel, groups and descriptors."""


def guest_costs() -> dict[str, int]:
    """Return the costs of a guest's CPU in ns, from the counted instructions. ``wakeup`` is equal at every distance."""
    counted: dict[str, int] = kernel_model(COUNTED).data["instructions"]
    of = {path: number - counted["none"] for path, number in counted.items()}
    syscall = of["write"]
    schedule = of["yield"] - syscall
    pipe, unix = (of[path] // 2 - syscall for path in ("pipe", "unix"))
    switch = of["yield_round"] // 2 - of["yield"]
    # A task that waits is charged a further system call.
    wakeup = of["pipe_round"] // 2 - 2 * (syscall + pipe) - schedule - switch - syscall
    costs = {"syscall": syscall, "schedule": schedule, "pipe": pipe, "unix": unix, "switch": switch, "wakeup": wakeup}
    return {name: instructions * NS_PER_INSTRUCTION for name, instructions in costs.items()}


def guest_machine(folder: Path) -> Path:
    """Write the machine file of a deterministic guest."""
    nothing = ["refill_kib", "line", "lock_handoff", "ipi"]
    values = {
        **guest_costs(),
        **dict.fromkeys(["touch_kib", "copy_kib", "footprint_kib", "lock_hold", "idle_scan_cpu", "atomic"], 0),
        "instruction_ps": NS_PER_INSTRUCTION * 1000,
        "cores_per_cache": 1,
        "private_kib": 1 << 20,
        "llc_kib": 1 << 20,
        "costs_kernel": f'"{COUNTED}"',
    }
    lines = []
    for line in machine_model("laptop-4").text.splitlines():
        name = line.partition(" = ")[0]
        if name in nothing or name == "wakeup":
            each = values.get(name, 0)
            places = ", ".join(f"{place} = {each}" for place in ("core", "llc", "node", "near", "far"))
            lines.append(f"{name} = {{ {places} }}")
        else:
            lines.append(f"{name} = {values[name]}" if name in values else line)
    path = folder / "guest.toml"
    path.write_text("\n".join(lines))
    return path


def simulated(kernel: str, machine: Path) -> Figures:
    """Return the figures of the simulator."""
    figures: Figures = {}
    for channel in CHANNELS:
        for groups, fds, *loops in ROWS:
            totals = []
            for each in loops:
                parameters: dict[str, Any] = {"ipc": channel, "groups": groups, "fds": fds, "loops": each}
                outcome = schedlab.simulate(
                    "hackbench", machine=machine, kernel=f"linux-{kernel}", parameters=parameters
                )
                counters = dict(outcome.counters.select("counter", "value").iter_rows())
                time = outcome.metrics.filter(outcome.metrics["metric"] == "time")["value"][0]
                totals.append((counters["switches"], time * 1e6, counters["messages"]))
            switches, us, messages = (long - short for short, long in zip(*totals, strict=True))
            figures[channel, groups, fds] = (switches / messages, us / messages)
    return figures


def real(kernel: str, workload: str, folder: Path) -> Figures:
    """Return the figures of Debian's kernel in a deterministic guest."""
    workloads = "".join(
        f'[[workload]]\nlabel = "{groups}-{fds}"\nuse = "{workload}"\ngroups = {groups}\nfds = {fds}\n'
        f"ipc = {list(CHANNELS)}\nloops = {loops}\n".replace("'", '"')
        for groups, fds, *loops in ROWS
    )
    text = (
        '[experiment]\nname = "preemption"\nquestion = "How often do readers preempt writers?"\n'
        f'[target]\nkind = "vm"\nkernel = "debian-{kernel}"\ntopology = "1x1/1"\ndeterministic = true\n'
        '[design]\nblocks = 1\nseed = 1\nwarmup = 0\n[[variant]]\nname = "booted"\n' + workloads
    )
    run = schedlab.run(text, store=folder / f"{kernel}.sqlite")
    totals: dict[tuple[str, int, int, int], dict[str, float]] = {}
    for row in run.counters.iter_rows(named=True):
        parameters = json.loads(row["parameters"])
        key = (parameters["ipc"], parameters["groups"], parameters["fds"], parameters["loops"])
        totals.setdefault(key, {})[row["counter"]] = row["value"]
    figures: Figures = {}
    for channel in CHANNELS:
        for groups, fds, short, long in ROWS:
            less, more = (totals[channel, groups, fds, loops] for loops in (short, long))
            messages = groups * fds**2 * (long - short)
            switches, ns = (more[name] - less[name] for name in ("context-switches", "schedstat.rq_cpu_time_ns"))
            figures[channel, groups, fds] = (switches / messages, ns / messages / 1000)
    return figures


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", nargs="+", default=["5.10", "6.1", "6.12"])
    parser.add_argument("--workload", choices=("hackbench", "hackbench-rt-tests"), default="hackbench-rt-tests")
    options = parser.parse_args()
    print(
        "| kernel | channel | groups, pairs | switches a message, real | simulated | µs of CPU time, real | simulated |"
    )
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        machine = guest_machine(folder)
        for kernel in options.kernels:
            there, here = real(kernel, options.workload, folder), simulated(kernel, machine)
            for (channel, groups, fds), (switches, us) in there.items():
                model_switches, model_us = here[channel, groups, fds]
                print(
                    f"| {kernel} | {channel} | {groups}, {fds} | {switches:.2f} | {max(model_switches, 0):.2f} "
                    f"| {us:.1f} | {model_us:.1f} |"
                )


if __name__ == "__main__":
    main()
