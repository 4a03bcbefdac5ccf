"""Native programs against the real tools: same parameters, run alternately; their ratio with a 95 % interval.

    .venv/bin/python benches/fidelity.py [--rounds 11] [--only tbench] [--seconds 2]

Prints the table of docs/fidelity.md: medians, and the mean of the rounds' ratios with its interval, as reports have it.
A pair whose real tool is missing is left out, with its install line. A trial waits until the machine is idle, and is
repeated when others are at work right after it.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from schedlab.analysis.paired import estimate, log_ratios
from schedlab.experiment.model import Variant
from schedlab.observe.conditions import Watch
from schedlab.scratch import root
from schedlab.targets.trial import interpret, launch
from schedlab.workloads.base import AnyAdapter, Parameters, Place
from schedlab.workloads.registry import adapter
from schedlab.workloads.tools import install_line, missing

LIMIT = 120.0

IDLE = 0.1
"""Share of all CPU time, including stolen time, below which the machine counts as idle."""
LOOK_SECONDS = 0.25
PATIENCE_SECONDS = 1800.0


@dataclass(frozen=True)
class Side:
    """A side of a comparison: a workload with parameters, and the compared metric."""

    use: str
    metric: str
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Pair:
    """A native program and the tool that it replaces."""

    label: str
    native: Side
    real: Side


def hackbenches() -> Iterator[Pair]:
    """The four modes against both tools, about a second each: longer runs have less spread over pipes."""
    for mode in ("process", "thread"):
        for ipc, loops in (("socket", 1000), ("pipe", 4000)):
            own = {"groups": 2, "loops": loops, "mode": mode, "ipc": ipc}
            label = f"hackbench, {mode}, {ipc}, 2 groups, {loops} loops"
            native = Side("hackbench", "time", own)
            yield Pair(f"{label} (rt-tests)", native, Side("hackbench-rt-tests", "time", own))
            yield Pair(f"{label} (perf bench)", native, Side("perf-sched-messaging", "time", own))


def pipes() -> Iterator[Pair]:
    """pipetest against perf's, processes and threads."""
    for mode in ("process", "thread"):
        own = {"loops": 100_000, "mode": mode}
        yield Pair(f"pipetest, {mode}", Side("pipetest", "latency", own), Side("perf-sched-pipe", "latency", own))


def networks(seconds: int) -> Iterator[Pair]:
    """stream and rr against iperf3 and netperf."""
    for protocol in ("tcp", "udp"):
        for size in (64, 1024, 16_384):
            stream: dict[str, Any] = {"protocol": protocol, "size": size, "duration": seconds}
            for tool in ("iperf3", "netperf"):
                label = f"stream, {protocol.upper()}, {size} bytes ({tool})"
                yield Pair(label, Side("stream", "received", stream), Side(tool, "received", stream))
        ping: dict[str, Any] = {"protocol": protocol, "duration": seconds}
        label = f"rr, {protocol.upper()}, 1 byte (netperf)"
        yield Pair(label, Side("rr", "transactions", ping), Side("netperf-rr", "transactions", ping))


def services(seconds: int) -> Iterator[Pair]:
    """tbench and pgbench."""
    for clients in (1, 2, 8):
        files = {"clients": clients, "duration": max(seconds, 2)}
        label = f"tbench, {clients} clients"
        yield Pair(label, Side("tbench-native", "throughput", files), Side("tbench", "throughput", files))
    for mode in ("ro", "rw"):
        for clients in (1, 2, 8):
            rows: dict[str, Any] = {"mode": mode, "clients": clients, "duration": seconds, "scale": 10}
            label = f"pgbench, {mode}, {clients} clients, scale 10"
            yield Pair(label, Side("pgbench-native", "tps", rows), Side("pgbench", "tps", rows))


class Ready:
    """A side that can run: its adapter, its validated parameters, its place."""

    def __init__(self, side: Side, stack: ExitStack) -> None:
        self.side = side
        self.adapter: AnyAdapter = adapter(side.use)
        self.parameters: Parameters = self.adapter.parameters.model_validate(side.parameters)
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="schedlab-fidelity-", dir=root()))
        self.place = Place(Path.home() / ".cache" / "schedlab", Path(scratch))
        stack.enter_context(self.adapter.prepared(self.parameters, self.place))

    def measure(self) -> float:
        """Return the figure of a trial without disturbance before or after it."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            if is_idle():
                figure = self.trial()
                if is_idle():
                    return figure
        sys.exit(f"the machine has not been idle for {PATIENCE_SECONDS:.0f} s")

    def trial(self) -> float:
        """Return one trial's figure. A failure ends the benchmark with its reason."""
        self.adapter.before_trial(self.parameters, self.place)
        launched = launch(self.adapter.command(self.parameters, self.place), Variant(name="bench"), LIMIT)
        state, metrics, reason = interpret(self.adapter, self.parameters, launched, LIMIT)
        if state != "ok":
            sys.exit(f"{self.side.use}: {reason}")
        return next(metric.value for metric in metrics if metric.spec.name == self.side.metric)


def is_idle() -> bool:
    """Return whether the machine is idle, over a quarter of a second."""
    watch = Watch()
    before = watch.snapshot().cpu
    time.sleep(LOOK_SECONDS)
    after = watch.snapshot().cpu
    used = after.busy - before.busy + after.steal - before.steal
    return used < IDLE * LOOK_SECONDS * (os.cpu_count() or 1)


def compare(pair: Pair, rounds: int) -> str:
    """A row of the table: both medians, and native over real with its interval."""
    with ExitStack() as stack:
        sides = [Ready(pair.native, stack), Ready(pair.real, stack)]
        for side in sides:
            side.measure()
        figures: list[dict[int, float]] = [{}, {}]
        for i in range(rounds):
            # The order alternates from round to round, so that drift affects both sides equally.
            for k in (0, 1) if i % 2 == 0 else (1, 0):
                figures[k][i] = sides[k].measure()
    native, real = (median(side.values()) for side in figures)
    found = estimate(log_ratios(figures[1], figures[0]), 0.95)
    unit = sides[1].adapter.spec(pair.real.metric).unit
    medians = f"{native:.4g} | {real:.4g}"
    return f"| {pair.label} | {unit} | {medians} | {found.ratio:.3f} | {found.low:.3f} – {found.high:.3f} |"


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=11, help="trials of each side (default 11)")
    options.add_argument("--seconds", type=int, default=2, help="duration of timed workloads in seconds (default 2)")
    options.add_argument("--only", default="", help="run only pairs whose label contains this text")
    chosen = options.parse_args()
    pairs = [*hackbenches(), *pipes(), *networks(chosen.seconds), *services(chosen.seconds)]
    print(f"Linux {platform.release()}, {os.cpu_count()} CPUs, {chosen.rounds} rounds\n")
    print("| what | unit | native | real | native / real | 95 % interval |\n|---|---|---|---|---|---|")
    left_out = {}
    for pair in pairs:
        if chosen.only not in pair.label:
            continue
        if lacking := missing(adapter(pair.native.use)) + missing(adapter(pair.real.use)):
            left_out[pair.real.use] = install_line(lacking)
            continue
        print(compare(pair, chosen.rounds), flush=True)
    for use, line in left_out.items():
        print(f"\nleft out: {use} ({line})")


if __name__ == "__main__":
    main()
