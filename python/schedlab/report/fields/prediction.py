"""Fields of the JSON object of ``schedlab predict``; filled from :class:`schedlab.findings.prediction.Predicted`."""

from __future__ import annotations

from pydantic import AliasPath, Field

from schedlab.report.document import Known, Part
from schedlab.report.fields.twin import Row


class Backtest(Part):
    """The earlier comparisons of the model with its machine."""

    twins: int = Field(description="number of compared pairs of runs")
    levels: int = Field(validation_alias="compared_levels", description="number of compared levels")
    effects: int = Field(validation_alias=AliasPath("scores", "effects"), description="number of compared effects")
    skill: Known = Field(
        validation_alias=AliasPath("scores", "skill"),
        description="1 − mean error / mean error of predicting no change, of ratios' logarithms",
    )
    level_factor: Known = Field(description="factor by which levels may differ; null after few comparisons")
    effect_factor: Known = Field(description="factor by which ratios of variants may differ")
    coverage: float = Field(description="share of new figures that the intervals contain")


class Prediction(Row):
    """A predicted level, and its ratio to the baseline."""

    level: float = Field(description="the predicted level, in the unit")
    level_low: Known = Field(validation_alias="low", description="lower end of the level's interval")
    level_high: Known = Field(validation_alias="high", description="upper end of the level's interval")
    ratio: Known = Field(description="level / level of the baseline; null for the baseline")
    ratio_low: Known = Field(description="lower end of the ratio's interval; null for the baseline")
    ratio_high: Known = Field(description="upper end of the ratio's interval; null for the baseline")


class Fields(Part):
    """Predictions of an experiment by the model of a machine."""

    run: int = Field(validation_alias=AliasPath("found", "run", "id"), description="number of the simulated run")
    target: str = Field(validation_alias=AliasPath("found", "run", "target"), description="machine and kernel model")
    backtest: Backtest = Field(description="the comparisons behind the intervals")
    rows: list[Prediction] = Field(description="the predictions, in the order of the file")
