"""Parts of a report beside its verdicts: steps and switches, counters, curves over parameters, the machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import PurePath

from schedlab.report import counters as wording
from schedlab.report import effects, words
from schedlab.report.answer import QUIET, Cell, Code, Column, Line, Listing, Paragraph, Part, Plot, Section, Span, Table
from schedlab.report.answers import report_curves
from schedlab.report.document import Report
from schedlab.report.numbers import UNKNOWN, change


def parts_of_change(report: Report) -> Iterator[Section]:
    """Yield the effects of a stack's steps, and of a factorial's switches."""
    sections = effects.sections(report)
    for title, of_title in groupby(sections, key=lambda section: section.title):
        rows = list(of_title)
        parts: list[Part] = [_matrix(rows)] if len(rows) > 1 else []
        parts += [_effects(section, report) for section in rows]
        parts.append(Paragraph(effects.explanation(report), "quiet"))
        yield Section(title, parts)


def _matrix(sections: Sequence[effects.Section]) -> Table:
    """Return the table of rows and parts."""
    names = effects.names(sections)
    lines = [
        Line([Cell(words.measure(words.row_name(section.row), section.row.unit)),
              *(_matrix_cell(section.line(name)) for name in names)])
        for section in sections
    ]  # fmt: skip
    return Table([Column("row", "name"), *(Column(name) for name in names)], lines)


def _matrix_cell(line: effects.Line | None) -> Cell:
    if line is None:
        return Cell(UNKNOWN, tone=QUIET)
    return Cell(change(line.effect.ratio), value=line.effect.ratio, tone=line.word or "")


def _effects(section: effects.Section, report: Report) -> Table:
    row = section.row
    name, detail, size, span, p, verdict = section.headings
    columns = [Column(name, "name"), Column(detail, "name"), Column(size), Column(span),
               Column(size, "bar", axis="ratio"), Column(p), Column(verdict, "remark")]  # fmt: skip
    lines = []
    for line in section.lines:
        texts = line.cells
        bar = Cell("", span=Span(line.effect.low, line.effect.high, line.effect.ratio), tone=line.word or "")
        cells = [
            *map(Cell, texts[:4]),
            bar,
            Cell(texts[4]),
            Cell(line.word or "", tone=line.word or "", remark=line.remark),
        ]
        lines.append(Line(cells))
    title = f"{words.measure(words.row_name(row), row.unit)}, {words.better(row)}"
    return Table(columns, lines, title=title, notes=section.remarks, delta=report.judging.delta)


def counters(report: Report) -> Iterator[Section]:
    """Yield the counters that the user named, or the counters that moved most."""
    if report.counters is None:
        return
    shown = wording.shown(report)
    parts: list[Part] = []
    headings = ("counter", report.baseline, "mean", "change", words.interval_heading(report))
    for (workload, parameters), of_row in groupby(shown, key=wording.row_key):
        lines = []
        for counter in of_row:
            cells = [Cell(text, tone="" if counter.clear else QUIET) for text in wording.cells(counter)]
            lines.append(Line([Cell(counter.variant), *cells], counter.variant))
        columns = [Column("variant", "name", group=True), Column(headings[0], "name"), *map(Column, headings[1:])]
        parts.append(Table(columns, lines, title=f"{workload} {parameters}".strip()))
    parts += [Paragraph(text, "quiet") for text in wording.explanations(shown)]
    if not shown:
        parts = [Paragraph("No counter can be compared.")]
    if report.run.notes:
        parts.append(Listing(report.run.notes, style="warning"))
    yield Section("Counters", parts, key="counters", folded=not report.counters_named)


def curves(report: Report) -> Iterator[Section]:
    """Yield the plots of metrics over a parameter."""
    parts = [
        Section(f"{curve.workload} {curve.measure} over {curve.parameter} {curve.fixed}".strip(), [
            *([Plot(f"change-{curve.scale}", f"Change against {report.baseline}; {curve.direction} is better.",
                    key=curve.key)] if report.rows else []),
            Plot(f"curve-{curve.scale}", "Block means; the line is their arithmetic mean.", key=curve.key),
        ], key=curve.key, folded=True, opened=place < 2)
        for place, curve in enumerate(report_curves.curves(report.plotted))
    ]  # fmt: skip
    band = "; the grey area is the interval of the A/A control" if any(row.control for row in report.rows) else ""
    about = f"Vertical lines are {words.interval_heading(report)}s{band}."
    lead: list[Part] = [Paragraph(about, "quiet")] if report.rows else []
    if parts:
        yield Section("Response over parameters", [*lead, *parts], key="responses", page_only=True)


def machine(report: Report) -> Iterator[Section]:
    """Yield the machines' fingerprints and the experiment files."""
    names = dict.fromkeys(name for run in report.runs for name in run.facts)
    lines = []
    for name in names:
        values = [run.facts.get(name, UNKNOWN) for run in report.runs]
        differs = len(set(values)) > 1
        same = [Cell("differs" if differs else "same")] if len(report.runs) > 1 else []
        lines.append(Line([Cell(name), *map(Cell, values), *same], tone="strong" if differs else ""))
    columns = [Column("fact", "name"), *(Column(run.name, "name") for run in report.runs)]
    columns += [Column("same?", "name")] if len(report.runs) > 1 else []
    if lines:
        yield Section("Machine", [Table(columns, lines)], key="machine", folded=True, page_only=True)
    texts = {run.file: PurePath(run.source).name or "experiment.toml" for run in report.runs if run.file}
    for place, (text, name) in enumerate(texts.items()):
        code = Code(text.split("\n"), name)
        yield Section(f"Experiment file {name}", [code], key=f"file-{place}", folded=True, page_only=True)
