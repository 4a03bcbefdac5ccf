"""The fields of the JSON of histories."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic import Field

from schedlab.analysis.history import ChangePoint
from schedlab.findings.history import Series
from schedlab.report.document import Known, Parameters, Part, Verdict
from schedlab.results.metrics import Direction


class PointFields(Part):
    """The level of a row in one run."""

    run: int = Field(description="number of the run")
    started: float = Field(description="seconds since 1970, UTC")
    kernel: str = Field(description="the kernel's release, or the kernel that the target names")
    value: float = Field(description="mean over the blocks: geometric, or arithmetic if a value is not above 0")
    low: Known = Field(description="lower end of Student's 95 % interval; null for one block")
    high: Known = Field(description="upper end of the interval")
    blocks: int = Field(description="blocks with a value")
    name: str = Field(description="name of an imported column; empty for measured runs")
    dated: bool = Field(
        description="whether `started` is the date of the measurement; false: of an import without a date"
    )


class ChangeFields(Part):
    """A change of level."""

    run: int = Field(description="first run of the new level")
    word: Verdict = Field(description="`better` or `worse`")
    before: float = Field(description="level before")
    after: float = Field(description="level after")
    ratio: Known = Field(description="after / before; null if a level is not above 0")
    p: float = Field(description="p of no change")


class SeriesFields(Part):
    """A row of a machine over runs."""

    id: str = Field(description="hash of the fields that identify the series")
    machine: str = Field(description="the machine without its kernel")
    experiment: str = Field(description="the experiment's name")
    workload: str = Field(description="the workload's label")
    parameters: Parameters
    metric: str = Field(description="the metric")
    unit: str = Field(description="its unit")
    direction: Direction = Field(description="which values are better")
    variant: str = Field(description="the variant")
    settings: str = Field(description="what the variant sets, as JSON")
    points: list[PointFields] = Field(description="runs, the oldest first")
    changes: list[ChangeFields] = Field(description="changes of level, the oldest first")


class Fields(Part):
    """The object printed by `schedlab history --format json`."""

    series: list[SeriesFields] = Field(description="the rows")


def fields(all_series: Sequence[Series]) -> Fields:
    """Return the fields of histories."""
    return Fields(series=[_series(series) for series in all_series])


def _series(series: Series) -> SeriesFields:
    key = {**series.key._asdict(), "parameters": json.loads(series.key.parameters)}
    return SeriesFields(
        id=series.key.identity,
        **key,
        points=[PointFields.model_validate(point) for point in series.points],
        changes=[_change(series, found) for found in series.changes],
    )


def _change(series: Series, found: ChangePoint) -> ChangeFields:
    return ChangeFields(
        run=series.points[found.index].run,
        word=series.word(found),
        before=found.before,
        after=found.after,
        ratio=found.ratio,
        p=found.p,
    )
