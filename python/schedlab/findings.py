"""Findings of a report: the verdicts and warnings of stored runs."""

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
from schedlab.analysis.duplicates import remark as remark_on_duplicates
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
    """Everything in a report.

    Attributes:
        columns: the compared columns, the baseline first: variants of one run or of several.
        verdicts: one for each row and each column but the baseline.
        values: block means: position, block, variant (the column's name), workload, parameters, metric, value.
        failures: the failed trials, in order.
        paired: whether the columns are paired by block; imported figures and those of several runs are not.
        unmatched: rows that some columns lack.
        printed: the tables of an imported text, which has no samples.
        checked: the same tables with gains, tests and disagreements.
        notes: remarks that are no warnings, for instance on variants and lines that were left out.
        attribution: the steps of the experiment's stack, row by row.
        effects: the effects of a factorial's switches, row by row.
        course: progress of a sequential run; None for others.
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
        """The baseline's run."""
        return self.columns[0].run

    @property
    def baseline(self) -> str:
        """The first column's name."""
        return self.columns[0].name

    @property
    def has_regression(self) -> bool:
        """Whether a column other than the A/A control is worse."""
        return any(verdict.word is Word.WORSE and not verdict.control for verdict in self.verdicts)

    @property
    def runs(self) -> Sequence[reading.Run]:
        """Every compared run, once."""
        return list({(column.store, column.run.id): column.run for column in self.columns}.values())


def findings(engine: Engine, run: int | reading.Run | None) -> Findings:
    """Judge a stored run, by default the newest, from the store alone.

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
    samples = _iterations(engine, run) if options.interval == "bootstrap" else values
    verdicts = judge(samples, questions, design.variants, design.control, options, counts, done)
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
    if run.kind == "simulated" and (
        remark := remark_on_duplicates(values, verdicts, run.design.variants[0], run.design.stack)
    ):
        yield remark


def _iterations(engine: Engine, run: reading.Run) -> pl.DataFrame:
    """Return a run's single measurements, which the bootstrap resamples within their blocks."""
    return sample_table(engine, variants_of(run)).rename({"column": "variant"})


def count(engine: Engine, judged: Findings, parts: Sequence[str] = ()) -> list[Change]:
    """Return the changes of the kernel's counters against the baseline, the clearest first in each row.

    With ``parts`` only the counters with one of these parts in their name, including those of single CPUs; ``*`` is a
    wildcard.
    """
    counts = reading.counters(engine, judged.run.id)
    names = [column.variant for column in judged.columns]
    wanted = None
    if parts:
        wanted = {name for name in counts["counter"].unique() if any(fnmatchcase(name, f"*{part}*") for part in parts)}
    return compare(counts, names[0], names, 1 - judged.options.alpha, wanted)
