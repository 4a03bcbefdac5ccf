"""Figures of deterministic guests: times are counted instructions."""

from __future__ import annotations

import pytest

from schedlab.results import kinds
from schedlab.results.instructions import NS_PER_INSTRUCTION, counted, spec_of
from schedlab.results.metrics import Metric, MetricSpec
from schedlab.targets.vm.qemu import ICOUNT_SHIFT


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("s", "instructions"),
        ("us", "instructions"),
        ("ns/op", "instructions/op"),
        ("MB/s", "MB/s"),
        ("events", "events"),
    ],
)
def test_times_of_deterministic_runs_are_instructions(unit: str, expected: str) -> None:
    spec = MetricSpec("time", unit, "lower")
    assert spec_of(spec, kinds.DETERMINISTIC).unit == expected
    assert spec_of(spec, kinds.EMULATED) == spec


def test_a_time_becomes_its_number_of_instructions_with_its_samples() -> None:
    metric = counted(Metric(MetricSpec("latency", "us", "lower"), 2.0, [1.0, 3.0]))
    assert (metric.spec.unit, metric.value, metric.samples) == ("instructions", 250.0, [125.0, 375.0])


def test_a_rate_keeps_its_unit() -> None:
    metric = Metric(MetricSpec("throughput", "MB/s", "higher"), 2.0)
    assert counted(metric) is metric


def test_the_rate_of_the_guest_s_clock_is_declared_once() -> None:
    assert 1 << ICOUNT_SHIFT == NS_PER_INSTRUCTION


def test_instructions_of_deterministic_runs_are_counted_figures() -> None:
    assert kinds.of_figure(kinds.DETERMINISTIC, "instructions/op") == kinds.COUNTED
    assert kinds.of_figure(kinds.DETERMINISTIC, "MB/s") == kinds.DETERMINISTIC
    assert kinds.of_figure(kinds.REAL, "instructions") == kinds.REAL
