"""Registry of the benchmarks: one line for each folder, with its adapters and the readers of its output.

Modules are imported on first use, so that the command line starts quickly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from schedlab.workloads.base import AnyAdapter
    from schedlab.workloads.log_reader import Reader
    from schedlab.workloads.mmtests_logs import Row
    from schedlab.workloads.plugins import Fault


@dataclass(frozen=True)
class Benchmark:
    """One folder of :mod:`schedlab.workloads`.

    Attributes:
        folder: name of the folder.
        adapters: classes in ``adapter.py`` by the name that an experiment file writes after ``use =``.
        output: whether ``output.py`` has ``READERS`` of the tool's output.
        mmtests: functions in ``output.py`` by the pattern of MMTests' names for the benchmark.
    """

    folder: str
    adapters: Mapping[str, str] = field(default_factory=dict)
    output: bool = True
    mmtests: Mapping[str, str] = field(default_factory=dict)


_HACKBENCH = r"hackbench(-(process|thread))?(-(pipes|sockets))?"
_PERF_SCHED = {"perf-sched-messaging": "PerfSchedMessaging", "perf-sched-pipe": "PerfSchedPipe"}
_PIPES = {r"perfpipe(-.+)?": "read_perfpipe", r"pipetest(-.+)?": "read_pipetest"}

BENCHMARKS = (
    Benchmark("hackbench", {"hackbench-rt-tests": "HackbenchRtTests"}, mmtests={_HACKBENCH: "read_mmtests"}),
    Benchmark("perf_bench", _PERF_SCHED, mmtests=_PIPES),
    Benchmark(
        "netperf",
        {"netperf": "Netperf", "netperf-rr": "NetperfRr"},
        mmtests={r"netperf(-(?!overtime).+)?": "read_mmtests"},
    ),
    Benchmark("iperf3", {"iperf3": "Iperf3"}),
    Benchmark("tbench", {"tbench": "Tbench"}, mmtests={r"tbench4?": "read_mmtests"}),
    Benchmark("pgbench", {"pgbench": "Pgbench"}, mmtests={r"pgbench(-.+)?": "read_mmtests"}),
    Benchmark("kernbench", {"kernbench": "Kernbench"}, mmtests={r"kernbench(-.+)?": "read_mmtests"}),
    # JSON of rt-tests names its tool; cyclictest's reader is for the JSON that these readers do not recognise.
    Benchmark("rt_tests"),
    Benchmark("cyclictest", {"cyclictest": "Cyclictest"}),
    Benchmark("rtla"),
    Benchmark("noise", {"noise": "Noise"}, output=False),
    Benchmark("schbench", {"schbench": "Schbench"}, mmtests={r"schbench(-.+)?": "read_mmtests"}),
    Benchmark("hyperfine"),
    Benchmark("frame_times"),
    Benchmark("microbenchmarks"),
    Benchmark("phoronix"),
    Benchmark("lmbench"),
    Benchmark("unixbench"),
    Benchmark("will_it_scale", mmtests={r"wis-.+": "read_mmtests"}),
    Benchmark("stress_ng", mmtests={r"stressng(-.+)?": "read_mmtests"}),
    Benchmark("perf_sched"),
    Benchmark("turbostat"),
    # The reader of perf stat recognises a line almost only by its numbers, so this reader is last.
    Benchmark("perf_stat", {"perfstat": "Perfstat"}),
    Benchmark("command", {"command": "CommandLine"}, output=False),
)

_ADAPTERS = {
    name: f"{benchmark.folder}.adapter:{cls}" for benchmark in BENCHMARKS for name, cls in benchmark.adapters.items()
}
_MMTESTS = {
    re.compile(pattern): f"{benchmark.folder}.output:{function}"
    for benchmark in BENCHMARKS
    for pattern, function in benchmark.mmtests.items()
}

MMTESTS_NAMES = tuple(re.split(r"\W", pattern.pattern)[0].rstrip("4") for pattern in _MMTESTS)
"""Names of the benchmarks in MMTests that are read, without their suffixes."""


class UnknownWorkload(LookupError):
    """Error for a name without an adapter; ``nearest`` lists similar names.

    ``reason`` is the fault of a package that has a workload of this name.
    """

    def __init__(self, name: str, reason: str = "") -> None:
        self.reason = reason
        self.nearest = get_close_matches(name, names(), n=3, cutoff=0.6)
        super().__init__(f"workload {name!r} cannot be used: {reason}" if reason else f"unknown workload {name!r}")


def own_names() -> list[str]:
    """Return the names of schedlab's workloads, in the order of the documentation."""
    from schedlab.workloads import declarations

    return [*declarations.names(), *_ADAPTERS]


def names() -> list[str]:
    """Return every name that ``use =`` may have: schedlab's workloads, then workloads of other packages."""
    from schedlab.workloads import plugins

    return [*own_names(), *plugins.load(own_names()).adapters]


def unusable() -> tuple[Fault, ...]:
    """Return the workloads of other packages that cannot be used, with their reasons."""
    from schedlab.workloads import plugins

    return plugins.load(own_names()).faults


def adapter(name: str) -> AnyAdapter:
    """Return the adapter of this name; raises :class:`UnknownWorkload`."""
    from schedlab.workloads import declarations, native, plugins

    if name in _ADAPTERS:
        return cast("AnyAdapter", _load(_ADAPTERS[name])())
    if name in declarations.names():
        return cast("AnyAdapter", native.adapter(name))
    packages = plugins.load(own_names())
    if name in packages.adapters:
        return packages.adapters[name]
    raise UnknownWorkload(name, packages.reason(name))


@cache
def log_readers() -> tuple[Reader, ...]:
    """Return the readers of tool output in the order of detection: formats that fill a complete file come first, and
    declared formats, which are strict, before the others."""
    readers: list[Reader] = list(_load("declared:readers")())
    for benchmark in BENCHMARKS:
        if benchmark.output:
            readers += _load(f"{benchmark.folder}.output:READERS")
    return tuple(sorted(readers, key=lambda reader: reader.in_mails))


def mmtests_reader(name: str) -> Callable[[Path], list[Row]] | None:
    """Return the function that reads a logs folder of the benchmark with this name in MMTests; None for other
    workloads."""
    place = next((place for pattern, place in _MMTESTS.items() if pattern.fullmatch(name)), None)
    return None if place is None else cast("Callable[[Path], list[Row]]", _load(place))


def _load(place: str) -> Any:
    """Return an object by ``module:name`` within :mod:`schedlab.workloads`."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"schedlab.workloads.{module}"), name)
