"""Kinds of runs, and the consequences for their figures."""

from __future__ import annotations

import pytest

from schedlab.results import kinds
from schedlab.workloads.registry import adapter, names


def test_every_metric_of_a_workload_has_a_unit_of_speed_or_counts_events() -> None:
    units = {spec.unit for name in names() for spec in adapter(name).metrics}
    assert {unit for unit in units if not kinds.is_speed(unit)} <= {"events"}


@pytest.mark.parametrize("unit", ["", "events", "MiB", "migrations", "pages"])
def test_counts_and_sizes_are_not_speed(unit: str) -> None:
    assert not kinds.is_speed(unit)


def test_only_real_time_has_drift() -> None:
    assert [kinds.in_time(kind) for kind in (kinds.REAL, kinds.EMULATED, kinds.VIRTUAL)] == [True] * 3
    assert [kinds.in_time(kind) for kind in (kinds.SIMULATED, kinds.DETERMINISTIC)] == [False] * 2


def test_kvm_is_not_emulation() -> None:
    assert not kinds.emulated(kinds.VIRTUAL)
    assert kinds.emulated(kinds.EMULATED)
    assert kinds.emulated(kinds.DETERMINISTIC)
