"""Fields of the JSON object of ``schedlab twin``; filled from :class:`schedlab.findings.twin.Twin`."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import AliasPath, BeforeValidator, Field

from schedlab.report.document import Known, Part

Parameters = Annotated[
    dict[str, Any], BeforeValidator(lambda text: json.loads(text) if isinstance(text, str) else text)
]
"""The workload's parameters; a finding has them as canonical JSON."""


class RunOf(Part):
    """A compared run."""

    run: int = Field(validation_alias=AliasPath("run", "id"), description="number of the run in the store")
    name: str = Field(validation_alias=AliasPath("run", "name"), description="the experiment's name")
    target: str = Field(validation_alias=AliasPath("run", "target"), description="the machine or the model")
    kind: str = Field(validation_alias=AliasPath("run", "kind"), description="origin of the figures, as of a run")
    machine: str = Field(
        validation_alias=AliasPath("run", "fingerprint_hash"), description="hash of the machine or the model"
    )


class LevelErrors(Part):
    """Errors of all levels: shares, 0.1 is 10 %."""

    levels: int = Field(description="number of compared levels")
    median: float = Field(description="median error")
    p90: float = Field(description="90th percentile of the errors")
    median_noise: Known = Field(description="median error of a perfect model, from the noise of the measurement alone")


class EffectScores(Part):
    """Scores of all effects."""

    effects: int = Field(description="number of compared effects")
    significant: int = Field(description="effects beyond the noise of the measurement")
    right: int = Field(description="of these, effects with the predicted sign")
    near: int = Field(description="effects that are predicted within three points or a tenth of the effect")
    error_median: Known = Field(description="median distance of predicted and measured ratio: 0.03 is three points")
    median_noise: Known = Field(description="the same of a perfect model, from the noise of the measurement alone")
    skill: Known = Field(description="1 − mean error / mean error of predicting no change, of ratios' logarithms")


class Row(Part):
    """A metric of a workload under a variant."""

    workload: str = Field(validation_alias=AliasPath("question", "workload"), description="the workload's label")
    parameters: Parameters = Field(
        validation_alias=AliasPath("question", "parameters"), description="the workload's parameters"
    )
    metric: str = Field(validation_alias=AliasPath("question", "metric"), description="the metric")
    unit: str = Field(validation_alias=AliasPath("question", "unit"), description="the metric's unit")
    variant: str = Field(description="name of the variant")


class Level(Row):
    """A level: the geometric mean over blocks."""

    measured: float = Field(description="on the machine, in the unit")
    predicted: float = Field(description="by the model, in the unit")
    error: float = Field(description="distance of predicted / measured from 1")
    standard_error: Known = Field(description="of the logarithm of the measured level; null for a single block")


class Miss(Level):
    """One of the largest errors."""

    accounts: dict[str, float] = Field(description="largest shares of the simulated CPU time, by account")


class Change(Row):
    """An effect of a variant, as ratios to the baseline."""

    measured: float = Field(validation_alias=AliasPath("measured", "ratio"), description="on the machine")
    measured_low: Known = Field(
        validation_alias=AliasPath("measured", "low"), description="lower end of the interval of the measured ratio"
    )
    measured_high: Known = Field(
        validation_alias=AliasPath("measured", "high"), description="upper end of the interval"
    )
    standard_error: Known = Field(description="of the logarithm of the measured ratio; null for a single block")
    significant: bool = Field(description="whether the measured effect is beyond its noise")
    predicted: float = Field(validation_alias=AliasPath("predicted", "ratio"), description="by the model")
    right: bool = Field(description="whether the predicted effect has the sign of the measured effect")
    near: bool = Field(description="whether the prediction is within three points or a tenth of the effect")


class Counter(Part):
    """A counter that both kernels have: means over the trials of a row and variant."""

    counter: str = Field(validation_alias="name", description="name of the counter")
    workload: str = Field(description="the workload's label")
    parameters: Parameters = Field(description="the workload's parameters")
    variant: str = Field(description="name of the variant")
    measured: float = Field(description="on the machine")
    predicted: float = Field(description="by the model")


class Fields(Part):
    """A measured and a predicted run of one experiment."""

    measured: RunOf = Field(description="the run on the machine")
    predicted: RunOf = Field(description="the run on the model")
    error: LevelErrors = Field(description="errors of the levels")
    effects: EffectScores = Field(validation_alias="scores", description="scores of the effects")
    rows: list[Level] = Field(validation_alias="levels", description="the levels")
    changes: list[Change] = Field(validation_alias="effects", description="the effects")
    counters: list[Counter] = Field(description="counters of a trial")
    misses: list[Miss] = Field(description="the largest errors of levels")
    unmatched: list[str] = Field(description="rows that one of the runs lacks")
