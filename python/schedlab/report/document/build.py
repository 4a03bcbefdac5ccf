"""Findings as the documented fields; nothing is computed here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from schedlab.analysis.attribution import Attribution
from schedlab.analysis.counters import Change
from schedlab.analysis.factorial import SwitchEffect
from schedlab.analysis.matching import Unmatched
from schedlab.analysis.sequential import Course
from schedlab.analysis.together import Effect
from schedlab.analysis.verdicts import Question, Verdict
from schedlab.findings import Findings
from schedlab.report.counters import to_json
from schedlab.report.document import fields
from schedlab.report.document.printed import table
from schedlab.report.document.report import Report
from schedlab.store.columns import Chosen
from schedlab.store.reading import Run


def document(findings: Findings, changes: Sequence[Change] | None = None) -> Report:
    """The whole report; ``counters`` is null unless changes are given."""
    counted = None if changes is None else [fields.Counter(**change) for change in to_json(changes)]
    counting = [] if changes is None else [note for run in findings.runs for note in run.notes]
    options = findings.options
    return Report(
        run=run_fields(findings.run),
        runs=[run_fields(run) for run in findings.runs],
        columns=[column_fields(column) for column in findings.columns],
        paired=findings.paired,
        judging=fields.Judging(
            alpha=options.alpha, delta=options.delta, correction=options.correction, family=options.family
        ),
        baseline=findings.baseline,
        rows=rows(findings),
        printed=[table(checked) for checked in findings.checked],
        stacks=[_stack(found) for found in findings.attribution],
        factorials=_factorials(findings.effects),
        course=_course(findings.course),
        unmatched=[_unmatched(one) for one in findings.unmatched],
        warnings=[
            fields.Warning(kind=str(warning.kind), seen=warning.seen, todo=warning.todo)
            for warning in findings.warnings
        ],
        failures=[_failure(line) for line in findings.failures.iter_rows(named=True)],
        notes=list(dict.fromkeys([*findings.notes, *counting])),
        counters=counted,
    )


def rows(findings: Findings) -> list[fields.Row]:
    """Every verdict as a row."""
    kinds = {column.name: column.run.kind for column in findings.columns}
    base = findings.run.kind
    labels = {name: "/".join(dict.fromkeys((base, kind))) for name, kind in kinds.items()}
    return [_row(verdict, labels.get(verdict.variant, base)) for verdict in findings.verdicts]


def _row(verdict: Verdict, kind: str) -> fields.Row:
    question = verdict.question
    return fields.Row(
        workload=question.workload,
        metric=question.metric,
        unit=question.unit,
        direction=question.direction,
        parameters=json.loads(question.parameters),
        variant=verdict.variant,
        control=verdict.control,
        method=verdict.method,
        n=verdict.n,
        failed=verdict.failed,
        baseline=verdict.baseline_mean,
        spread=verdict.baseline_spread,
        value=verdict.mean,
        ratio=verdict.ratio,
        low=verdict.low,
        high=verdict.high,
        level=verdict.level,
        p=verdict.p,
        p_mann_whitney=verdict.p_mann_whitney,
        p_adjusted=verdict.p_adjusted,
        p_equivalent=verdict.p_equivalent,
        verdict=verdict.word,
        in_noise_band=verdict.in_noise_band,
        detectable=verdict.detectable,
        blocks_needed=verdict.blocks_needed,
        decided=verdict.decided,
        reason=verdict.reason,
        kind=kind,
    )


def run_fields(run: Run) -> fields.Run:
    """A run, as reports name it."""
    design, found = run.design, run.fingerprint
    return fields.Run(
        id=run.id,
        name=run.name,
        question=design.question,
        target=run.target,
        kind=run.kind,
        state=run.state,
        quick=run.quick,
        seed=run.seed,
        blocks=design.blocks,
        iterations=design.iterations,
        planned=run.planned,
        recorded=run.recorded,
        started=run.started,
        finished=run.finished,
        fingerprint=run.fingerprint_hash,
        machine=(found.get("cpu") or {}).get("model"),
        cpus=(found.get("topology") or {}).get("cpus"),
        kernel=(found.get("kernel") or {}).get("release"),
        source=run.experiment_path,
        version=run.version,
    )


def column_fields(column: Chosen) -> fields.Column:
    """A column, as reports name it."""
    is_control = column.variant == column.run.design.control
    return fields.Column(name=column.name, run=column.run.id, variant=column.variant, control=is_control)


def _unmatched(one: Unmatched) -> fields.Unmatched:
    question = one.question
    return fields.Unmatched(
        workload=question.workload,
        metric=question.metric,
        unit=question.unit,
        parameters=json.loads(question.parameters),
        missing=list(one.missing),
        reason=one.reason,
    )


def _failure(line: Mapping[str, Any]) -> fields.Failure:
    return fields.Failure(**{**line, "parameters": json.loads(line["parameters"])})


def _effect(effect: Effect) -> dict[str, Any]:
    names = ("name", "n", "ratio", "low", "high", "p", "p_adjusted", "p_equivalent", "detectable", "reason")
    return {name: getattr(effect, name) for name in names} | {"verdict": effect.word}


def _asked(question: Question) -> dict[str, Any]:
    known = {"workload": question.workload, "metric": question.metric}
    return known | {"parameters": json.loads(question.parameters)}


def _stack(found: Attribution) -> fields.Stack:
    steps = [
        fields.Step(**_effect(step), parts=list(step.parts), since=step.since, until=step.until) for step in found.steps
    ]
    whole = {"n": found.n, "ratio": found.ratio, "low": found.low, "high": found.high}
    return fields.Stack(**_asked(found.question), stack=list(found.stack), steps=steps, gaps=list(found.gaps), **whole)


def _factorials(found: Sequence[SwitchEffect]) -> list[fields.Factorial]:
    rows: dict[Question, list[fields.Switch]] = {}
    for effect in found:
        switch = fields.Switch(**_effect(effect), switches=list(effect.switches), aliases=list(effect.aliases))
        rows.setdefault(effect.question, []).append(switch)
    return [fields.Factorial(**_asked(question), effects=effects) for question, effects in rows.items()]


def _course(course: Course | None) -> fields.Course | None:
    if course is None:
        return None
    return fields.Course(
        looks=list(course.looks), taken=course.taken, level=course.level, blocks=course.blocks, stopped=course.stopped
    )
