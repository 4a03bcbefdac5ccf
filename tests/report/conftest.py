"""Findings of every kind of run, for tests of the formats."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sqlalchemy import Engine

from schedlab.experiment.plan import Trial
from schedlab.findings.comparison import compare
from schedlab.findings.run import Findings, findings
from schedlab.results.imported import Import, Series
from schedlab.results.measurement import Measurement
from schedlab.store.imports import record_imports
from schedlab.store.selection import select

Run = Callable[..., tuple[int, object]]


def script(trial: Trial) -> float | Measurement:
    """Return a value that is 10 % higher for the changed variant and differs from trial to trial; one trial fails."""
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
    """Findings of two imported columns: a common row, a row of the first column only, and a row with single values."""

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
def any_findings(request: pytest.FixtureRequest) -> Findings:
    """The findings of the measured and of the imported runs, in turn."""
    chosen: Findings = request.getfixturevalue(request.param)
    return chosen
