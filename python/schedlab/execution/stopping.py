"""Whether a sequential run may stop: at a planned look, when every question is answered; never in between."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl
from sqlalchemy import Engine

from schedlab.analysis.cells import average_blocks
from schedlab.analysis.rows import Word
from schedlab.analysis.sequential import course
from schedlab.analysis.verdicts import judge
from schedlab.experiment.plan import Plan, Trial
from schedlab.store import reading
from schedlab.store.columns import read_cells


class Looks:
    """The looks of one run, taken from what the store holds: a resumed run sees what an uninterrupted one does.

    ``pending`` are the blocks of the looks to come, but for the last: after that there is nothing to stop.
    """

    def __init__(self, plan: Plan, engine: Engine, run_id: int) -> None:
        self._plan, self._engine, self._run_id = plan, engine, run_id
        self.pending = list(plan.experiment.design.look_blocks[:-1])

    def stopped(self, done: Collection[int]) -> str:
        """Words for the stop if the run had come to one already; ``done`` are the plan positions recorded."""
        left = {trial.block for trial in self._plan.trials if trial.index not in done and trial.block}
        passed = [look for look in self.pending if not any(block <= look for block in left)]
        del self.pending[: len(passed)]
        return self._stop(passed[-1]) if passed else ""

    def before(self, trial: Trial) -> str:
        """Words for the stop if there is one before this trial, the first one behind a look; else empty."""
        if not self.pending or trial.block <= self.pending[0]:
            return ""
        return self._stop(self.pending.pop(0))

    def _stop(self, block: int) -> str:
        if not self._decided(block):
            return ""
        experiment = self._plan.experiment
        return course(experiment.design.look_blocks, experiment.analysis.alpha, block).describe(complete=True)

    def _decided(self, block: int) -> bool:
        """Whether every row of every variant but the control is better, worse or equivalent by these blocks."""
        run = reading.run(self._engine, self._run_id)
        values = average_blocks(read_cells(self._engine, run)).filter(pl.col("block") <= block)
        failures = reading.failure_counts(self._engine, run.id)
        design, options = run.design, run.design.options(run.seed)
        verdicts = judge(values, design.questions, design.variants, design.control, options, failures, done=block)
        asked = [verdict for verdict in verdicts if not verdict.control]
        return bool(asked) and all(verdict.word is not Word.INCONCLUSIVE for verdict in asked)
