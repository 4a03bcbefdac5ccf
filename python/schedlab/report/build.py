"""Build the document of a report from findings: the only place where reports meet the analysis."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from schedlab.analysis.attribution import Attribution
from schedlab.analysis.counters import Change, notable
from schedlab.analysis.distributions import Columns, spaced
from schedlab.analysis.effects import Effect
from schedlab.analysis.factorial import SwitchEffect
from schedlab.analysis.mmtests.kinds import Layout
from schedlab.analysis.mmtests.stars import Stars
from schedlab.analysis.mmtests.tables import View, view
from schedlab.analysis.resolution import towards
from schedlab.analysis.review import View as Review
from schedlab.analysis.review import review
from schedlab.analysis.rows import Question
from schedlab.analysis.tables import Checked
from schedlab.findings.run import Findings
from schedlab.report import document, repeat
from schedlab.results.kinds import of_figure
from schedlab.results.words import DIFFERENT
from schedlab.store.columns import Chosen
from schedlab.store.location import Location
from schedlab.store.reader import Run

SAMPLES = 60_000
"""Samples in a page over all rows and columns, about a third of a megabyte."""

FEWEST, MOST = 25, 500
"""Samples of one row and column that are kept in any case, and that suffice for every plot."""

DIGITS = 6
"""Significant digits of a value in a plot."""

Identity = tuple[str, str, str]
"""Workload, parameters (canonical JSON) and metric of a row."""


def build(
    findings: Findings,
    store: Location | None = None,
    *,
    changes: Sequence[Change] | None = None,
    named: bool = False,
    raw_p: bool = False,
    samples: Columns | None = None,
    plots: bool = False,
    mmtests: View | None = None,
    review: Review | None = None,
) -> document.Report:
    """Build the document.

    Args:
        findings: verdicts and warnings of one run, or of columns of several runs.
        store: path of the store, for the commands that repeat the report.
        changes: changes of counters; without them the report has no counters.
        raw_p: whether tables show p before the correction too.
        named: whether the user selected the counters by name.
        samples: samples of the findings' columns, for distributions in the HTML report.
        plots: whether to include the values behind the rows.
        mmtests: MMTests' tables, from :func:`mmtests_view`.
        review: tables in the form of reviews, from :func:`review_view`.
    """
    runs = list(findings.runs)
    rows = _rows(findings)
    of_runs = [] if changes is None else [note for run in runs for note in run.notes]
    # A run stores the note on its end in the wording of its version. The wording may differ after the first comma.
    stated = {note.partition(",")[0] for note in findings.notes}
    counter_notes = [note for note in dict.fromkeys(of_runs) if note.partition(",")[0] not in stated]
    return document.Report(
        run=run_part(findings.run),
        runs=[run_part(run) for run in runs],
        columns=column_parts(findings.columns, findings.settings),
        doubt=findings.doubt,
        levels=[
            document.Level(
                **_effects_row(level.question), variant=level.variant, n=level.n, mean=level.mean, spread=level.spread
            )
            for level in findings.levels
        ],
        paired=findings.paired,
        judging=document.Judging.model_validate(findings.options),
        baseline=findings.baseline,
        rows=rows,
        printed=[_printed(checked) for checked in findings.checked],
        stacks=[_stack(attribution) for attribution in findings.attribution],
        factorials=_factorials(findings.effects),
        course=findings.course and document.Course.model_validate(findings.course),
        unmatched=[
            document.Unmatched(
                **_row_fields(row.question), unit=row.question.unit, missing=list(row.missing), reason=row.reason
            )
            for row in findings.unmatched
        ],
        warnings=[
            document.Warning(kind=str(warning.kind), seen=warning.seen, todo=warning.todo)
            for warning in findings.warnings
        ],
        failures=[
            document.Failure(**{**line, "parameters": json.loads(line["parameters"])})
            for line in findings.failures.iter_rows(named=True)
        ],
        notes=[*dict.fromkeys(findings.notes), *counter_notes],
        counter_notes=counter_notes,
        counters=None if changes is None else counter_parts(changes),
        raw_p=raw_p,
        counters_named=named,
        commands=repeat.commands(findings, store),
        again=shlex.join(repeat.run_again(findings.run, store)),
        mmtests=mmtests,
        review=review,
        plotted=_plotted(findings, rows, samples) if plots else [],
        sampled=samples is not None,
    )


def run_part(run: Run) -> document.Run:
    """Return the document's part for a run."""
    design, facts = run.design, run.fingerprint
    return document.Run(
        **{name: getattr(run, name) for name in _SAME_IN_STORE},
        question=design.question,
        blocks=design.blocks,
        iterations=design.iterations,
        fingerprint=run.fingerprint_hash,
        machine=(facts.get("cpu") or {}).get("model"),
        cpus=(facts.get("topology") or {}).get("cpus"),
        kernel=(facts.get("kernel") or {}).get("release"),
        source=run.experiment_path,
        measured=design.paired,
        sampled=bool(design.questions),
        memory_kib=facts.get("memory_kib"),
        facts=dict(_flattened(facts)),
        file=run.experiment_file,
    )


_SAME_IN_STORE = (
    "id", "name", "target", "kind", "state", "quick", "seed", "planned", "recorded", "started", "finished", "version",
    "notes",
)  # fmt: skip


def column_parts(columns: Sequence[Chosen], settings: Mapping[str, str] | None = None) -> list[document.Column]:
    """Return the document's parts for columns, in their order."""
    places: dict[tuple[object, int], int] = {}
    return [
        document.Column(
            name=column.name,
            run=column.run.id,
            variant=column.variant,
            control=column.variant == column.run.design.control,
            sets=(settings or {}).get(column.name, ""),
            place=places.setdefault((column.store, column.run.id), len(places)),
            stored=column.stored,
        )
        for column in columns
    ]


def _flattened(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield ``cpu.model`` and its text; items of lists have their index as name, as in ``caches.0.size``."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flattened(inner, f"{path}.{name}".strip("."))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _flattened(inner, f"{path}.{index}")
    else:
        yield path, "-" if value is None or value == "" else str(value)


def _rows(findings: Findings) -> list[document.Row]:
    base = findings.run.kind
    tied = findings.ties
    kinds = {column.name: "/".join(dict.fromkeys((base, column.run.kind))) for column in findings.columns}
    return [
        document.Row(
            **{name: getattr(verdict, name) for name in _SAME_IN_VERDICT},
            **_row_fields(verdict.question),
            unit=verdict.question.unit,
            direction=verdict.question.direction,
            baseline=verdict.baseline_mean,
            spread=verdict.baseline_spread,
            value=verdict.mean,
            verdict=verdict.word,
            detectable=towards(verdict.detectable, verdict.ratio),
            tied_to=tied[verdict.question].metric if verdict.question in tied else None,
            of_means=verdict.opposite_means,
            kind=of_figure(kinds.get(verdict.variant, base), verdict.question.unit),
        )
        for verdict in findings.verdicts
    ]


_SAME_IN_VERDICT = (
    "variant", "control", "method", "n", "failed", "ratio", "arithmetic_ratio", "low", "high", "level", "p",
    "p_mann_whitney", "p_adjusted", "p_equivalent", "within_control", "exact", "blocks_needed", "decided", "reason",
    "statistic", "event_share",
)  # fmt: skip


def _row_fields(question: Question) -> dict[str, Any]:
    return {
        "workload": question.workload,
        "metric": question.metric,
        "parameters": json.loads(question.parameters),
    }


def _effects_row(question: Question) -> dict[str, Any]:
    return _row_fields(question) | {"unit": question.unit, "direction": question.direction}


_SAME_IN_EFFECT = ("name", "n", "ratio", "low", "high", "p", "p_adjusted", "p_equivalent", "reason", "event_share")


def _effect(effect: Effect) -> dict[str, Any]:
    same = {name: getattr(effect, name) for name in _SAME_IN_EFFECT}
    return same | {"verdict": effect.word, "detectable": towards(effect.detectable, effect.ratio)}


def _stack(attribution: Attribution) -> document.Stack:
    return document.Stack(
        **_effects_row(attribution.question),
        stack=list(attribution.stack),
        steps=[
            document.Step(**_effect(step), parts=list(step.parts), since=step.since, until=step.until)
            for step in attribution.steps
        ],
        n=attribution.n,
        ratio=attribution.ratio,
        low=attribution.low,
        high=attribution.high,
        gaps=list(attribution.gaps),
    )


def _factorials(effects: Sequence[SwitchEffect]) -> list[document.Factorial]:
    rows: dict[Question, list[document.Switch]] = {}
    for effect in effects:
        switch = document.Switch(**_effect(effect), switches=list(effect.switches), aliases=list(effect.aliases))
        rows.setdefault(effect.question, []).append(switch)
    return [document.Factorial(**_effects_row(question), effects=switches) for question, switches in rows.items()]


def counter_parts(changes: Sequence[Change]) -> list[document.Counter]:
    """Return the parts of the document for changes of counters; headlines are marked."""
    headlines = {id(change) for change in notable(changes)}
    return [
        document.Counter(
            **{name: getattr(change, name) for name in _SAME_IN_CHANGE},
            parameters=json.loads(change.parameters),
            baseline=change.baseline_mean,
            value=change.mean,
            headline=id(change) in headlines,
        )
        for change in changes
    ]


_SAME_IN_CHANGE = (
    "workload", "variant", "counter", "n", "ratio", "low", "high", "difference", "difference_low", "difference_high",
    "clear",
)  # fmt: skip


def _printed(checked: Checked) -> document.PrintedTable:
    table = checked.table
    rows = []
    for row, gains in zip(table.rows, checked.gains, strict=True):
        cells = []
        for column, cell, gain in zip(table.columns, row.cells, gains, strict=True):
            cells.append(
                document.PrintedCell(
                    column=column,
                    value=cell.value,
                    text=cell.text,
                    spread_percent=cell.spread_percent,
                    spread_kind=cell.spread_kind,
                    n=cell.n,
                    gain=cell.gain,
                    recomputed=gain.recomputed if gain else None,
                    difference=gain.difference if gain else None,
                    agrees=gain.agrees if gain else None,
                    star=cell.star,
                    p=gain.test.p if gain and gain.test else None,
                )
            )
        rows.append(
            document.PrintedRow(
                operation=row.operation,
                label=row.label,
                parameters=dict(row.parameters),
                unit=row.unit,
                direction=row.direction,
                line=row.line,
                cells=cells,
            )
        )
    return document.PrintedTable(
        layout=table.layout,
        title=table.title,
        workload=table.workload,
        line=table.line,
        columns=list(table.columns),
        baseline=table.columns[table.baseline],
        gains=table.gains,
        rows=rows,
        baseline_index=table.baseline,
        disagreements=list(checked.disagreements),
    )


def mmtests_view(findings: Findings, chosen: Sequence[Chosen], samples: Columns, stars: Stars, layout: Layout) -> View:
    """Return MMTests' tables of the columns with samples; stars mark the findings' verdicts unless a rule is named."""
    labels = _labels(chosen)
    indices = {
        (row.workload, row.metric, json.dumps(dict(row.parameters), sort_keys=True)): index
        for index, row in enumerate(samples.rows)
    }

    def index(question: Question) -> int:
        parameters = json.dumps(json.loads(question.parameters), sort_keys=True)
        return indices[question.workload, question.metric, parameters]

    verdicts = {
        (index(verdict.question), labels[verdict.variant]): True
        for verdict in findings.verdicts
        if verdict.word in DIFFERENT and not verdict.control
    }
    labelled = Columns(tuple(labels[name] for name in samples.names), samples.rows)
    return view(labelled, layout=layout, stars=stars, verdicts=verdicts, every=False)


def review_view(chosen: Sequence[Chosen], samples: Columns) -> Review:
    """Return the tables in the form of reviews of the columns with samples."""
    labels = _labels(chosen)
    return review(Columns(tuple(labels[name] for name in samples.names), samples.rows))


def _labels(chosen: Sequence[Chosen]) -> dict[str, str]:
    """Return the names of the columns in tables for mails, by their names."""
    return {
        column.name: f"{column.name} (A/A)" if column.variant == column.run.design.control else column.name
        for column in chosen
    }


def _plotted(findings: Findings, rows: Sequence[document.Row], samples: Columns | None) -> list[document.PlottedRow]:
    """Return every row of any column, in the order of their first occurrence."""
    questions: dict[Identity, Question] = {}
    verdicts: dict[Identity, list[document.Row]] = {}
    for column in findings.columns:
        for question in column.run.design.questions:
            questions.setdefault(_identity(question), question)
    for verdict, row in zip(findings.verdicts, rows, strict=True):
        questions.setdefault(_identity(verdict.question), verdict.question)
        verdicts.setdefault(_identity(verdict.question), []).append(row)
    values = _values(findings)
    drawn = thinned(samples)
    return [
        document.PlottedRow(
            **_effects_row(question),
            key=f"row-{number}",
            label=question.label,
            verdicts=verdicts.get(identity, []),
            values=values.get(identity, []),
            samples=drawn.get((question.workload, _canonical(json.loads(question.parameters)), question.metric)),
        )
        for number, (identity, question) in enumerate(questions.items(), start=1)
    ]


def _identity(question: Question) -> Identity:
    return question.workload, question.parameters, question.metric


def _canonical(parameters: Mapping[str, Any]) -> str:
    """Return one spelling of the parameters for imports and measurements."""
    return json.dumps(dict(parameters), sort_keys=True)


def _values(findings: Findings) -> dict[Identity, list[document.BlockValue]]:
    """Return the block means of each row, sorted by block and column."""
    indices = {column.name: index for index, column in enumerate(findings.columns)}
    frame = findings.values.select("workload", "parameters", "metric", "block", "variant", "position", "value")
    values: dict[Identity, list[document.BlockValue]] = {}
    for workload, parameters, metric, block, variant, position, value in frame.iter_rows():
        if variant in indices:
            entry = document.BlockValue(block=block, column=indices[variant], position=position, value=value)
            values.setdefault((workload, parameters, metric), []).append(entry)
    return {row: sorted(entries, key=lambda entry: (entry.block, entry.column)) for row, entries in values.items()}


def thinned(samples: Columns | None) -> dict[Identity, list[list[float | None] | None]]:
    """Return sorted samples of each row and column, evenly spaced in rank, at most as many as fit into a page."""
    if samples is None:
        return {}
    cells = sum(cell is not None for row in samples.rows for cell in row.samples)
    room = min(max(SAMPLES // max(cells, 1), FEWEST), MOST)
    return {
        (row.workload, _canonical(row.parameters), row.metric): [
            None if cell is None else [*map(shortened, spaced(cell, room))] for cell in row.samples
        ]
        for row in samples.rows
    }


def shortened(value: float | None) -> float | None:
    """Return a number with the digits that a plot needs; None for a number that is not finite."""
    return float(f"{value:.{DIGITS}g}") if value is not None and isfinite(value) else None
