"""The fields of the JSON of a search for the best values."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from schedlab.analysis.verdicts import Verdict as Judged
from schedlab.execution.tuning import Confirmed, SearchedPoint, Tuning, Values
from schedlab.experiment.sweep_table import Value
from schedlab.report.document import Known, Part, Verdict
from schedlab.report.fields.judge import EVENT_SHARE
from schedlab.results.metrics import Direction


class PointFields(Part):
    """A searched point."""

    values: dict[str, Value] = Field(description="value of each factor")
    blocks: int = Field(description="blocks of the point")
    ratio: Known = Field(description="ratio of the first objective to the default")
    ratios: dict[str, Known] = Field(description="ratio of each metric to the default")
    keeps_constraints: bool = Field(description="whether the point keeps the constraints in the search")


class WarmStart(Part):
    """The points of another search that were measured first."""

    points: int = Field(description="points that were measured first")
    rank_correlation: Known = Field(description="Spearman's correlation of their expected order with their figures")
    notes: list[str] = Field(description="the search of the points, or why they were left out")


class Confirmation(Part):
    """The verdict on a winner in fresh blocks."""

    run: int = Field(description="number of the confirming run")
    number: int = Field(description="position among the confirmations of the search, from 1")
    alpha: float = Field(description="error rate of all verdicts of this confirmation together")
    verdict: Verdict = Field(description="the verdict")
    event_share: Known = Field(description=EVENT_SHARE)
    ratio: Known = Field(description="ratio to the default")
    interval: list[Known] = Field(description="lower and upper end of the interval")
    p: Known = Field(description="p before the correction")
    p_adjusted: Known = Field(description="corrected p, compared with `alpha`")
    blocks: int = Field(description="fresh blocks")
    reason: str = Field(description="why there is no verdict")


class Winner(Part):
    """A winner: the best point, or a point of the front of several objectives."""

    values: dict[str, Value] = Field(description="value of each factor")
    optimistic_ratios: dict[str, Known] = Field(description="ratio of each metric to the default, in the search")
    confirmation: dict[str, Confirmation] | None = Field(
        description="the confirmation of each metric; null without a complete confirmation of these winners"
    )


class Fields(Part):
    """The object printed by `schedlab tune --format json`."""

    run: int = Field(description="number of the search")
    name: str = Field(description="the experiment's name")
    target: str = Field(description="place of the search")
    kind: str = Field(description="origin of the figures")
    sampler: str = Field(description="`tpe`, `gp`, `nsga2`, `random`")
    metric: str = Field(description="the first objective")
    unit: str = Field(description="its unit")
    direction: Direction = Field(description="which values of it are better")
    objectives: list[str] = Field(description="the metrics to improve")
    constraints: list[str] = Field(description="the metrics that must not become worse")
    points: list[PointFields] = Field(description="the points, in the order of their first blocks")
    warm_start: WarmStart | None = Field(description="null for a search that began without points")
    winner: dict[str, Value] | None = Field(description="values of the first winner; null if no point is better")
    optimistic_ratio: Known = Field(description="its ratio in the first objective, in the search")
    confirmation: Confirmation | None = Field(description="its confirmation in the first objective")
    winners: list[Winner] = Field(description="all winners")


def fields(found: Tuning, confirmed: Confirmed | None, first: Sequence[Values]) -> Fields:
    """Return the fields of a search. ``first`` are the points of ``[tune] first``."""
    best, objective = found.best, found.objectives[0]
    notes = found.warm_notes
    warm = WarmStart(points=len(first), rank_correlation=found.rank_correlation(first), notes=notes)
    return Fields(
        run=found.run.id,
        name=found.run.name,
        target=found.run.target,
        kind=found.run.kind,
        sampler=found.run.design.tuning,
        metric=objective.metric,
        unit=objective.unit,
        direction=objective.direction,
        objectives=[question.metric for question in found.objectives],
        constraints=[question.metric for question in found.constraints],
        points=[
            PointFields(
                values=dict(point.values),
                blocks=point.blocks,
                ratio=found.ratio(point, objective),
                ratios=_ratios(found, point),
                keeps_constraints=found.keeps(point),
            )
            for point in found.points
        ],
        warm_start=warm if first or notes else None,
        winner=None if best is None else dict(best.values),
        optimistic_ratio=None if best is None else found.ratio(best, objective),
        confirmation=None if confirmed is None else _confirmation(confirmed, confirmed.verdicts[0][0]),
        winners=[
            Winner(
                values=dict(point.values),
                optimistic_ratios=_ratios(found, point),
                confirmation=None if confirmed is None else _confirmations(confirmed, confirmed.verdicts[place]),
            )
            for place, point in enumerate(found.winners)
        ],
    )


def _ratios(found: Tuning, point: SearchedPoint) -> dict[str, float | None]:
    return {question.metric: found.ratio(point, question) for question in found.questions}


def _confirmations(confirmed: Confirmed, verdicts: Sequence[Judged]) -> dict[str, Confirmation]:
    return {verdict.question.metric: _confirmation(confirmed, verdict) for verdict in verdicts}


def _confirmation(confirmed: Confirmed, verdict: Judged) -> Confirmation:
    return Confirmation(
        run=confirmed.run,
        number=confirmed.number,
        alpha=confirmed.alpha,
        verdict=verdict.word,
        event_share=verdict.event_share,
        ratio=verdict.ratio,
        interval=[verdict.low, verdict.high],
        p=verdict.p,
        p_adjusted=verdict.p_adjusted,
        blocks=verdict.n,
        reason=verdict.reason,
    )
