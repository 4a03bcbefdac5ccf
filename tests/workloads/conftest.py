"""Fixtures that run adapters and their tools, as the host target does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from schedlab.experiment.model import Variant
from schedlab.results.metrics import Metric
from schedlab.targets.trial import PreparedRow, interpret, launch
from schedlab.tunables.journal.local import LocalAgent
from schedlab.workloads.base import AnyAdapter, Output, Parameters, Place
from schedlab.workloads.preparation import prepared
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
    if absent := missing(adapter(use).tools):
        pytest.skip(f"{use} needs {', '.join(tool.program for tool in absent)}: {install_line(absent)}")


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[LocalAgent]:
    """The agent of a run on this machine."""
    with closing(LocalAgent(tmp_path / "journals")) as agent:
        agent.begin("test")
        yield agent


@contextmanager
def ready(agent: LocalAgent, workload: AnyAdapter, parameters: Parameters) -> Iterator[Place]:
    """Prepare a row and its first trial, as the host target does."""
    with prepared(agent, {"row": PreparedRow(workload, parameters)}) as rows:
        rows.command("row")
        yield rows.place


@pytest.fixture
def place(agent: LocalAgent) -> Iterator[Place]:
    """The cache of runs on this machine, which contains the unpacked kernel source, and the folders of a run."""
    with prepared(agent, {}) as rows:
        yield rows.place


@pytest.fixture
def measure(agent: LocalAgent, place: Place) -> Measure:
    """Function that runs one trial of a workload and returns its metrics by name."""

    def run(use: str, **values: object) -> dict[str, Metric]:
        require(use)
        workload = adapter(use)
        parameters = workload.parameters.model_validate(values)
        assert not workload.missing_requirements(parameters, place)
        with ready(agent, workload, parameters) as folders:
            launched = launch(workload.trial_command(parameters, folders), Variant(name="v"), 60, agent=agent)
        state, metrics, reason = interpret(workload, parameters, launched, 60)
        assert state == "ok", f"{reason}\n{launched.stdout[-2000:]}\n{launched.stderr[-2000:]}"
        assert {metric.spec.name for metric in metrics} <= {spec.name for spec in workload.metrics}
        assert {spec.name for spec in workload.metrics if spec.judged} <= {metric.spec.name for metric in metrics}
        return {metric.spec.name: metric for metric in metrics}

    return run
