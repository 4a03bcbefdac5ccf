"""The fields of the JSON of a sweep."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schedlab.experiment.sweep_table import Value
from schedlab.findings.sweep import Response, SweepFindings
from schedlab.report.document import Known, Part
from schedlab.results.metrics import Direction


class FactorFields(Part):
    """A factor."""

    name: str = Field(description="name of the factor in the file")
    unit: str = Field(description="text after a number, such as `ns`")
    levels: list[Value] | None = Field(description="values; null for a range without steps")
    low: float | None = Field(serialization_alias="from", description="lower end of a range; null for a list")
    high: float | None = Field(serialization_alias="to", description="upper end of a range; null for a list")
    scale: Literal["linear", "log"] = Field(description="scale of a range")


class MeanFields(Part):
    """A mean over blocks."""

    mean: Known = Field(validation_alias="value", description="mean in the metric's unit; see the response's `scale`")
    low: Known = Field(description="lower end of the 95 % interval; null for one block")
    high: Known = Field(description="upper end of the interval")


class BestFields(MeanFields):
    """The point with the best mean."""

    point: str = Field(description="name of the point in the table of cells: `p01`")
    values: dict[str, Value] = Field(description="value of each factor")


class LevelFields(MeanFields):
    """The response at a level of a factor."""

    factor: str = Field(description="name of the factor")
    level: str = Field(description="the level as text")
    points: int = Field(description="points of this level")


class ShareFields(Part):
    """A source of variance of a complete grid."""

    factors: list[str] = Field(serialization_alias="source", description="one factor, two factors, or what remains")
    share: Known = Field(description="unbiased share of the variance; negative at times without an effect")
    p: Known = Field(description="corrected p of the F test of no effect; null for noise")


class IndexFields(Part):
    """The first-order index of a factor of drawn points."""

    factor: str = Field(description="name of the factor")
    first: Known = Field(serialization_alias="share", description="share of the variance of the points' means")
    p: Known = Field(description="corrected p of the F test of no effect")


class ResponseFields(Part):
    """The response of a metric."""

    metric: str = Field(description="the metric")
    unit: str = Field(description="its unit")
    direction: Direction = Field(description="which values are better")
    points: int = Field(description="points with a value in each block; other points are not analysed")
    scale: Literal["linear", "log"] = Field(description="`log`: means are geometric")
    best: BestFields = Field(description="the point with the best mean")
    best_region: list[str] = Field(description="names of the points that may be the best, the best mean first")
    levels: list[LevelFields] = Field(description="the levels of all factors")
    shares: list[ShareFields] = Field(description="sources of the variance of a complete grid; [] otherwise")
    first_order: list[IndexFields] = Field(description="indices of drawn points; [] for a grid")


class FailureFields(Part):
    """A failed cell."""

    point: str = Field(description="name of the point")
    block: int = Field(description="number of the block, from 1")
    state: str = Field(description="state of the trial")
    reason: str = Field(description="the reason")


class Fields(Part):
    """The object printed by `schedlab sweep --format json`."""

    run: int = Field(description="number of the run")
    name: str = Field(description="the experiment's name")
    state: str = Field(description="`complete`, `interrupted`, `running`")
    kind: str = Field(description="origin of the figures")
    random_seed: int = Field(description="random seed of the run")
    design: str = Field(description="`grid`, `latin-hypercube`, `sobol`")
    points: int = Field(description="points of the design")
    seeds: int = Field(description="blocks; in a simulation the seeds of each point")
    cells: int = Field(description="planned cells")
    stored: int = Field(description="cells in the store")
    factors: list[FactorFields] = Field(description="the factors")
    responses: list[ResponseFields] = Field(description="an object for each metric")
    failures: list[FailureFields] = Field(description="the failed cells")


def fields(found: SweepFindings) -> Fields:
    """Return the fields of a sweep. Points are named as in the table of cells."""
    run, table = found.run, found.sweep.plan.experiment.sweep
    assert table is not None
    return Fields(
        run=run.id,
        name=run.name,
        state=run.state,
        kind=run.kind,
        random_seed=run.seed,
        design=table.design,
        points=len(found.sweep.points),
        seeds=found.sweep.plan.experiment.design.blocks,
        cells=run.planned,
        stored=run.recorded,
        factors=[
            FactorFields(
                name=each.factor.name,
                unit=each.factor.unit,
                levels=list(each.factor.levels) or None,
                low=each.factor.low,
                high=each.factor.high,
                scale="log" if each.factor.log else "linear",
            )
            for each in found.factors
        ],
        responses=[_response(found, each) for each in found.responses],
        failures=[FailureFields(**failure) for failure in found.failures.to_dicts()],
    )


def _response(found: SweepFindings, response: Response) -> ResponseFields:
    best = found.sweep.points[response.best[0]]
    return ResponseFields(
        metric=response.metric,
        unit=response.unit,
        direction=response.direction,
        points=len(response.points),
        scale="log" if response.logs else "linear",
        best=BestFields(point=best.variant.name, values=dict(best.values), **vars(response.of_point(response.best[0]))),
        best_region=[found.sweep.points[point].variant.name for point in response.best],
        levels=[
            LevelFields(
                factor=each.factor.name,
                level=each.labels[level.level],
                points=level.points,
                **vars(response.figure(level.mean)),
            )
            for each in found.factors
            for level in response.levels[each.factor.name]
        ],
        shares=[ShareFields.model_validate(share) for share in response.shares],
        first_order=[IndexFields.model_validate(index) for index in response.indices],
    )
