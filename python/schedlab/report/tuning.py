"""The result of a search as text and as JSON (documented in ``docs/tuning.md``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from schedlab.analysis.verdicts import Verdict
from schedlab.execution.tuning import SearchedPoint, Tuning
from schedlab.experiment.sweep_table import Factor
from schedlab.experiment.tuning import WINNER
from schedlab.findings.sweep import shown
from schedlab.notation.units import counted
from schedlab.report.campaign import sentence
from schedlab.report.columns import Column, Columns
from schedlab.report.numbers import change
from schedlab.results.metrics import finite

LISTED = 5
"""Most points that the text lists, the best first. The JSON has all points."""


def to_json(found: Tuning, confirmed: tuple[int, Verdict] | None) -> dict[str, Any]:
    """Return the fields of the JSON object. ``confirmed`` is the number and the verdict of the confirming run."""
    best = found.best
    return {
        "run": found.run.id,
        "name": found.run.name,
        "target": found.run.target,
        "kind": found.run.kind,
        "sampler": found.run.design.tuning,
        "metric": found.question.metric,
        "unit": found.question.unit,
        "direction": found.question.direction,
        "points": [
            {"values": dict(point.values), "blocks": len(point.gains), "ratio": found.ratio(point)}
            for point in found.points
        ],
        "winner": None if best is None else dict(best.values),
        "optimistic_ratio": None if best is None else found.ratio(best),
        "confirmation": None if confirmed is None else _confirmation(*confirmed),
    }


def _confirmation(run_id: int, verdict: Verdict) -> dict[str, Any]:
    return {
        "run": run_id,
        "verdict": str(verdict.word),
        "ratio": finite(verdict.ratio),
        "interval": [finite(verdict.low), finite(verdict.high)],
        "p": finite(verdict.p),
        "blocks": verdict.n,
        "reason": verdict.reason,
    }


def render(found: Tuning, factors: Mapping[str, Factor], confirmed: tuple[int, Verdict] | None) -> RenderableType:
    """Return the result for a terminal."""
    return Group(*_parts(found, factors, confirmed))


def _parts(
    found: Tuning, factors: Mapping[str, Factor], confirmed: tuple[int, Verdict] | None
) -> Iterator[RenderableType]:
    run, question, best = found.run, found.question, found.best
    yield Text.assemble((f"run {run.id}: {run.name}", "bold"), f" on {run.target}, {run.kind}")
    yield Text(
        f"{question.workload} {question.metric} ({question.unit}, {question.direction} is better); "
        f"{counted(len(found.points), 'point')}, sampler {run.design.tuning}",
        style="dim",
    )
    yield Text()
    ordered = sorted(found.points, key=lambda point: -point.gain)[:LISTED]
    columns = [
        Column("values", [Text(_values(point, factors)) for point in ordered], "remark"),
        Column("blocks", [Text(str(len(point.gains))) for point in ordered]),
        Column("change in the search", [Text(change(found.ratio(point))) for point in ordered]),
    ]
    yield Columns(columns)
    yield Text()
    if best is None:
        yield Text("No point is better than the default in the search; nothing was confirmed.", style="bold")
        return
    yield Text(f"{WINNER}: {_values(best, factors)}", style="bold")
    yield Text(
        f"in the search: {change(found.ratio(best))}, optimistic as the best of {counted(len(found.points), 'point')}",
        style="dim",
    )
    if confirmed is None:
        yield Text("not confirmed yet: the same command with --resume measures fresh blocks", style="yellow")
        return
    number, verdict = confirmed
    words = (WINNER, verdict.word, verdict.ratio, verdict.low, verdict.high, verdict.n)
    yield Text(f"confirmed on fresh blocks (run {number}): {sentence(*words)}", style="bold")


def _values(point: SearchedPoint, factors: Mapping[str, Factor]) -> str:
    return ", ".join(f"{name} = {shown(factors[name], value)}" for name, value in point.values.items())
