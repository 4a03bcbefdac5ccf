"""Output of a report: its columns, judged when a format needs verdicts, in a format on the terminal or in a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from schedlab.cli.answering import AnswerFormat
from schedlab.cli.formats import Format, Layout, Stars, Wanted
from schedlab.errors import SchedlabError
from schedlab.files.output_file import remedy, write_whole
from schedlab.notation.terminal import escaped
from schedlab.store.location import Location

if TYPE_CHECKING:
    from polars import DataFrame
    from sqlalchemy import Engine

    from schedlab.analysis.counters import Change
    from schedlab.analysis.distributions import Columns
    from schedlab.findings.run import Findings
    from schedlab.report.document import Report
    from schedlab.store.columns import Chosen
    from schedlab.store.reader import Run


@dataclass
class Scope:
    """Columns of a store, or a whole run. Modules that judge are loaded only if a format needs verdicts.

    Attributes:
        engine: the store of the columns that do not name a store.
        chosen: the columns, the baseline first.
        store: path of the store, for commands in the report.
        ranks: whether verdicts on unpaired columns include a rank test.
        run: the run, if the report is on a single run and all of its variants.
        control: whether the report shows the A/A control.
    """

    engine: Engine
    chosen: Sequence[Chosen]
    store: Location | None
    ranks: bool = True
    run: Run | None = None
    control: bool = True

    @property
    def findings(self) -> Findings:
        """The verdicts and warnings of the columns."""
        return self._judged if self.control else self._judged.without_control()

    @cached_property
    def _judged(self) -> Findings:
        if self.run is not None:
            from schedlab.findings.run import findings

            return findings(self.engine, self.run)
        from schedlab.findings.comparison import compare

        return compare(self.engine, self.chosen, ranks=self.ranks)

    @cached_property
    def samples(self) -> Columns:
        """The samples of the columns."""
        from schedlab.store.columns import columns

        return columns(self.engine, self.sampled)

    @property
    def sampled(self) -> list[Chosen]:
        """The columns with samples that the report shows."""
        shown = [column for column in self.chosen if column.run.design.questions]
        return shown if self.control else [each for each in shown if each.variant != each.run.design.control]


def scope_of(engine: Engine, words: list[str], baseline: str | None, store: Location | None, *, ranks: bool) -> Scope:
    """Return the scope of a report's arguments: one run, or columns of several runs."""
    from schedlab.findings.columns import refuse
    from schedlab.store import reader, selection
    from schedlab.store.columns import variants_of

    def several(chosen: Sequence[Chosen]) -> Scope:
        named = selection.named_apart(chosen)
        named = selection.with_baseline(named, baseline) if baseline else named
        refuse(named)
        return Scope(engine, named, store, ranks)

    if len(words) > 1:
        return several([column for word in words for column in selection.select(engine, word)])
    run = selection.one_run(engine, words[0]) if words else reader.run(engine, None)
    if not words and run.design.questions and not run.design.paired:
        imported = selection.imported_beside(engine, run)
        if len(imported) > 1:
            return several(imported)
    if run.design.sweep:
        todo = f"'schedlab sweep --show {run.id}' prints its report"
        raise SchedlabError(f"run {run.id} is a sweep, whose points are not compared with a baseline", todo=todo)
    if run.design.tuning:
        todo = f"'schedlab tune --show {run.id}' prints its result"
        raise SchedlabError(f"run {run.id} is a search, whose best figure is optimistic", todo=todo)
    columns = variants_of(run)
    if baseline and baseline != columns[0].name:
        # The control repeats variant 1, so it is not a control of another baseline.
        return several([column for column in columns if column.variant != run.design.control])
    return Scope(engine, columns, store, ranks, run)


def present(scope: Scope, wanted: Wanted) -> None:
    """Print the report or write the report to a file; SchedlabError for options that the format does not have."""
    wanted.check()
    if wanted.form in ANSWERS:
        from schedlab.cli.answering import present as present_answer
        from schedlab.report.answers.report import compose

        present_answer(compose(_report(scope, wanted)), ANSWERS[wanted.form], wanted.output, wanted.width)
    else:
        write(_rendered(scope, wanted), wanted.output)


def write(content: str | bytes, output: Path | None) -> None:
    """Write a report to a file in one step, or to standard output without characters that control a terminal."""
    if output is not None:
        write_whole(output, content, remedy("--output"))
    else:
        sys.stdout.write(escaped(content if isinstance(content, str) else content.decode()))


ANSWERS = {
    Format.TEXT: AnswerFormat.TEXT,
    Format.MARKDOWN: AnswerFormat.MARKDOWN,
    Format.HTML: AnswerFormat.HTML,
    Format.JSON: AnswerFormat.JSON,
}
"""The formats of every answer; a report has further formats."""


def _rendered(scope: Scope, wanted: Wanted) -> str | bytes:
    """Return the report in a format other than text."""
    from schedlab.report import changelog, data, mmtests, review

    if wanted.form is Format.PARQUET:
        return data.samples_parquet(_samples(scope), scope.chosen)
    if wanted.form is Format.CSV and wanted.samples:
        return _samples(scope).write_csv()
    report = _report(scope, wanted)
    if wanted.form is Format.MMTESTS:
        return mmtests.render(report, wanted.width)
    if wanted.form is Format.PCT_IMP:
        return review.render(report)
    return changelog.render(report) if wanted.form is Format.CHANGELOG else data.to_csv(report)


def _report(scope: Scope, wanted: Wanted) -> Report:
    """Build the document with the parts that the format needs."""
    from schedlab.report.build import build, mmtests_view, review_view

    sampled = scope.sampled
    if wanted.form is Format.MMTESTS and sampled:
        findings, samples = scope.findings, scope.samples
        stars, layout = wanted.stars or Stars.VERDICTS, wanted.layout or Layout.CURRENT
        view = mmtests_view(findings, sampled, samples, stars.value, layout.value)
        return build(findings, scope.store, mmtests=view)
    if wanted.form is Format.PCT_IMP and sampled:
        return build(scope.findings, scope.store, review=review_view(sampled, scope.samples))
    named = bool(wanted.counter)
    if wanted.form is Format.HTML:
        findings, samples = scope.findings, scope.samples
        counted = named or (findings.paired and findings.verdicts)
        changes = _changes(scope, wanted.counter) if counted else None
        return build(findings, scope.store, changes=changes, named=named, samples=samples, plots=True)
    changes = _changes(scope, wanted.counter) if named or wanted.counters else None
    return build(scope.findings, scope.store, changes=changes, named=named, raw_p=wanted.raw_p)


def _changes(scope: Scope, names: Sequence[str]) -> list[Change]:
    """Return the changes of all counters, or of the counters with these names; SchedlabError if no counter matches."""
    from schedlab.findings.run import counter_changes

    if not scope.findings.paired:
        raise SchedlabError(
            "counters are compared within one run, block by block",
            where="--counters",
            todo="name one run, or variants of one run as RUN:VARIANT",
        )
    changes = counter_changes(scope.engine, scope.findings, names)
    if names and not changes:
        raise SchedlabError(
            f"no counter that can be compared has {' or '.join(map(repr, names))} in its name",
            where="--counter",
            todo="list all counters, except those of single CPUs, with 'schedlab report --counters --format json'",
        )
    return changes


def _samples(scope: Scope) -> DataFrame:
    """Return every sample; SchedlabError for printed figures alone."""
    from schedlab.store.columns import sample_table
    from schedlab.store.exports import with_records

    if not any(column.run.design.questions for column in scope.chosen):
        raise SchedlabError(
            "printed tables have no samples",
            where=scope.chosen[0].run.experiment_path,
            todo="use --format csv or --format json for their figures",
        )
    return with_records(sample_table(scope.engine, scope.chosen), scope.engine, scope.chosen)
