"""Every native workload runs once, small, and reports the metrics that its adapter declares."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from schedlab.results.metrics import NotUnderstood
from schedlab.simulation.programs import program
from schedlab.workloads.base import Output, Place
from schedlab.workloads.registry import adapter
from tests.workloads.conftest import Measure

pytestmark = pytest.mark.slow

SHORT = {"duration": 1, "warmup": 0}

PROGRAMS = [
    ("hackbench", {"groups": 1, "loops": 20}),
    ("pipetest", {"loops": 2000}),
    ("stream", {**SHORT, "size": 1024}),
    ("stream", {**SHORT, "size": 1024, "protocol": "udp"}),
    ("rr", SHORT),
    ("rr", {**SHORT, "protocol": "udp", "pairs": 2}),
    ("tbench-native", {**SHORT, "clients": 2}),
    ("pgbench-native", {**SHORT, "clients": 2}),
    ("pgbench-native", {**SHORT, "clients": 2, "mode": "rw", "scale": 1}),
    ("kernbench-native", {"directories": 2, "files": 4}),
    ("scripts", {"streams": 2, "scripts": 5}),
    ("schedbench", {"processes": 2, "memory": 4, "walks": 10}),
    ("wakeup", SHORT),
    ("cyclic", {**SHORT, "threads": 2}),
    ("yield", SHORT),
    ("futex", {**SHORT, "mode": "process"}),
    ("forkstorm", {**SHORT, "exec": True}),
    ("busyloop", {**SHORT, "threshold": "0.1us"}),
    ("kernel-path", {"loops": 20}),
]


@pytest.mark.real
@pytest.mark.parametrize(("use", "parameters"), PROGRAMS, ids=lambda value: value if isinstance(value, str) else "")
def test_every_workload_runs_and_reports_its_metrics(measure: Measure, use: str, parameters: dict[str, object]) -> None:
    metrics = measure(use, **parameters)
    assert all(metric.value >= 0 for metric in metrics.values())
    # Kernels that split CPU time by ticks may find no tick in the user mode of so short a program.
    positive = {spec.name for spec in adapter(use).metrics if spec.judged} - {"TotalUser"}
    assert positive
    assert all(metrics[name].value > 0 for name in positive)
    if "latency-p99" in metrics:
        assert metrics["latency-p50"].value <= metrics["latency-p99"].value
    absent = {"sent"} if use == "stream" and "protocol" not in parameters else set()
    assert set(metrics) == {spec.name for spec in adapter(use).metrics} - absent


def reported(*metrics: tuple[str, str, float | None]) -> Output:
    """The output of schedload: metrics by name, unit and value."""
    listed = [{"name": name, "unit": unit, "direction": "higher", "value": value} for name, unit, value in metrics]
    return Output(json.dumps({"schema": 1, "metrics": listed}), "", 1.0, 1.0, 0.0, 0)


def test_a_metric_of_another_unit_or_without_a_value_is_refused() -> None:
    yielding = adapter("yield")
    parameters = yielding.parameters.model_validate({})
    assert yielding.parse(parameters, reported(("yields", "ops/s", 5.0)))[0].value == 5.0
    faults = (("yields", "s", 5.0),), (("yields", "ops/s", None),), (("forks", "ops/s", 1.0),), ()
    for metrics in faults:
        with pytest.raises(NotUnderstood, match="yields"):
            yielding.parse(parameters, reported(*metrics))
    with pytest.raises(NotUnderstood, match="not its JSON object"):
        yielding.parse(parameters, Output("", "", 1.0, 1.0, 0.0, 0))


def test_sent_is_a_metric_of_udp_only() -> None:
    stream = adapter("stream")
    both = reported(("received", "Mbit/s", 5.0), ("sent", "Mbit/s", 7.0))
    metrics = stream.parse(stream.parameters.model_validate({"protocol": "udp"}), both)
    assert {metric.spec.name: metric.value for metric in metrics} == {"received": 5.0, "sent": 7.0}
    metrics = stream.parse(stream.parameters.model_validate({"protocol": "tcp"}), both)
    assert [metric.spec.name for metric in metrics] == ["received"]


def test_samples_of_round_trips_are_stored_with_the_judged_median() -> None:
    pipetest = adapter("pipetest")
    names = ("latency-p50", "latency", "latency-p99", "usecs-per-op")
    listed: list[dict[str, Any]] = [{"name": name, "unit": "us", "direction": "lower", "value": 2.0} for name in names]
    listed[1]["samples"] = [1.0, 2.0, 3.0]
    output = Output(json.dumps({"metrics": listed}), "", 1.0, 1.0, 0.0, 0)
    metrics = pipetest.parse(pipetest.parameters.model_validate({}), output)
    assert {metric.spec.name: metric.samples for metric in metrics} == {
        "latency-p50": [1.0, 2.0, 3.0], "latency": None, "latency-p99": None, "usecs-per-op": None,
    }  # fmt: skip


def validated(use: str, **values: object) -> dict[str, Any]:
    return adapter(use).parameters.model_validate(values).model_dump()


def test_times_need_a_unit_and_durations_may_be_seconds() -> None:
    assert validated("wakeup", request_time="0.5ms")["request_time"] == 500_000
    with pytest.raises(ValueError, match="unit"):
        validated("wakeup", request_time=500_000)
    for duration, nanoseconds in ((2, 2 * 10**9), (0.5, 5 * 10**8), ("2.5s", 25 * 10**8), ("20ms", 2 * 10**7)):
        assert validated("wakeup", duration=duration, warmup=duration)["duration"] == nanoseconds


@pytest.mark.parametrize(
    ("use", "values", "message"),
    [
        ("hackbench", {"groups": 0}, "groups\n.*greater than or equal to 1"),
        ("hackbench", {"size": "100"}, "size\n.*valid integer"),
        ("hackbench", {"ipc": "smoke"}, "ipc\n.*'socket', 'pipe' or 'inet'"),
        ("hackbench", {"groups": 100_000, "fds": 10_000}, "groups x fds x 2 = 2000000000: must be from 1 to 4194304"),
        ("yield", {"duration": 0}, "duration\n.*0 is not from 1ms to 86400s"),
        ("yield", {"warmup": "2h"}, "warmup\n.*'2h' is not from 0s to 3600s"),
        ("yield", {"task": 1}, "task\n.*not permitted"),
        ("stream", {"bytes": 1000, "duration": 5}, "bytes = 1000: cannot be given together with duration"),
    ],
)
def test_wrong_values_are_refused_with_the_key_and_the_accepted_values(
    use: str, values: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        validated(use, **values)


def test_the_command_line_has_every_parameter_with_its_option() -> None:
    hackbench = adapter("hackbench")
    parameters = hackbench.parameters.model_validate({"size": 50, "ipc": "pipe"})
    words = hackbench.command(parameters, Place(Path("/"), Path("/"))).argv
    assert words[1:3] == ("--json", "hackbench")
    assert set(words[3:]) == {
        "--groups=10", "--fds=20", "--loops=100", "--datasize=50", "--ipc=pipe", "--mode=process",
        "--main-mappings=0", "--main-pages=0", "--written-pages=0",
    }  # fmt: skip


def test_jobs_per_cpu_counts_the_cpus_of_this_process_or_of_the_simulated_machine() -> None:
    kernbench = adapter("kernbench-native")
    parameters = kernbench.parameters.model_validate({"jobs_per_cpu": 3})
    command = kernbench.command(parameters, Place(Path("/"), Path("/")))
    assert f"--jobs={3 * len(os.sched_getaffinity(0))}" in command.argv
    assert program("kernbench-native", {"jobs_per_cpu": 3}, 64).data["groups"][0]["body"][0]["loop"]["repeat"] == {
        "count": 192
    }
