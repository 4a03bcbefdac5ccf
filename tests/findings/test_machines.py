"""Findings of a fleet: rows over machines, from the stored run of each machine."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from schedlab.experiment.plan import Trial
from schedlab.findings.machines import Machine, fleet
from schedlab.store import reader

pytestmark = pytest.mark.slow

Run = Callable[..., tuple[int, object]]


@pytest.mark.parametrize(("factor", "expected"), [(1.5, "worse"), (0.5, "better")])
def test_a_change_on_all_machines_has_a_word_over_the_machines(
    factor: float, expected: str, run_script: Run, engine: Engine
) -> None:
    def script(trial: Trial) -> float:
        return (1 + 0.0005 * (trial.index * 7919 % 13)) * (factor if trial.variant.name == "changed" else 1)

    machines = [Machine(f"m{seed}", reader.run(engine, run_script(script, seed=seed)[0])) for seed in (1, 2, 3)]
    judged = fleet(engine, machines)
    words = {row.word for row in judged.rows if row.variant == "changed"}
    ratios = [row.combined.ratio for row in judged.rows if row.variant == "changed" and row.combined]
    assert words == {expected}
    assert ratios == pytest.approx([factor] * 2, rel=0.01)
    assert judged.has_regression == (expected == "worse")


def test_a_row_that_rises_from_0_has_no_figures_over_machines(run_script: Run, engine: Engine) -> None:
    def script(trial: Trial) -> float:
        return float(trial.variant.name == "changed" and 1 + trial.index % 3)

    machines = [Machine(f"m{seed}", reader.run(engine, run_script(script, seed=seed)[0])) for seed in (1, 2)]
    judged = fleet(engine, machines)
    assert {row.combined for row in judged.rows} == {None}
    changed = [row for row in judged.rows if row.variant == "changed"]
    assert {verdict.word for row in changed for verdict in row.verdicts.values()} == {"worse"}
