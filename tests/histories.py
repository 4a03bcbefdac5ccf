"""A store of scripted runs with a planted change, for tests of histories and sites."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine

from schedlab.execution.loop import recorded
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Trial, plan
from schedlab.store import writer
from schedlab.targets.scripted import Scripted
from tests.conftest import TWO_VARIANTS, edit_run

FIRST = 1_700_000_000.0
"""Start of the first run: 2023-11-14."""

DAY = 86_400.0

CHANGED_FROM = 9
"""First run, counted from 0, with the planted change."""


def record(engine: Engine, runs: int, first: int = 0, text: str = TWO_VARIANTS, machine: str = "rack-1") -> list[int]:
    """Record runs a day apart; from CHANGED_FROM on, 'changed' takes 30 % longer. Return their numbers."""
    made = []
    for number in range(first, first + runs):
        run_plan = plan(parse(text, "nightly.toml"), number)

        def script(trial: Trial, number: int = number) -> float:
            slow = 1.3 if number >= CHANGED_FROM and trial.variant.name == "changed" else 1.0
            return slow * (1 + 0.002 * ((trial.index * 7919 + number * 31) % 13))

        facts: dict[str, Any] = {"kernel": {"release": f"6.{number}.0", "hostname": machine}}
        new = writer.NewRun(run_plan, "scripted", "scripted", False, text, "nightly.toml", facts, machine)
        run_id = writer.begin(engine, new)
        # A transaction for each trial would take most of the time of these tests.
        with recorded(run_plan, Scripted(script), engine, run_id) as session:
            writer.record_all(engine, run_id, [(trial, session.run(trial)) for trial in run_plan.trials])
        edit_run(engine, run_id, started=FIRST + DAY * number, finished=FIRST + DAY * number + 60)
        made.append(run_id)
    return made
