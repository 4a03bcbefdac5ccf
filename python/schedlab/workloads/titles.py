"""Benchmarks by the names that titles of printed tables give them, with their parameter, unit and direction."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from schedlab.results.metrics import Direction, MetricSpec
from schedlab.workloads.cyclictest import output as cyclictest
from schedlab.workloads.hackbench import output as hackbench
from schedlab.workloads.netperf.metrics import RECEIVED, TRANSACTIONS
from schedlab.workloads.perf_bench import output as perf_bench
from schedlab.workloads.pgbench import output as pgbench
from schedlab.workloads.tbench import output as tbench


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: ``parameter`` of its rows, ``unit`` and ``direction`` of its main metric."""

    name: str
    parameter: str
    unit: str
    direction: Direction | None


def _of(name: str, parameter: str, main: MetricSpec) -> Benchmark:
    return Benchmark(name, parameter, main.unit, main.direction)


_BENCHMARKS: tuple[tuple[str, Benchmark], ...] = (
    (r"hackbench(?:-[a-z]+)*", _of("hackbench", "groups", hackbench.TIME)),
    (r"sched[ -]messaging", _of("perf-sched-messaging", "groups", perf_bench.TIME)),
    (r"sched[ -]pipe", _of("perf-sched-pipe", "", perf_bench.LATENCY)),
    (r"perf-?pipe", _of("perfpipe", "", perf_bench.LATENCY)),
    (r"pipe-?test", Benchmark("pipetest", "", "us", "lower")),
    (r"(?:config-network-)?tbench[34]?", _of("tbench", "clients", tbench.METRICS[0])),
    (r"dbench[34]?", _of("dbench", "clients", tbench.METRICS[0])),
    (r"(?:netperf.{0,20}?)?tcp[_-]rr", _of("netperf-tcp-rr", "size", TRANSACTIONS)),
    (r"(?:netperf.{0,20}?)?udp[_-]rr", _of("netperf-udp-rr", "size", TRANSACTIONS)),
    (r"netperf.{0,20}?tcp|tcp_stream", _of("netperf-tcp", "size", RECEIVED)),
    (r"netperf.{0,20}?udp|udp_stream", _of("netperf-udp", "size", RECEIVED)),
    (r"netperf", Benchmark("netperf", "clients", "", "higher")),
    (r"(?:config-db-)?pgbench", _of("pgbench", "clients", pgbench.TPS)),
    (r"sysbench", Benchmark("sysbench", "threads", "", "higher")),
    (r"kern-?bench|bzimage|vmlinux|kernel build|kbuild|make -j", Benchmark("kernbench", "jobs", "s", "lower")),
    (r"(?:numa )?schedbench", Benchmark("schedbench", "processes", "s", "lower")),
    (r"schbench", Benchmark("schbench", "workers", "us", None)),
    (r"sdet", Benchmark("sdet", "scripts", "scripts/hour", "higher")),
    (r"spec ?jbb(?:20\d\d)?", Benchmark("specjbb", "warehouses", "", "higher")),
    (r"will-it-scale", Benchmark("will-it-scale", "tasks", "", "higher")),
    (r"stress-ng", Benchmark("stress-ng", "instances", "", "higher")),
    (r"unixbench", Benchmark("unixbench", "copies", "", "higher")),
    (r"ebizzy", Benchmark("ebizzy", "threads", "records/s", "higher")),
    # Only the upper-case name, or the isolated word at the beginning, is the benchmark STREAM.
    (r"(?-i:STREAM)|^\W*stream\b", Benchmark("stream", "threads", "MB/s", "higher")),
    (r"cyclictest", _of("cyclictest", "threads", cyclictest.METRICS[0])),
    (r"lmbench3?", Benchmark("lmbench", "", "", None)),
    (r"aim[79]", Benchmark("aim", "tasks", "", "higher")),
    (r"iperf3?", Benchmark("iperf", "clients", "", "higher")),
    (r"redis", Benchmark("redis", "clients", "", None)),
    (r"mysql", Benchmark("mysql", "threads", "", None)),
    (r"fio\b", Benchmark("fio", "jobs", "", None)),
    (r"memcached", Benchmark("memcached", "clients", "", None)),
)
_PATTERNS = tuple(
    (re.compile(rf"(?<![\w-])(?:{pattern})(?![a-z])", re.IGNORECASE), entry) for pattern, entry in _BENCHMARKS
)
_HACKBENCH_VARIANT = re.compile(r"hackbench(?:-(?:process|thread|proc))?-(?:pipes?|sockets?)", re.IGNORECASE)


@lru_cache(maxsize=1024)
def benchmark(text: str) -> Benchmark | None:
    """Return the benchmark that a title names: the first name, or the longest of several names that begin
    at the same place."""
    matches = [(match.start(), -match.end(), entry) for pattern, entry in _PATTERNS if (match := pattern.search(text))]
    if not matches:
        return None
    entry = min(matches, key=lambda item: item[:2])[2]
    if entry.name == "hackbench" and (variant := _HACKBENCH_VARIANT.search(text)):
        return Benchmark(variant[0].lower(), entry.parameter, entry.unit, entry.direction)
    return entry
