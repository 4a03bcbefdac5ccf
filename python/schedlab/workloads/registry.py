"""The workloads by name. Adapters are imported when first asked for, so that the command line starts quickly."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import cast

from schedlab.workloads.base import AnyAdapter

_HOMES = {
    "hackbench": "hackbench:Hackbench",
    "pipetest": "pipetest:Pipetest",
    "stream": "stream:Stream",
    "rr": "rr:Rr",
    "tbench-native": "tbench_native:TbenchNative",
    "pgbench-native": "pgbench_native:PgbenchNative",
    "kernbench-native": "kernbench_native:KernbenchNative",
    "scripts": "scripts:Scripts",
    "schedbench": "schedbench:Schedbench",
    "wakeup": "wakeup:Wakeup",
    "yield": "yielding:Yielding",
    "futex": "futex:Futex",
    "forkstorm": "forkstorm:Forkstorm",
    "busyloop": "busyloop:BusyLoop",
    "hackbench-rt-tests": "hackbench_rt_tests:HackbenchRtTests",
    "perf-sched-messaging": "perf_bench:PerfSchedMessaging",
    "perf-sched-pipe": "perf_bench:PerfSchedPipe",
    "netperf": "netperf:Netperf",
    "netperf-rr": "netperf:NetperfRr",
    "iperf3": "iperf3:Iperf3",
    "tbench": "tbench:Tbench",
    "pgbench": "pgbench:Pgbench",
    "kernbench": "kernbench:Kernbench",
    "cyclictest": "cyclictest:Cyclictest",
    "schbench": "schbench:Schbench",
    "perfstat": "perfstat:Perfstat",
    "command": "command:CommandLine",
}
"""Name → ``module:class`` within :mod:`schedlab.workloads`."""


class UnknownWorkload(LookupError):
    """No adapter of this name; ``nearest`` holds the likeliest right names."""

    def __init__(self, name: str) -> None:
        self.nearest = get_close_matches(name, _HOMES, n=3, cutoff=0.6)
        super().__init__(f"unknown workload {name!r}")


def names() -> list[str]:
    """Every name that ``use =`` may have, in the order of the documentation."""
    return list(_HOMES)


def adapter(name: str) -> AnyAdapter:
    """The adapter of this name; raises :class:`UnknownWorkload`."""
    try:
        home = _HOMES[name]
    except KeyError:
        raise UnknownWorkload(name) from None
    module, _, cls = home.partition(":")
    return cast(AnyAdapter, getattr(import_module(f"schedlab.workloads.{module}"), cls)())
