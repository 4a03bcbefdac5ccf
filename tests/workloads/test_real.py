"""Every adapter of a real tool runs once with small parameters, as on the host target."""

from __future__ import annotations

import pytest

from tests.workloads.conftest import Measure

pytestmark = pytest.mark.real


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize("use", ["netperf", "iperf3"])
def test_streams(measure: Measure, use: str, protocol: str) -> None:
    metrics = measure(use, protocol=protocol, size=1024, duration=1)
    assert metrics["received"].value > 50
    assert metrics["sent"].value >= metrics["received"].value * 0.99


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_netperf_ping(measure: Measure, protocol: str) -> None:
    metrics = measure("netperf-rr", protocol=protocol, duration=1)
    # One connection with one outstanding request: the rate is the inverse of the latency.
    assert metrics["transactions"].value * metrics["latency"].value == pytest.approx(1e6, rel=0.1)


def test_tbench(measure: Measure) -> None:
    metrics = measure("tbench", clients=2, duration=2)
    assert metrics["throughput"].value > 10
    assert 0 < metrics["latency"].value < metrics["latency-max"].value


@pytest.mark.parametrize("mode", ["ro", "rw"])
def test_pgbench(measure: Measure, mode: str) -> None:
    metrics = measure("pgbench", mode=mode, clients=2, scale=1, duration=2)
    assert metrics["tps"].value > 100
    assert metrics["tps"].samples
    # Little's law: two clients without think time.
    assert metrics["tps"].value * metrics["latency"].value / 1e6 == pytest.approx(2, rel=0.2)


@pytest.mark.verify  # half a minute; the other benchmarks cover the launcher
@pytest.mark.timeout(400)  # the first run on a machine unpacks the kernel source
def test_kernbench(measure: Measure) -> None:
    metrics = measure("kernbench", jobs_per_cpu=2, target="init/")
    assert metrics["elapsed"].value > 0.5
    assert metrics["user"].value > 0.3
    assert metrics["cpu"].value > 0


def test_perfstat(measure: Measure) -> None:
    metrics = measure("perfstat", run="sh -c 'echo noise >&2; sleep 0.2'", repeat=3)
    # Far below 200, the value in milliseconds, and far above the delays of a busy machine. There is no least value:
    # perf reads the clock when the command has already begun, and other tasks may delay perf.
    assert 0 < metrics["elapsed"].value < 50
    assert metrics["elapsed-error"].value >= 0
    assert metrics["context-switches"].value >= 1
    assert all(metric.value > 0 for name, metric in metrics.items() if name in ("cycles", "instructions"))


def test_perfstat_without_counters(measure: Measure) -> None:
    metrics = measure("perfstat", run="sleep 0.05", repeat=2, counters="none")
    assert set(metrics) == {"elapsed", "elapsed-error"}
    assert measure("perfstat", run="sleep 0.05", counters="none").keys() == {"elapsed"}


def test_cyclictest(measure: Measure) -> None:
    metrics = measure("cyclictest", threads=2, duration=1)
    assert 0 < metrics["latency-p50"].value <= metrics["latency-p99"].value <= metrics["latency-max"].value


def test_schbench(measure: Measure) -> None:
    metrics = measure("schbench", workers=2, duration=2)
    assert 0 < metrics["wakeup-p50"].value <= metrics["wakeup-p99"].value
    assert metrics["requests"].value > 0


@pytest.mark.parametrize("mode", ["process", "thread"])
@pytest.mark.parametrize("ipc", ["socket", "pipe"])
@pytest.mark.parametrize("use", ["hackbench-rt-tests", "perf-sched-messaging"])
def test_hackbenches(measure: Measure, use: str, mode: str, ipc: str) -> None:
    assert measure(use, groups=1, loops=20, mode=mode, ipc=ipc)["time"].value > 0


def test_perf_pipe(measure: Measure) -> None:
    assert measure("perf-sched-pipe", loops=2000)["latency"].value > 0


def test_any_command(measure: Measure) -> None:
    assert measure("command", run="sh -c 'exit 3'", success=3)["elapsed"].value > 0
