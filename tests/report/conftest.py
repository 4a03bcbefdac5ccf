"""Findings of every kind for the formats."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sqlalchemy import Engine

from schedlab.comparison.verdicts import compare
from schedlab.experiment.plan import Trial
from schedlab.findings import Findings, findings
from schedlab.measurement import Measurement
from schedlab.results import Import, Series
from schedlab.store.importing import record_imports
from schedlab.store.selection import select

Run = Callable[..., tuple[int, object]]


def script(trial: Trial) -> float | Measurement:
    """10 % slower when changed, with a wobble; one trial fails."""
    if trial.index == 20:
        return Measurement("failed", 0, 1, reason="crashed | badly\nin line 2")
    return (1.1 if trial.variant.name == "changed" else 1.0) * (1 + 0.001 * ((trial.index * 7919) % 13))


@pytest.fixture
def measured(run_script: Run, engine: Engine) -> Findings:
    """A run of two variants and a control over two rows, with one failed trial."""
    run_id, _ = run_script(script)
    return findings(engine, run_id)


@pytest.fixture
def imported(engine: Engine) -> Findings:
    """Two imported columns with a row in common, one that only the first has, and one of a single value."""

    def series(column: str, clients: int, *values: float) -> Series:
        parameters = {"clients": clients}
        return Series(column, "tbench", "throughput", "MB/s", "higher", parameters, np.array(values), "log")

    series_list = (
        series("5.14-vanilla", 1, 100.0, 101.0, 99.5), series("6.1|patched", 1, 110.0, 111.0, 109.0),
        series("5.14-vanilla", 2, 200.0, 201.0), series("6.1|patched", 4, 400.0),
        series("5.14-vanilla", 8, 800.0), series("6.1|patched", 8, 801.0),
    )  # fmt: skip
    runs = record_imports(engine, [Import("mmtests", "results", ("5.14-vanilla", "6.1|patched"), series_list)])
    return compare(engine, [column for run_id in runs for column in select(engine, str(run_id))])


@pytest.fixture(params=["measured", "imported"])
def found(request: pytest.FixtureRequest) -> Findings:
    """Each of them in turn."""
    chosen: Findings = request.getfixturevalue(request.param)
    return chosen
