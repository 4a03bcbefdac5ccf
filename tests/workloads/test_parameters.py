"""Parameters: sizes, what cannot go together, and estimates that a plan can be made from."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from schedlab.workloads.base import Tool
from schedlab.workloads.pgbench.adapter import Pgbench, PgbenchParameters
from schedlab.workloads.pgbench.postgres import SCALE_BYTES, memory_bytes
from schedlab.workloads.registry import adapter, names

NEEDED = {"command": {"run": "true"}, "perfstat": {"run": "true"}}


def test_the_scale_comes_from_a_share_of_memory() -> None:
    parameters = PgbenchParameters.model_validate({"memory_share": "10%"})
    assert parameters.units == int(0.1 * memory_bytes() / SCALE_BYTES)
    assert PgbenchParameters(scale=7).units == 7
    assert PgbenchParameters().units == PgbenchParameters.model_validate({"memory_share": "5%"}).units


@pytest.mark.parametrize(
    "given", [{"scale": 1, "memory_share": "5%"}, {"memory_share": 0.05}, {"memory_share": "90%"}, {"mode": "wo"}]
)
def test_sizes_that_cannot_be_meant_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        PgbenchParameters.model_validate(given)


def test_a_database_without_room_is_told_before_the_start() -> None:
    assert "make room" in Pgbench().missing_requirements(PgbenchParameters(scale=100_000))[0]


@pytest.mark.parametrize("name", names())
def test_every_adapter_is_complete(name: str) -> None:
    found = adapter(name)
    parameters = found.parameters.model_validate(NEEDED.get(name, {}))
    assert found.name == name
    assert found.summary
    assert found.seconds(parameters) > 0
    assert any(spec.judged for spec in found.metrics)
    assert len({spec.name for spec in found.metrics}) == len(found.metrics)
    for tool in found.tools:
        assert isinstance(tool, Tool)
        assert tool.package


def test_estimates_grow_with_the_duration() -> None:
    for name in names():
        found = adapter(name)
        if "duration" in found.parameters.model_fields:
            short, long = (found.parameters.model_validate({"duration": seconds}) for seconds in (2, 20))
            assert found.seconds(long) >= found.seconds(short) + 18, name
