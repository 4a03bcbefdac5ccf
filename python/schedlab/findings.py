"""What a report is made from: runs, their verdicts and their warnings, brought together from the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import polars as pl
from sqlalchemy import Engine

from schedlab.analysis.attribution import Attribution, attribute
from schedlab.analysis.cells import average_blocks
from schedlab.analysis.counters import Change, compare
from schedlab.analysis.diagnostics import RunFacts, diagnose
from schedlab.analysis.duplicates import remark
from schedlab.analysis.factorial import SwitchEffect, effects
from schedlab.analysis.matching import Unmatched
from schedlab.analysis.rows import Word
from schedlab.analysis.sequential import Course, course
from schedlab.analysis.tables import Checked, check
from schedlab.analysis.verdicts import Options, Verdict, judge
from schedlab.analysis.warnings import Warning
from schedlab.results import Table
from schedlab.store import reading
from schedlab.store.columns import Chosen, read_cells, variants_of
from schedlab.store.importing import printed_tables
from schedlab.store.samples import sample_table


@dataclass(frozen=True)
class Findings:
    """Everything that a report shows.

    Attributes:
        columns: what is compared, the baseline first: a run's variants, or variants of several runs.
        verdicts: every row, every column but the baseline.
        values: block means: position, block, variant (the column's name), workload, parameters, metric, value.
        failures: the trials that did not end well, in order.
        paired: whether blocks pair the columns; imported figures and those of several runs are not paired.
        unmatched: rows that not every column has.
        printed: the tables of an imported text, which have no samples.
        checked: the same tables with all gains, tests and disagreements that follow from what is printed.
        notes: what a reader should know and is no warning: what was left aside, what an import left out.
        attribution: a stack's steps, row by row, where the experiment names one.
        effects: what each switch of a factorial does, row by row.
        course: how far a sequential run has come; None for others.
    """

    columns: tuple[Chosen, ...]
    verdicts: list[Verdict]
    warnings: list[Warning]
    values: pl.DataFrame
    failures: pl.DataFrame
    options: Options
    paired: bool = True
    unmatched: tuple[Unmatched, ...] = ()
    printed: tuple[Table, ...] = ()
    checked: tuple[Checked, ...] = ()
    notes: tuple[str, ...] = ()
    attribution: tuple[Attribution, ...] = ()
    effects: tuple[SwitchEffect, ...] = ()
    course: Course | None = None

    @property
    def run(self) -> reading.Run:
        """The baseline's run, which is the only one unless several are compared."""
        return self.columns[0].run

    @property
    def baseline(self) -> str:
        """The first column's name."""
        return self.columns[0].name

    @property
    def has_regression(self) -> bool:
        """Whether a column was shown to be worse; the A/A control is none."""
        return any(verdict.word is Word.WORSE and not verdict.control for verdict in self.verdicts)

    @property
    def runs(self) -> Sequence[reading.Run]:
        """Every run that is compared, once."""
        return list({(column.store, column.run.id): column.run for column in self.columns}.values())


def findings(engine: Engine, run: int | reading.Run | None) -> Findings:
    """Judge a stored run (the newest when none is given), from the store alone.

    ``run`` is the run or its number.
    """
    run = run if isinstance(run, reading.Run) else reading.run(engine, run)
    values, failures = average_blocks(read_cells(engine, run)), reading.failures(engine, run.id)
    conditions = reading.conditions(engine, run.id)
    design, options = run.design, run.design.options(run.seed)
    counts = reading.failure_counts(engine, run.id) if len(failures) else {}
    questions = design.questions
    done = reading.blocks_done(engine, run) if design.looks else None
    taken = course(design.looks, options.alpha, done) if done is not None else None
    stopped = taken is not None and taken.stopped and run.state == "complete"
    judged = _iterations(engine, run) if options.interval == "bootstrap" else values
    verdicts = judge(judged, questions, design.variants, design.control, options, counts, done)
    planned = run.recorded if stopped else run.planned
    printed = () if design.paired else printed_tables(engine, run.id)
    facts = RunFacts(planned, run.recorded, conditions, failures, run.changed, run.kind, run.doubtful_parameters)
    return Findings(
        columns=tuple(variants_of(run)),
        verdicts=verdicts,
        warnings=diagnose(facts, values, questions, verdicts, options),
        values=values,
        failures=failures,
        options=options,
        paired=design.paired,
        printed=printed,
        checked=tuple(map(check, printed)),
        notes=tuple(_notes(run, values, verdicts, taken)),
        attribution=tuple(attribute(values, questions, design.stack, options, counts)) if design.stack else (),
        effects=tuple(effects(values, questions, design.factorial, options, counts)) if design.factorial else (),
        course=taken,
    )


def _notes(run: reading.Run, values: pl.DataFrame, verdicts: Sequence[Verdict], taken: Course | None) -> Iterator[str]:
    if taken:
        yield taken.describe(complete=run.state == "complete")
    elif not run.design.paired:
        yield from run.notes
    if run.kind == "simulated" and (same := remark(values, verdicts, run.design.variants[0], run.design.stack)):
        yield same


def _iterations(engine: Engine, run: reading.Run) -> pl.DataFrame:
    """A run's single measurements, which the bootstrap resamples within their blocks."""
    return sample_table(engine, variants_of(run)).rename({"column": "variant"})


def count(engine: Engine, found: Findings, parts: Sequence[str] = ()) -> list[Change]:
    """How the kernel's counters of a run's variants differ from the baseline's, the most striking first in each row.

    With ``parts`` of names only those counters that have one of them, and then also those of single CPUs; ``*`` stands
    for anything.
    """
    counts = reading.counters(engine, found.run.id)
    names = [column.variant for column in found.columns]
    wanted = None
    if parts:
        wanted = {name for name in counts["counter"].unique() if any(fnmatchcase(name, f"*{part}*") for part in parts)}
    return compare(counts, names[0], names, 1 - found.options.alpha, wanted)
