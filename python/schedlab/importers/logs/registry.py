"""The readers of tool logs, the strictest first: the first that recognises a text is the most specific one."""

from __future__ import annotations

from schedlab.importers.logs import (
    cyclictest,
    cyclictest_json,
    dbench,
    go_bench,
    hackbench,
    hyperfine,
    iperf3,
    netperf,
    perf_bench,
    perf_stat,
    perf_stat_json,
    pgbench,
    pgbench_log,
    pytest_benchmark,
    schbench,
    stress_ng,
    unixbench,
    will_it_scale,
)
from schedlab.importers.logs.base import Reader
from schedlab.importers.logs.values import reader as values

READERS: tuple[Reader, ...] = (
    perf_stat_json.READER,
    hyperfine.READER,
    iperf3.READER,
    pytest_benchmark.READER,
    cyclictest_json.READER,
    pgbench_log.READER,
    netperf.READER,
    perf_bench.READER,
    dbench.READER,
    pgbench.READER,
    schbench.READER,
    cyclictest.READER,
    hackbench.READER,
    go_bench.READER,
    unixbench.READER,
    stress_ng.READER,
    will_it_scale.READER,
    perf_stat.READER,
    values.READER,
)


def recognise(head: str) -> Reader | None:
    """The reader of a text that begins like this; None where no tool's output does."""
    return next((reader for reader in READERS if reader.recognises(head)), None)
