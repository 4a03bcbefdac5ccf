"""Running adapters for real, as the host target does."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from schedlab.experiment.model import Variant
from schedlab.scratch import root
from schedlab.targets.trial import interpret, launch
from schedlab.workloads.base import Metric, Output, Place
from schedlab.workloads.registry import adapter
from schedlab.workloads.tools import install_line, missing

OUTPUTS = Path(__file__).parent / "outputs"

Measure = Callable[..., dict[str, Metric]]


def recorded(name: str) -> Output:
    """What a real tool printed, kept in files; the times are made up."""

    def text(suffix: str) -> str:
        path = OUTPUTS / f"{name}.{suffix}"
        return path.read_text() if path.exists() else ""

    return Output(text("out"), text("err"), elapsed=2.0, user=1.5, system=0.5, exit_code=0)


def require(use: str) -> None:
    """Skip the test when a tool of this adapter is missing, and say which."""
    if lacking := missing(adapter(use)):
        pytest.skip(f"{use} needs {', '.join(tool.program for tool in lacking)}: {install_line(lacking)}")


@pytest.fixture
def place() -> Iterator[Place]:
    """The cache that runs on this machine use (it holds the unpacked kernel source), and a scratch folder."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    with tempfile.TemporaryDirectory(prefix="schedlab-test-", dir=root()) as scratch:
        yield Place(Path(home) / "schedlab", Path(scratch))


@pytest.fixture
def measure(place: Place) -> Measure:
    """Takes a workload and its parameters through one trial; its metrics by name."""

    def run(use: str, **values: object) -> dict[str, Metric]:
        require(use)
        found = adapter(use)
        parameters = found.parameters.model_validate(values)
        assert not found.missing_requirements(parameters)
        with found.prepared(parameters, place):
            found.before_trial(parameters, place)
            launched = launch(found.command(parameters, place), Variant(name="v"), 60)
        state, metrics, reason = interpret(found, parameters, launched, 60)
        assert state == "ok", f"{reason}\n{launched.stdout[-2000:]}\n{launched.stderr[-2000:]}"
        assert {metric.spec.name for metric in metrics} <= {spec.name for spec in found.metrics}
        assert {spec.name for spec in found.metrics if spec.judged} <= {metric.spec.name for metric in metrics}
        return {metric.spec.name: metric for metric in metrics}

    return run
