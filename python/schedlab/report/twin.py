"""A twin as text and JSON: measured beside predicted levels and effects (documented in ``docs/twin.md``)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from math import exp, log
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from schedlab.analysis.rows import Question
from schedlab.findings.run import Findings
from schedlab.findings.twin import CounterLevel, Effect, Level, Twin
from schedlab.notation.units import counted
from schedlab.report import words
from schedlab.report.numbers import change, figure, interval
from schedlab.report.render.columns import Column, Columns
from schedlab.results.metrics import finite


def to_json(twin: Twin) -> dict[str, Any]:
    """Return the fields of the JSON object. Errors of levels are shares: 0.1 is 10 %; effects are ratios."""
    return {
        "measured": _run(twin.measured),
        "predicted": _run(twin.predicted),
        "error": {
            "levels": len(twin.levels),
            "median": _quantile(twin, 0.5),
            "p90": _quantile(twin, 0.9),
            "median_noise": twin.level_noise,
        },
        "effects": {
            "effects": len(twin.effects),
            "significant": len(twin.significant),
            "right": sum(effect.right for effect in twin.significant),
            "near": sum(effect.near for effect in twin.effects),
            "error_median": _median_error(twin.effects),
            "median_noise": twin.effect_noise,
            "skill": twin.skill,
        },
        "rows": [_level(level) for level in twin.levels],
        "changes": [_effect(effect) for effect in twin.effects],
        "counters": [_counter(each) for each in twin.counters],
        "misses": [_level(miss.level) | {"accounts": dict(miss.accounts)} for miss in twin.misses],
        "unmatched": list(twin.unmatched),
    }


def _run(found: Findings) -> dict[str, Any]:
    run = found.run
    return {"run": run.id, "name": run.name, "target": run.target, "kind": run.kind, "machine": run.fingerprint_hash}


def _row(question: Question, variant: str) -> dict[str, Any]:
    return {
        "workload": question.workload,
        "parameters": json.loads(question.parameters),
        "metric": question.metric,
        "unit": question.unit,
        "variant": variant,
    }


def _level(level: Level) -> dict[str, Any]:
    figures = {"measured": level.measured, "predicted": level.predicted, "error": level.error}
    return _row(level.question, level.variant) | figures | {"standard_error": finite(level.standard_error)}


def _effect(effect: Effect) -> dict[str, Any]:
    measured, predicted = effect.measured, effect.predicted
    return _row(measured.question, measured.variant) | {
        "measured": measured.ratio,
        "measured_low": finite(measured.low),
        "measured_high": finite(measured.high),
        "standard_error": finite(effect.standard_error),
        "significant": effect.significant,
        "predicted": predicted.ratio,
        "right": effect.right,
        "near": effect.near,
    }


def _counter(each: CounterLevel) -> dict[str, Any]:
    return {
        "counter": each.name,
        "workload": each.workload,
        "parameters": json.loads(each.parameters),
        "variant": each.variant,
        "measured": each.measured,
        "predicted": each.predicted,
    }


def _quantile(twin: Twin, share: float) -> float:
    return float(np.quantile(twin.errors, share))


def _median_error(effects: Sequence[Effect]) -> float | None:
    return float(np.median([abs(effect.error) for effect in effects])) if effects else None


def render(twin: Twin) -> RenderableType:
    """Return the comparison for a terminal."""
    return Group(*_parts(twin))


def _parts(twin: Twin) -> Iterator[RenderableType]:
    yield Text.assemble(("levels", "bold"), f": {source(twin)}\n")
    yield _levels(twin.levels)
    if twin.effects:
        yield Text.assemble(("\neffects", "bold"), f" of variants on {twin.measured.baseline}\n")
        yield _effects(twin.effects)
    if twin.counters:
        yield Text("\ncounters of a trial", style="bold")
        yield _counters(twin.counters)
    if any(miss.accounts for miss in twin.misses):
        yield Text("\nlargest misses, and where the model spends their CPU time", style="bold")
        yield _misses(twin)
    yield Text()
    yield from (Text(line, style="bold") for line in summary(twin))
    if twin.unmatched:
        yield Text(f"\nnot in both runs: {words.listed(twin.unmatched)}", style="yellow")


def source(twin: Twin) -> str:
    """Name both runs."""
    measured, predicted = twin.measured.run, twin.predicted.run
    return f"measured on {measured.target} (run {measured.id}), predicted by {predicted.target} (run {predicted.id})"


def summary(twin: Twin) -> Iterator[str]:
    """Yield the scores as sentences."""
    median, p90 = _quantile(twin, 0.5), _quantile(twin, 0.9)
    noise = "" if twin.level_noise is None else f"; of a perfect model, by noise alone: median {twin.level_noise:.1%}"
    yield f"error of {counted(len(twin.levels), 'level')}: median {median:.1%}, 90th percentile {p90:.1%}{noise}"
    if not twin.effects:
        return
    noise = "" if twin.effect_noise is None else f"; of a perfect model, by noise alone: {twin.effect_noise * 100:.1f}"
    points = (_median_error(twin.effects) or 0) * 100
    yield f"error of {counted(len(twin.effects), 'effect')}: median {points:.1f} points{noise}"
    right = sum(effect.right for effect in twin.significant)
    near = sum(effect.near for effect in twin.effects)
    yield (
        f"sign of effects beyond noise: {right} of {len(twin.significant)} right; within 3 points or a tenth of the "
        f"effect: {near} of {len(twin.effects)}"
    )
    if twin.skill is not None:
        yield f"skill against predicting no change: {twin.skill:+z.2f}"


def name(question: Question) -> str:
    """Name a row with its parameters, metric and unit."""
    parameters = words.parameters(json.loads(question.parameters))
    return " ".join(
        part for part in (question.workload, parameters, words.measure(question.metric, question.unit)) if part
    )


def _levels(levels: Sequence[Level]) -> Columns:
    return Columns(
        [
            Column("row", [Text(name(each.question)) for each in levels], "name"),
            Column("variant", [Text(each.variant) for each in levels], "name"),
            Column("measured", [Text(figure(each.measured)) for each in levels]),
            Column("predicted", [Text(figure(each.predicted)) for each in levels]),
            Column("predicted/measured", [Text(f"×{each.ratio:.2f}") for each in levels]),
        ]
    )


def _effects(effects: Sequence[Effect]) -> Columns:
    return Columns(
        [
            Column("row", [Text(name(each.measured.question)) for each in effects], "name"),
            Column("variant", [Text(each.measured.variant) for each in effects], "name"),
            Column("measured", [Text(change(each.measured.ratio)) for each in effects]),
            Column("95 % interval", [Text(interval(each.measured.low, each.measured.high)) for each in effects]),
            Column("predicted", [Text(change(each.predicted.ratio)) for each in effects]),
            Column("sign", [_sign(each) for each in effects]),
        ]
    )


def _sign(effect: Effect) -> Text:
    if not effect.significant:
        return Text("noise", style="dim")
    return Text("right", style="green") if effect.right else Text("wrong", style="red")


def _counters(counters: Sequence[CounterLevel]) -> Columns:
    names = list(dict.fromkeys(each.name for each in counters))
    of_names = [[each for each in counters if each.name == name] for name in names]
    return Columns(
        [
            Column("counter", [Text(name) for name in names], "name"),
            Column("measured", [Text(_count([each.measured for each in group])) for group in of_names]),
            Column("predicted", [Text(_count([each.predicted for each in group])) for group in of_names]),
            Column("predicted/measured", [Text(_factor(group)) for group in of_names]),
        ]
    )


def _count(values: Sequence[float]) -> str:
    return f"{np.mean(values):,.0f}"


def _factor(counters: Sequence[CounterLevel]) -> str:
    """Return the geometric mean of the ratios; trials without a count on one side are left out."""
    ratios = [log(each.predicted / each.measured) for each in counters if each.predicted > 0 and each.measured > 0]
    return f"×{exp(np.mean(ratios)):.2f}" if ratios else "-"


def _misses(twin: Twin) -> Columns:
    misses = [miss for miss in twin.misses if miss.accounts]
    shares = [", ".join(f"{account} {share:.0%}" for account, share in miss.accounts) for miss in misses]
    return Columns(
        [
            Column("row", [Text(name(miss.level.question)) for miss in misses], "name"),
            Column("variant", [Text(miss.level.variant) for miss in misses], "name"),
            Column("predicted/measured", [Text(f"×{miss.level.ratio:.2f}") for miss in misses]),
            Column("simulated CPU time", [Text(text) for text in shares], "remark"),
        ]
    )
