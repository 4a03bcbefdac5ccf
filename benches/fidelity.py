"""Compare the native workloads with the tools that they replace: same parameters, run alternately.

    .venv/bin/python benches/fidelity.py [--rounds 11] [--only tbench] [--seconds 2]

The output is the table of docs/fidelity.md: both medians, and the mean of the rounds' ratios with its 95 % interval, as
in reports. If a tool is not installed, its pairs are left out, and a last line says how to install the tool. A trial
starts when the machine is idle. A trial is repeated if the machine is busy right after the trial.
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
from schedlab.files.scratch import root
from schedlab.observe.conditions import Watch
from schedlab.targets.trial import interpret, launch
from schedlab.workloads.base import AnyAdapter, Parameters, Place
from schedlab.workloads.registry import adapter
from schedlab.workloads.tools import install_line, missing

LIMIT = 120.0
"""Longest duration of a trial in seconds."""

IDLE = 0.1
"""Share of used and stolen CPU time below which the machine counts as idle."""
IDLE_SECONDS = 0.25
"""Duration of a check whether the machine is idle."""
WAIT_SECONDS = 1800.0
"""Longest time to wait for an undisturbed trial."""


@dataclass(frozen=True)
class Choice:
    """A workload with its parameters, and the metric that is compared."""

    use: str
    metric: str
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Pair:
    """A native workload and the replaced tool."""

    label: str
    native: Choice
    real: Choice


def hackbenches() -> Iterator[Pair]:
    """Yield the four modes of hackbench with both tools. A trial takes about a second: shorter runs vary more."""
    for mode in ("process", "thread"):
        for ipc, loops in (("socket", 1000), ("pipe", 4000)):
            parameters = {"groups": 2, "loops": loops, "mode": mode, "ipc": ipc}
            label = f"hackbench, {mode}, {ipc}, 2 groups, {loops} loops"
            native = Choice("hackbench", "time", parameters)
            yield Pair(f"{label} (rt-tests)", native, Choice("hackbench-rt-tests", "time", parameters))
            yield Pair(f"{label} (perf bench)", native, Choice("perf-sched-messaging", "time", parameters))


def pipes() -> Iterator[Pair]:
    """Yield pipetest with ``perf bench sched pipe``, for processes and for threads."""
    for mode in ("process", "thread"):
        parameters = {"loops": 100_000, "mode": mode}
        native = Choice("pipetest", "latency", parameters)
        yield Pair(f"pipetest, {mode}", native, Choice("perf-sched-pipe", "latency", parameters))


def networks(seconds: int) -> Iterator[Pair]:
    """Yield stream and rr with iperf3 and netperf."""
    for protocol in ("tcp", "udp"):
        for size in (64, 1024, 16_384):
            stream: dict[str, Any] = {"protocol": protocol, "size": size, "duration": seconds}
            for tool in ("iperf3", "netperf"):
                label = f"stream, {protocol.upper()}, {size} bytes ({tool})"
                yield Pair(label, Choice("stream", "received", stream), Choice(tool, "received", stream))
        request: dict[str, Any] = {"protocol": protocol, "duration": seconds}
        label = f"rr, {protocol.upper()}, 1 byte (netperf)"
        yield Pair(label, Choice("rr", "transactions", request), Choice("netperf-rr", "transactions", request))


def services(seconds: int) -> Iterator[Pair]:
    """Yield tbench and pgbench with the real servers."""
    for clients in (1, 2, 8):
        parameters: dict[str, Any] = {"clients": clients, "duration": max(seconds, 2)}
        label = f"tbench, {clients} clients"
        yield Pair(label, Choice("tbench-native", "throughput", parameters), Choice("tbench", "throughput", parameters))
    for mode in ("ro", "rw"):
        for clients in (1, 2, 8):
            parameters = {"mode": mode, "clients": clients, "duration": seconds, "scale": 10}
            label = f"pgbench, {mode}, {clients} clients, scale 10"
            yield Pair(label, Choice("pgbench-native", "tps", parameters), Choice("pgbench", "tps", parameters))


class Prepared:
    """A workload that is ready to run: its adapter, validated parameters and folders."""

    def __init__(self, choice: Choice, stack: ExitStack) -> None:
        """Prepare the workload. ``stack`` ends its servers and removes its scratch folder."""
        self.choice = choice
        self.adapter: AnyAdapter = adapter(choice.use)
        self.parameters: Parameters = self.adapter.parameters.model_validate(choice.parameters)
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="schedlab-fidelity-", dir=root()))
        self.place = Place(Path.home() / ".cache" / "schedlab", Path(scratch))
        stack.enter_context(self.adapter.prepared(self.parameters, self.place))

    def measure(self) -> float:
        """Return the figure of a trial with an idle machine before and after the trial."""
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            if is_idle():
                figure = self.trial()
                if is_idle():
                    return figure
        sys.exit(f"the machine has not been idle before and after a trial for {WAIT_SECONDS:.0f} s")

    def trial(self) -> float:
        """Run a trial and return its figure. A failed trial ends the benchmark with its reason."""
        self.adapter.before_trial(self.parameters, self.place)
        launched = launch(self.adapter.command(self.parameters, self.place), Variant(name="bench"), LIMIT)
        state, metrics, reason = interpret(self.adapter, self.parameters, launched, LIMIT)
        if state != "ok":
            sys.exit(f"{self.choice.use}: {reason}")
        return next(metric.value for metric in metrics if metric.spec.name == self.choice.metric)


def is_idle() -> bool:
    """Return whether the machine is idle during the next quarter of a second."""
    watch = Watch()
    before = watch.snapshot().cpu
    time.sleep(IDLE_SECONDS)
    after = watch.snapshot().cpu
    used = after.busy - before.busy + after.steal - before.steal
    return used < IDLE * IDLE_SECONDS * (os.cpu_count() or 1)


def compare(pair: Pair, rounds: int) -> str:
    """Measure a pair. Return its row of the table: both medians, and the ratio of native to real with its interval."""
    with ExitStack() as stack:
        programs = [Prepared(pair.native, stack), Prepared(pair.real, stack)]
        for program in programs:
            program.measure()  # warm-up
        figures: list[dict[int, float]] = [{}, {}]
        for i in range(rounds):
            # The order alternates from round to round, so that drift affects both programs equally.
            for k in (0, 1) if i % 2 == 0 else (1, 0):
                figures[k][i] = programs[k].measure()
    native, real = (median(by_round.values()) for by_round in figures)
    ratio = estimate(log_ratios(figures[1], figures[0]), 0.95)
    unit = programs[1].adapter.spec(pair.real.metric).unit
    medians = f"{native:.4g} | {real:.4g}"
    return f"| {pair.label} | {unit} | {medians} | {ratio.ratio:.3f} | {ratio.low:.3f} – {ratio.high:.3f} |"


def main() -> None:
    """Measure the chosen pairs and print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=11, help="trials of each program (default 11)")
    options.add_argument(
        "--seconds", type=int, default=2, help="duration in seconds of workloads that run for a time (default 2)"
    )
    options.add_argument("--only", default="", help="run only pairs whose label contains this text")
    chosen = options.parse_args()
    pairs = [*hackbenches(), *pipes(), *networks(chosen.seconds), *services(chosen.seconds)]
    print(f"Linux {platform.release()}, {os.cpu_count()} CPUs, {chosen.rounds} rounds\n")
    print("| what | unit | native | real | native / real | 95 % interval |\n|---|---|---|---|---|---|")
    left_out = {}
    for pair in pairs:
        if chosen.only not in pair.label:
            continue
        if tools := missing(adapter(pair.native.use)) + missing(adapter(pair.real.use)):
            left_out[pair.real.use] = install_line(tools)
            continue
        print(compare(pair, chosen.rounds), flush=True)
    for use, line in left_out.items():
        print(f"\nleft out: {use} ({line})")


if __name__ == "__main__":
    main()
