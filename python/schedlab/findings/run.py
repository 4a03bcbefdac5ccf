"""Findings: the verdicts, warnings and notes of a stored run, from which a report is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

import polars as pl
from sqlalchemy import Engine

from schedlab.analysis.attribution import Attribution, attribute
from schedlab.analysis.cells import average_blocks
from schedlab.analysis.confirmation import confirmed, confirmed_effects, of_conditions
from schedlab.analysis.counters import Change, compare
from schedlab.analysis.diagnostics import RunFacts, diagnose
from schedlab.analysis.duplicates import remark as remark_on_duplicates
from schedlab.analysis.exact import with_exact
from schedlab.analysis.factorial import SwitchEffect, effects
from schedlab.analysis.judging import judge
from schedlab.analysis.matching import Unmatched
from schedlab.analysis.sequential import Course, course
from schedlab.analysis.summaries import Level, levels
from schedlab.analysis.tables import Checked, check
from schedlab.analysis.ties import ties
from schedlab.analysis.verdicts import Options, Question, Verdict
from schedlab.analysis.warnings import Warning
from schedlab.findings.settings import settings_of_columns
from schedlab.results.imported import Table
from schedlab.results.kinds import DETERMINISTIC
from schedlab.results.words import Word
from schedlab.store import reader
from schedlab.store.columns import Chosen, read_cells, sample_table, variants_of
from schedlab.store.imports import printed_tables


@dataclass(frozen=True)
class Findings:
    """Content of a report, before any wording and layout.

    Attributes:
        columns: the compared columns, the baseline first: variants of one run or of several runs.
        verdicts: a verdict for each row of each column except the baseline.
        values: block means: position, block, variant (the column's name), workload, parameters, metric, value.
        failures: the failed trials, in order.
        paired: whether the columns are paired by block. Imported figures and figures of several runs are unpaired.
        unmatched: rows that are missing in some columns.
        printed: the tables of an imported text, which has no samples.
        checked: the same tables with gains, tests and disagreements.
        notes: remarks without a remedy, for instance on variants and lines that were left out.
        attribution: the steps of the experiment's stack, row by row.
        effects: the effects of a factorial's switches, row by row.
        course: progress of a sequential run; None for a run of fixed size.
        settings: what each column's variant sets, in words, by the column's name.
        ties: rows that are one fact with an earlier row, see :func:`schedlab.analysis.ties.ties`.
        levels: the figures of each row and column, if nothing is compared.
        doubt: why no difference is confirmed, for instance the load of other processes; empty without such a doubt.
    """

    columns: tuple[Chosen, ...]
    verdicts: list[Verdict]
    warnings: list[Warning]
    values: pl.DataFrame
    failures: pl.DataFrame
    options: Options
    paired: bool
    unmatched: tuple[Unmatched, ...] = ()
    printed: tuple[Table, ...] = ()
    checked: tuple[Checked, ...] = ()
    notes: tuple[str, ...] = ()
    attribution: tuple[Attribution, ...] = ()
    effects: tuple[SwitchEffect, ...] = ()
    course: Course | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    doubt: str = ""
    ties: Mapping[Question, Question] = field(default_factory=dict)
    levels: Sequence[Level] = ()

    @property
    def run(self) -> reader.Run:
        """The baseline's run."""
        return self.columns[0].run

    @property
    def baseline(self) -> str:
        """The first column's name."""
        return self.columns[0].name

    def without_control(self) -> Findings:
        """Return the findings without the columns of A/A controls. A control that took part in tests still did."""
        columns = tuple(column for column in self.columns if column.variant != column.run.design.control)
        names = {column.name for column in columns}
        return replace(
            self,
            columns=columns,
            verdicts=[verdict for verdict in self.verdicts if verdict.variant in names],
            values=self.values.filter(pl.col("variant").is_in(names)),
        )

    @property
    def has_regression(self) -> bool:
        """Whether a column other than the A/A control is worse."""
        return any(verdict.word is Word.WORSE and not verdict.control for verdict in self.verdicts)

    @property
    def runs(self) -> Sequence[reader.Run]:
        """The compared runs, without repetition."""
        return list({(column.store, column.run.id): column.run for column in self.columns}.values())


def findings(engine: Engine, run: int | reader.Run | None) -> Findings:
    """Judge a stored run. All data come from the store.

    Args:
        engine: the store.
        run: the run or its number; None for the newest run.

    Raises:
        StoreError: there is no such run.
    """
    run = run if isinstance(run, reader.Run) else reader.run(engine, run)
    values, failures = average_blocks(read_cells(engine, run)), reader.failures(engine, run.id)
    conditions = reader.conditions(engine, run.id)
    design, options = run.design, run.design.options(run.seed, run.kind)
    recorded = reader.trial_counts(engine, run.id)
    questions = design.questions
    options, done = interim(engine, run, options)
    progress = course(options.looks, options.alpha, done, planned=bool(design.looks)) if done is not None else None
    stopped = progress is not None and progress.stopped and run.state == "complete"
    samples = _iterations(engine, run) if options.interval == "bootstrap" else values
    verdicts = judge(samples, questions, design.variants, design.control, options, recorded, done)
    if run.kind == DETERMINISTIC:
        verdicts = with_exact(verdicts, values, design.variants[0], options.delta)
    planned = run.recorded if stopped else run.planned
    printed = () if design.paired else printed_tables(engine, run.id)
    facts = RunFacts(
        planned, run.recorded, conditions, failures, run.changed, run.kind, run.doubtful_parameters, run.unsettled
    )
    warnings = diagnose(facts, values, questions, verdicts, options)
    doubt = of_conditions(conditions, run.kind)
    steps = attribute(values, questions, design.stack, options, recorded, progress) if design.stack else []
    switches = effects(values, questions, design.factorial, options, recorded, progress) if design.factorial else []
    columns = tuple(variants_of(run))
    return Findings(
        columns=columns,
        verdicts=confirmed(verdicts, doubt),
        warnings=warnings,
        values=values,
        failures=failures,
        options=options,
        paired=design.paired,
        printed=printed,
        checked=tuple(map(check, printed)),
        notes=tuple(_notes(run, values, verdicts, progress)),
        attribution=tuple(replace(row, steps=tuple(confirmed_effects(row.steps, doubt))) for row in steps),
        effects=tuple(confirmed_effects(switches, doubt)),
        settings=settings_of_columns(columns),
        doubt=doubt,
        ties=ties(values, questions),
        levels=() if verdicts else levels(values, questions, [column.variant for column in columns]),
        course=progress,
    )


def interim(engine: Engine, run: reader.Run, options: Options) -> tuple[Options, int | None]:
    """Return the options, with the interim analyses of the run, and its complete blocks; None without interim analyses.

    A fixed run that lacks blocks is judged as at an interim analysis after its last complete block. With the full
    error rate, repeated reports on a growing run would test until a difference is significant.
    """
    design = run.design
    if not design.paired or not (design.looks or run.state != "complete"):
        return options, None
    done = reader.blocks_done(engine, run)
    if not design.looks and done >= design.blocks:
        return options, None
    if not design.looks:
        options = replace(options, looks=(done, design.blocks) if done else (design.blocks,))
    return options, done


def _notes(
    run: reader.Run, values: pl.DataFrame, verdicts: Sequence[Verdict], progress: Course | None
) -> Iterator[str]:
    if run.design.candidate:
        yield (
            "The blocks of this run were added until a campaign had a verdict, so that the verdicts of this report do "
            "not hold: 'schedlab judge status' prints the verdicts."
        )
    if progress:
        yield progress.describe(complete=run.state == "complete")
    elif not run.design.paired:
        yield from run.notes
    if run.design.paired:
        yield from run.repeated
    if run.kind == "simulated" and (
        remark := remark_on_duplicates(values, verdicts, run.design.variants[0], run.design.stack)
    ):
        yield remark


def _iterations(engine: Engine, run: reader.Run) -> pl.DataFrame:
    """Return the single measurements of a run. The bootstrap draws from the measurements of a block."""
    return sample_table(engine, variants_of(run)).rename({"column": "variant"})


def counter_changes(engine: Engine, judged: Findings, parts: Sequence[str] = ()) -> list[Change]:
    """Return the changes of the kernel's counters against the baseline, the clearest change first in each row.

    ``parts`` selects counters whose name contains one of these texts, including counters of single CPUs; ``*`` is a
    wildcard. Without ``parts``, all counters of the whole machine are compared.
    """
    counts = reader.counters(engine, judged.run.id)
    names = [column.variant for column in judged.columns]
    wanted = None
    if parts:
        wanted = {name for name in counts["counter"].unique() if any(fnmatchcase(name, f"*{part}*") for part in parts)}
    return compare(counts, names[0], names, 1 - judged.options.alpha, wanted)
