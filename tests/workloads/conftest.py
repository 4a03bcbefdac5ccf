"""Fixtures that run adapters and their tools, as the host target does."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from schedlab.experiment.model import Variant
from schedlab.files.scratch import root
from schedlab.results.metrics import Metric
from schedlab.targets.trial import interpret, launch
from schedlab.workloads.base import Output, Place
from schedlab.workloads.registry import adapter
from schedlab.workloads.tools import install_line, missing

OUTPUTS = Path(__file__).parent / "outputs"

Measure = Callable[..., dict[str, Metric]]


def recorded(name: str) -> Output:
    """Return the recorded output of a tool, with invented times."""

    def text(suffix: str) -> str:
        path = OUTPUTS / f"{name}.{suffix}"
        return path.read_text() if path.exists() else ""

    return Output(text("out"), text("err"), elapsed=2.0, user=1.5, system=0.5, exit_code=0)


def require(use: str) -> None:
    """Skip the test and name the tool if a tool of this adapter is missing."""
    if absent := missing(adapter(use)):
        pytest.skip(f"{use} needs {', '.join(tool.program for tool in absent)}: {install_line(absent)}")


@pytest.fixture
def place() -> Iterator[Place]:
    """The cache of runs on this machine, which contains the unpacked kernel source, and a scratch folder."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    with tempfile.TemporaryDirectory(prefix="schedlab-test-", dir=root()) as scratch:
        yield Place(Path(home) / "schedlab", Path(scratch))


@pytest.fixture
def measure(place: Place) -> Measure:
    """Function that runs one trial of a workload and returns its metrics by name."""

    def run(use: str, **values: object) -> dict[str, Metric]:
        require(use)
        workload = adapter(use)
        parameters = workload.parameters.model_validate(values)
        assert not workload.missing_requirements(parameters)
        with workload.prepared(parameters, place):
            workload.before_trial(parameters, place)
            launched = launch(workload.trial_command(parameters, place), Variant(name="v"), 60)
        state, metrics, reason = interpret(workload, parameters, launched, 60)
        assert state == "ok", f"{reason}\n{launched.stdout[-2000:]}\n{launched.stderr[-2000:]}"
        assert {metric.spec.name for metric in metrics} <= {spec.name for spec in workload.metrics}
        assert {spec.name for spec in workload.metrics if spec.judged} <= {metric.spec.name for metric in metrics}
        return {metric.spec.name: metric for metric in metrics}

    return run
