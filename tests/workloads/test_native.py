"""Every program of schedload runs once, small, and gives the metrics that its adapter declares."""

from __future__ import annotations

import json

import pytest

from schedlab.workloads.base import NotUnderstood, Output
from schedlab.workloads.registry import adapter
from tests.workloads.conftest import Measure

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
    ("yield", SHORT),
    ("futex", {**SHORT, "mode": "process"}),
    ("forkstorm", {**SHORT, "exec": True}),
    ("busyloop", {**SHORT, "threshold": "0.1us"}),
]


@pytest.mark.real
@pytest.mark.parametrize(("use", "parameters"), PROGRAMS, ids=lambda value: value if isinstance(value, str) else "")
def test_programs(measure: Measure, use: str, parameters: dict[str, object]) -> None:
    found = measure(use, **parameters)
    assert all(metric.value >= 0 for metric in found.values())
    assert all(metric.value > 0 for metric in found.values() if metric.spec.judged)
    if "latency-p99" in found:
        assert found["latency-p50"].value <= found["latency-p99"].value
    absent = {"sent"} if use == "stream" and "protocol" not in parameters else set()
    assert set(found) == {spec.name for spec in adapter(use).metrics} - absent


def told(*metrics: tuple[str, str, float | None]) -> Output:
    """What schedload prints: metrics by name, unit and value."""
    listed = [{"name": name, "unit": unit, "direction": "higher", "value": value} for name, unit, value in metrics]
    return Output(json.dumps({"schema": 1, "metrics": listed}), "", 1.0, 1.0, 0.0, 0)


def test_a_metric_of_another_unit_or_without_a_value_is_not_understood() -> None:
    found = adapter("yield")
    parameters = found.parameters.model_validate({})
    assert found.parse(parameters, told(("yields", "ops/s", 5.0)))[0].value == 5.0
    for wrong in (told(("yields", "s", 5.0)), told(("yields", "ops/s", None)), told(("forks", "ops/s", 1.0)), told()):
        with pytest.raises(NotUnderstood, match="yields"):
            found.parse(parameters, wrong)


def test_udp_senders_and_receivers_are_told_apart() -> None:
    found = adapter("stream")
    both = told(("receive", "Mbit/s", 5.0), ("send", "Mbit/s", 7.0))
    metrics = found.parse(found.parameters.model_validate({"protocol": "udp"}), both)
    assert {metric.spec.name: metric.value for metric in metrics} == {"received": 5.0, "sent": 7.0}
    with pytest.raises(NotUnderstood):
        found.parse(found.parameters.model_validate({"protocol": "tcp"}), both)


def test_times_need_a_unit() -> None:
    found = adapter("wakeup")
    assert found.parameters.model_validate({"request_time": "0.5ms"}).request_time == 500_000  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="unit"):
        found.parameters.model_validate({"request_time": 500_000})
