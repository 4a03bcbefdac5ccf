"""What a report is made from: a run's own row, its verdicts and its warnings, brought together from the store."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
from sqlalchemy import Engine

from schedlab.analysis.counters import Change, compare, unpack
from schedlab.analysis.diagnostics import RunFacts, diagnose
from schedlab.analysis.verdicts import Options, Verdict, judge
from schedlab.analysis.warnings import Warning
from schedlab.store import reading


@dataclass(frozen=True)
class Findings:
    """Everything that a report shows. ``failures`` are the trials that did not end well, in order."""

    run: reading.Run
    verdicts: list[Verdict]
    warnings: list[Warning]
    failures: pl.DataFrame
    options: Options


def findings(engine: Engine, run_id: int | None) -> Findings:
    """Judge a stored run (the newest when no number is given), from the store alone."""
    run = reading.run(engine, run_id)
    samples, failures = reading.measurements(engine, run.id), reading.failures(engine, run.id)
    design, options = run.design, run.design.options(run.seed)
    counts = reading.failure_counts(engine, run.id) if len(failures) else {}
    verdicts = judge(samples, design.questions, design.variants, design.control, options, counts)
    facts = RunFacts(run.planned, run.recorded, reading.conditions(engine, run.id), failures, run.changed)
    return Findings(run, verdicts, diagnose(facts, samples, design.questions, verdicts, options), failures, options)


def count(engine: Engine, found: Findings) -> list[Change]:
    """How the kernel's counters of each variant differ from the baseline's, the most striking first in each row."""
    counts, design = unpack(reading.counters(engine, found.run.id)), found.run.design
    return compare(counts, design.variants[0], design.variants, 1 - found.options.alpha)
