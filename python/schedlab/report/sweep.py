"""The report of a sweep as text, JSON, CSV and Parquet (documented in ``docs/sweeps.md``)."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from schedlab.analysis.sensitivity import HIGHER, SEEDS, Mean
from schedlab.experiment.sweep import Sweep
from schedlab.findings.sweep import FactorLevels, Response, SweepFindings, shown
from schedlab.notation.units import counted
from schedlab.report.numbers import figure, p_value, percent
from schedlab.report.render.columns import Column, Columns
from schedlab.report.words import listed
from schedlab.results.metrics import finite

LISTED = 10
"""Most failures that the text lists. The table has all failures."""

SHARE = "share of the variance"

NO_EFFECT = (
    "A source without effect has a share of 0 on average, and p ≤ 0.05 for any such source in 5 % of the sweeps."
)

OPTIMISTIC = "The best of many figures is optimistic: measure the best point again with another --seed."

OTHERS = {HIGHER: "interactions of three or more factors", SEEDS: "blocks (random seeds, noise)"}


def to_csv(found: SweepFindings) -> str:
    """Return the table of cells as comma-separated values; an unknown value is empty."""
    return found.table.write_csv()


def to_parquet(found: SweepFindings) -> bytes:
    """Return the table of cells as an Apache Parquet file."""
    buffer = io.BytesIO()
    found.table.write_parquet(buffer)
    return buffer.getvalue()


def to_json(found: SweepFindings) -> dict[str, Any]:
    """Return the fields of the JSON object. Points are named as in the table; unknown numbers are null."""
    run, whole = found.run, found.sweep
    table = whole.plan.experiment.sweep
    assert table is not None
    return {
        "run": run.id,
        "name": run.name,
        "state": run.state,
        "kind": run.kind,
        "random_seed": run.seed,
        "design": table.design,
        "points": len(whole.points),
        "seeds": whole.plan.experiment.design.blocks,
        "cells": run.planned,
        "stored": run.recorded,
        "factors": [
            {"name": each.factor.name, "unit": each.factor.unit, "levels": list(each.factor.levels) or None,
             "from": each.factor.low, "to": each.factor.high, "scale": "log" if each.factor.log else "linear"}
            for each in found.factors
        ],
        "responses": [_response_json(found, each) for each in found.responses],
        "failures": found.failures.to_dicts(),
    }  # fmt: skip


def _response_json(found: SweepFindings, response: Response) -> dict[str, Any]:
    best = response.best[0]
    return {
        "metric": response.metric,
        "unit": response.unit,
        "direction": response.direction,
        "points": len(response.points),
        "scale": "log" if response.logs else "linear",
        "best": {
            "point": found.sweep.points[best].variant.name,
            "values": dict(found.sweep.points[best].values),
            **_mean_json(response.of_point(best)),
        },
        "best_region": [found.sweep.points[point].variant.name for point in response.best],
        "levels": [
            {"factor": each.factor.name, "level": each.labels[level.level], "points": level.points}
            | _mean_json(response.figure(level.mean))
            for each in found.factors
            for level in response.levels[each.factor.name]
        ],
        "shares": [
            {"source": list(share.factors), "share": share.share, "p": finite(share.p)} for share in response.shares
        ],
        "first_order": [{"factor": index.factor, "share": index.first, "p": index.p} for index in response.indices],
    }


def _mean_json(value: Mean) -> dict[str, float | None]:
    return {"mean": value.value, "low": finite(value.low), "high": finite(value.high)}


def render(found: SweepFindings) -> RenderableType:
    """Return the report for a terminal."""
    return Group(*_parts(found))


def _parts(found: SweepFindings) -> Iterator[RenderableType]:
    run = found.run
    yield Text.assemble((f"run {run.id}: {run.name}", "bold"), f" on {run.target}, {run.kind}")
    size = f"{size_of(found.sweep)}: "
    stored = f"{run.recorded:,} of {run.planned:,} cells" if run.recorded < run.planned else f"{run.planned:,} cells"
    yield Text(size + stored, style="dim")
    for response in found.responses:
        yield Text()
        yield Text.assemble(
            (response.metric, "bold"), f" ({response.unit}, {response.direction} is better)" if response.unit else ""
        )
        for part in _of_response(found, response):
            yield Padding(part, (0, 0, 0, 2))
    if left_out := len(found.sweep.points) - min((len(each.points) for each in found.responses), default=0):
        yield Text(f"\n{counted(left_out, 'point')} without a value in each block: not analysed", style="yellow")
    yield from _failures(found)


def _of_response(found: SweepFindings, response: Response) -> Iterator[RenderableType]:
    best = response.best[0]
    point, value = found.sweep.points[best], response.of_point(best)
    yield Text(f"best point {point.variant.name}: {figures(value)}")
    yield Text(values_of(found, best))
    if len(response.best) > 1:
        yield Text(f"best region: {len(response.best)} of {counted(len(response.points), 'point')} may be the best")
        for each in found.factors:
            yield Text(f"  {each.factor.name}: {region(each, response)}")
    yield Text(OPTIMISTIC, style="dim")
    yield Text()
    yield _levels(found, response)
    if sources := sources_of(response):
        yield Text()
        yield _table(("source", SHARE, "p"), sources)
        yield Text(NO_EFFECT, style="dim")


def size_of(sweep: Sweep) -> str:
    """Return the numbers of points and blocks as text."""
    return f"{counted(len(sweep.points), 'point')} in {counted(sweep.plan.experiment.design.blocks, 'block')}"


def mean_word(response: Response) -> str:
    """Return the kind of mean of a response."""
    return "geometric mean" if response.logs else "mean"


def values_of(found: SweepFindings, point: int) -> str:
    """Return the values of a point as text."""
    values = found.sweep.points[point].values
    return ", ".join(f"{each.factor.name} = {shown(each.factor, values[each.factor.name])}" for each in found.factors)


def region(levels: FactorLevels, response: Response) -> str:
    """Return the levels of a factor in the best region."""
    present = sorted({levels.of_point[point] for point in response.best})
    return "every level" if len(present) == len(levels.labels) else listed([levels.labels[level] for level in present])


def _levels(found: SweepFindings, response: Response) -> RenderableType:
    lines = []
    for each in found.factors:
        for number, level in enumerate(response.levels[each.factor.name]):
            name = each.factor.name if number == 0 else ""
            mean = response.figure(level.mean)
            values = figure(mean.value), interval(mean), str(level.points)
            lines.append((name, each.labels[level.level], *values))
    return _table(("factor", "level", mean_word(response), "95% interval", "points"), lines)


def sources_of(response: Response) -> list[tuple[str, str, str]]:
    """Return name, share and p of each source of variance, the largest share first."""
    sources = [(share.factors, share.share, share.p) for share in response.shares]
    sources += [((index.factor,), index.first, index.p) for index in response.indices]
    return [
        (" × ".join(OTHERS.get(name, name) for name in names), percent(max(share, 0.0), 1), p_value(p))
        for names, share, p in sorted(sources, key=lambda source: -source[1])
    ]


def figures(value: Mean) -> str:
    """Format a mean with its interval."""
    bounds = interval(value)
    return figure(value.value) + (f" ({bounds})" if bounds != "-" else "")


def interval(value: Mean) -> str:
    """Format the interval of a mean."""
    low, high = finite(value.low), finite(value.high)
    return "-" if low is None or high is None else f"{figure(low)} … {figure(high)}"


def _table(headings: tuple[str, ...], lines: Sequence[tuple[str, ...]]) -> RenderableType:
    names = {"factor", "level", "source"}
    return Columns([
        Column(heading, [Text(line[place]) for line in lines], "remark" if heading in names else "number")
        for place, heading in enumerate(headings)
    ])  # fmt: skip


def _failures(found: SweepFindings) -> Iterator[RenderableType]:
    failures = found.failures
    if not len(failures):
        return
    reasons = failures.group_by("reason", maintain_order=True).len()
    yield Text(f"\nFailed cells: {len(failures)}", style="red")
    for reason, number in reasons.head(LISTED).iter_rows():
        yield Text(f"  {number} × {reason.partition(chr(10))[0]}", style="red")
    if len(reasons) > LISTED:
        yield Text(f"  and {len(reasons) - LISTED} other reasons", style="dim")
