"""Stopping of a sequential run: only at a planned interim analysis that decides every row."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl
from sqlalchemy import Engine

from schedlab.analysis.cells import average_blocks
from schedlab.analysis.judging import judge
from schedlab.analysis.sequential import course
from schedlab.experiment.plan import Plan, Trial
from schedlab.results.words import Word
from schedlab.store import reader
from schedlab.store.columns import read_cells


class InterimAnalyses:
    """The interim analyses of a run. The analyses read the store, so that a resumed run stops after the same block as
    an uninterrupted run.

    ``pending`` are the block numbers of the coming interim analyses. The last analysis is left out, because no trial
    follows it.
    """

    def __init__(self, plan: Plan, engine: Engine, run_id: int) -> None:
        self._plan, self._engine, self._run_id = plan, engine, run_id
        self.pending = list(plan.experiment.design.look_blocks[:-1])

    def stopped(self, done: Collection[int]) -> str:
        """Return a note when the recorded trials (plan positions ``done``) decide every row; else an empty string."""
        left = {trial.block for trial in self._plan.trials if trial.index not in done and trial.block}
        passed = [last for last in self.pending if not any(block <= last for block in left)]
        del self.pending[: len(passed)]
        return self._stop(passed[-1]) if passed else ""

    def before(self, trial: Trial) -> str:
        """Return a note when an interim analysis is due before this trial and decides every row; else empty."""
        if not self.pending or trial.block <= self.pending[0]:
            return ""
        return self._stop(self.pending.pop(0))

    def _stop(self, block: int) -> str:
        if not self._decided(block):
            return ""
        experiment = self._plan.experiment
        return course(experiment.design.look_blocks, experiment.analysis.alpha, block).describe(complete=True)

    def _decided(self, block: int) -> bool:
        """Whether the blocks up to ``block`` decide every row of every variant, without the control."""
        run = reader.run(self._engine, self._run_id)
        values = average_blocks(read_cells(self._engine, run)).filter(pl.col("block") <= block)
        recorded = reader.trial_counts(self._engine, run.id)
        design, options = run.design, run.design.options(run.seed, run.kind)
        verdicts = judge(values, design.questions, design.variants, design.control, options, recorded, done=block)
        without_control = [verdict for verdict in verdicts if not verdict.control]
        return bool(without_control) and all(verdict.word is not Word.INCONCLUSIVE for verdict in without_control)
