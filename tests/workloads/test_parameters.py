"""Parameters of adapters: sizes, conflicting values, and estimates for a plan."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from schedlab.workloads.base import Place, Tool
from schedlab.workloads.pgbench.adapter import Pgbench, PgbenchParameters
from schedlab.workloads.pgbench.postgres import SCALE_BYTES
from schedlab.workloads.registry import adapter, names

NEEDED = {"command": {"run": "true"}, "perfstat": {"run": "true"}}


def test_the_scale_comes_from_a_share_of_memory() -> None:
    parameters = PgbenchParameters.model_validate({"memory_share": "10%"})
    assert parameters.units(200 * SCALE_BYTES) == 20
    assert PgbenchParameters(scale=7).units(1) == 7
    assert PgbenchParameters().units(200 * SCALE_BYTES) == 10


@pytest.mark.parametrize(
    "values", [{"scale": 1, "memory_share": "5%"}, {"memory_share": 0.05}, {"memory_share": "90%"}, {"mode": "wo"}]
)
def test_impossible_sizes_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        PgbenchParameters.model_validate(values)


def test_a_database_without_room_is_a_missing_requirement(place: Place) -> None:
    assert "free space" in Pgbench().missing_requirements(PgbenchParameters(scale=100_000), place)[0]


@pytest.mark.parametrize("name", names())
def test_every_adapter_is_complete(name: str) -> None:
    workload = adapter(name)
    parameters = workload.parameters.model_validate(NEEDED.get(name, {}))
    assert workload.name == name
    assert workload.summary
    assert workload.seconds(parameters) > 0
    assert any(spec.judged for spec in workload.metrics)
    assert len({spec.name for spec in workload.metrics}) == len(workload.metrics)
    for tool in workload.tools:
        assert isinstance(tool, Tool)
        assert tool.package


def test_estimates_grow_with_the_duration() -> None:
    for name in names():
        workload = adapter(name)
        if "duration" in workload.parameters.model_fields:
            short, long = (workload.parameters.model_validate({"duration": seconds}) for seconds in (2, 20))
            assert workload.seconds(long) >= workload.seconds(short) + 18, name
