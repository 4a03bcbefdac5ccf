"""Every adapter of a real tool runs once, small, as the host target runs it."""

from __future__ import annotations

import pytest

from tests.workloads.conftest import Measure

pytestmark = pytest.mark.real


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize("use", ["netperf", "iperf3"])
def test_streams(measure: Measure, use: str, protocol: str) -> None:
    found = measure(use, protocol=protocol, size=1024, duration=1)
    assert found["received"].value > 50
    assert found["sent"].value >= found["received"].value * 0.99


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_netperf_ping(measure: Measure, protocol: str) -> None:
    found = measure("netperf-rr", protocol=protocol, duration=1)
    # One connection, one request on its way: rate and latency are each other's inverse.
    assert found["transactions"].value * found["latency"].value == pytest.approx(1e6, rel=0.1)


def test_tbench(measure: Measure) -> None:
    found = measure("tbench", clients=2, duration=2)
    assert found["throughput"].value > 10
    assert 0 < found["latency"].value < found["latency-max"].value


@pytest.mark.parametrize("mode", ["ro", "rw"])
def test_pgbench(measure: Measure, mode: str) -> None:
    found = measure("pgbench", mode=mode, clients=2, scale=1, duration=2)
    assert found["tps"].value > 100
    assert found["tps"].samples
    # Little's law: two clients that never think.
    assert found["tps"].value * found["latency"].value / 1e6 == pytest.approx(2, rel=0.2)


@pytest.mark.timeout(400)  # the kernel source is unpacked when this machine does it for the first time
def test_kernbench(measure: Measure) -> None:
    found = measure("kernbench", jobs_per_cpu=2, target="init/")
    assert found["elapsed"].value > 0.5
    assert found["user"].value > 0.3
    assert found["cpu"].value > 0


def test_perfstat(measure: Measure) -> None:
    found = measure("perfstat", run="sh -c 'echo noise >&2; sleep 0.05'", repeat=3)
    assert 0.05 < found["elapsed"].value < 1
    assert found["elapsed-error"].value >= 0
    assert found["context-switches"].value >= 1
    assert all(metric.value > 0 for name, metric in found.items() if name in ("cycles", "instructions"))


def test_perfstat_without_counters(measure: Measure) -> None:
    found = measure("perfstat", run="sleep 0.05", repeat=2, counters="none")
    assert set(found) == {"elapsed", "elapsed-error"}
    assert measure("perfstat", run="sleep 0.05", counters="none").keys() == {"elapsed"}


def test_cyclictest(measure: Measure) -> None:
    found = measure("cyclictest", threads=2, duration=1)
    assert 0 < found["latency-p50"].value <= found["latency-p99"].value <= found["latency-max"].value


def test_schbench(measure: Measure) -> None:
    found = measure("schbench", workers=2, duration=2)
    assert 0 < found["wakeup-p50"].value <= found["wakeup-p99"].value
    assert found["requests"].value > 0


@pytest.mark.parametrize("mode", ["process", "thread"])
@pytest.mark.parametrize("ipc", ["socket", "pipe"])
@pytest.mark.parametrize("use", ["hackbench-rt-tests", "perf-sched-messaging"])
def test_hackbenches(measure: Measure, use: str, mode: str, ipc: str) -> None:
    assert measure(use, groups=1, loops=20, mode=mode, ipc=ipc)["time"].value > 0


def test_perf_pipe(measure: Measure) -> None:
    assert measure("perf-sched-pipe", loops=2000)["latency"].value > 0


def test_any_command(measure: Measure) -> None:
    assert measure("command", run="sh -c 'exit 3'", success=3)["elapsed"].value > 0
