"""Native programs against the real tools: same parameters, run alternately; ratio of medians with a 95 % interval.

    .venv/bin/python benches/fidelity.py [--rounds 11] [--only tbench] [--seconds 2]

Prints the table of docs/fidelity.md. A pair whose real tool is missing is left out, with its install line.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from schedlab.experiment.model import Variant
from schedlab.targets.host.interpret import interpret
from schedlab.targets.host.launch import launch, scratch_root
from schedlab.workloads.base import AnyAdapter, Parameters, Place
from schedlab.workloads.registry import adapter
from schedlab.workloads.tools import install_line, missing

RESAMPLES = 10_000
LIMIT = 120.0


@dataclass(frozen=True)
class Side:
    """One of the two: a workload with parameters, and the metric that is compared."""

    use: str
    metric: str
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Pair:
    """A native program and the tool that it stands for."""

    label: str
    native: Side
    real: Side


def hackbenches() -> Iterator[Pair]:
    """The four modes, against both tools."""
    for mode in ("process", "thread"):
        for ipc in ("socket", "pipe"):
            own = {"groups": 2, "loops": 300, "mode": mode, "ipc": ipc}
            label = f"hackbench, {mode}, {ipc}, 2 groups, 300 loops"
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
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="schedlab-fidelity-", dir=scratch_root()))
        self.place = Place(Path.home() / ".cache" / "schedlab", Path(scratch))
        stack.enter_context(self.adapter.prepared(self.parameters, self.place))

    def measure(self) -> float:
        """One trial's figure; a failure ends the bench with its reason."""
        self.adapter.before_trial(self.parameters, self.place)
        launched = launch(self.adapter.command(self.parameters, self.place), Variant(name="bench"), LIMIT)
        state, metrics, reason = interpret(self.adapter, self.parameters, launched, LIMIT)
        if state != "ok":
            sys.exit(f"{self.side.use}: {reason}")
        return next(metric.value for metric in metrics if metric.spec.name == self.side.metric)


def compare(pair: Pair, rounds: int) -> str:
    """A row of the table: both medians, native over real, and its interval."""
    with ExitStack() as stack:
        sides = [Ready(pair.native, stack), Ready(pair.real, stack)]
        for side in sides:
            side.measure()
        figures = np.empty((rounds, 2))
        for i in range(rounds):
            # Who goes first changes from round to round, so that a drift of the machine hits both alike.
            for k in (0, 1) if i % 2 == 0 else (1, 0):
                figures[i, k] = sides[k].measure()
    native, real = np.median(figures, axis=0)
    low, high = interval(figures)
    unit = sides[1].adapter.spec(pair.real.metric).unit
    return f"| {pair.label} | {unit} | {native:.4g} | {real:.4g} | {native / real:.3f} | {low:.3f} – {high:.3f} |"


def interval(figures: np.ndarray[Any, np.dtype[np.float64]]) -> tuple[float, float]:
    """95 % percentile bootstrap of the ratio of medians; rounds are drawn whole, as their two trials are neighbours."""
    rng = np.random.default_rng(1)
    drawn = figures[rng.integers(len(figures), size=(RESAMPLES, len(figures)))]
    native, real = np.median(drawn, axis=1).T
    low, high = np.percentile(native / real, [2.5, 97.5])
    return float(low), float(high)


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=11, help="trials of each side (default 11)")
    options.add_argument("--seconds", type=int, default=2, help="of workloads that have a duration (default 2)")
    options.add_argument("--only", default="", help="pairs whose label holds this text")
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
